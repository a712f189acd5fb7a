/** A prompt: a text with its length, and the prompts of earlier runs to begin from again. */
import { made } from "../page/element.ts";
import { CONTROLS, type Control, type Place } from "./fields.ts";
import { makePlainLong } from "./plain.ts";
import { quietButton } from "./quiet.ts";

const PROMPT_SEARCHED = 8; // From so many on they can be searched.

function makePrompt(place: Place): Control {
  const text = makePlainLong(place, true, 3);
  // Only whole fields are columns of the library.
  if (place.nested) return text;
  const id = `${place.id}-earlier`;
  const button = quietButton("Earlier prompts", () => turn(shelf.hidden as boolean), {
    "aria-expanded": "false",
    "aria-controls": id,
  });
  const search = made("input", {
    type: "search",
    class: "rbf-text",
    placeholder: "Search",
    "aria-label": "Search in earlier prompts",
    hidden: true,
  });
  const list = made("ul", { class: "rbf-prompts" });
  const status = made("p", { class: "rbf-caption", role: "status" });
  const shelf = made("div", { id, role: "group", "aria-label": "Earlier prompts", hidden: true }, search, list, status);
  const name = String(place.path[0]);
  let texts: string[] = [];

  const choose = (chosen: string) => {
    const area = text.el as HTMLTextAreaElement;
    turn(false);
    area.focus();
    area.select();
    // As if it was typed: Ctrl+Z brings back what stood there.
    if (document.execCommand("insertText", false, chosen) && area.value === chosen) return;
    place.change(chosen);
    text.show(chosen);
  };
  const draw = () => {
    const wanted = search.value.trim().toLowerCase();
    const found = texts.filter((one) => one.toLowerCase().includes(wanted));
    list.replaceChildren(
      ...found.map((one) =>
        made(
          "li",
          {},
          made("button", {
            type: "button",
            class: "rbf-prompt",
            dir: "auto",
            title: one,
            text: one,
            onclick: () => choose(one),
          }),
        ),
      ),
    );
    list.hidden = !found.length;
    const few = wanted ? "No prompt contains that." : "No earlier prompts yet.";
    status.textContent = found.length ? "" : few;
  };
  const turn = (isOpen: boolean) => {
    const hadFocus = shelf.matches(":focus-within");
    shelf.hidden = !isOpen;
    button.setAttribute("aria-expanded", String(isOpen));
    if (hadFocus && !isOpen) button.focus();
    if (!isOpen) return;
    list.hidden = !texts.length;
    status.textContent = "Looking";
    place.link.ask({ do: "prompts", name }).then((isSent: boolean) => isSent || turn(false));
  };

  const off = place.link.on("prompts", (said: any) => {
    if (said.prompts !== name) return;
    texts = said.texts;
    search.hidden = texts.length < PROMPT_SEARCHED;
    draw();
  });
  search.addEventListener("input", draw);
  const keyed = (event: KeyboardEvent) => {
    if (shelf.hidden) return;
    const all = [...list.querySelectorAll("button")] as HTMLElement[];
    const at = all.indexOf(event.target as HTMLElement);
    const next = { ArrowDown: all[at + 1], ArrowUp: all[at - 1] }[event.key];
    if (event.key === "Escape") turn(false);
    else if (next) next.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  // The text stands between the button and the list: an arrow leads past it.
  for (const part of [button, shelf] as HTMLElement[]) part.addEventListener("keydown", keyed);
  const el = made("div", { class: "rbf-prompt-place" }, text.el, shelf);
  const lead = made("span", { class: "rbf-label-tools" }, button, text.lead);
  return {
    el,
    lead,
    show: text.show,
    dispose: () => {
      off();
      text.dispose?.();
    },
  };
}

CONTROLS.prompt = makePrompt;
