/** A prompt: a text with its length, and the prompts of earlier runs to begin from again. */
import { made } from "../page/element.ts";
import { CONTROLS, type Control, type Place } from "./fields.ts";
import { makePlainLong } from "./plain.ts";
import { makeShelf } from "./quiet.ts";

const PROMPT_SEARCHED = 8; // From so many on they can be searched.

function makePrompt(place: Place): Control {
  const text = makePlainLong(place, true, 3);
  // Only whole fields are columns of the library.
  if (place.nested) return text;
  const name = String(place.path[0]);
  let texts: string[] = [];
  const search = made("input", {
    type: "search",
    class: "rbf-text",
    placeholder: "Search",
    "aria-label": "Search in earlier prompts",
    hidden: true,
  });
  const list = made("ul", { class: "rbf-prompts" });
  const status = made("p", { class: "rbf-caption", role: "status" });
  const shelf = makeShelf("Earlier prompts", `${place.id}-earlier`, [search, list, status], (isOpen) => {
    if (!isOpen) return;
    list.hidden = !texts.length;
    status.textContent = "Looking";
    place.link.ask({ do: "prompts", name }).then((isSent: boolean) => isSent || shelf.turn(false));
  });

  const choose = (chosen: string) => {
    const area = text.el as HTMLTextAreaElement;
    shelf.turn(false);
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
  const off = place.link.on("prompts", (said: any) => {
    if (said.prompts !== name) return;
    texts = said.texts;
    search.hidden = texts.length < PROMPT_SEARCHED;
    draw();
  });
  search.addEventListener("input", draw);
  // The text stands between the button and the list: an arrow leads past it.
  for (const part of [shelf.button, shelf.el] as HTMLElement[])
    part.addEventListener("keydown", (event) => {
      if (shelf.el.hidden) return;
      const all = [...list.querySelectorAll("button")] as HTMLElement[];
      const at = all.indexOf(event.target as HTMLElement);
      const next = { ArrowDown: all[at + 1], ArrowUp: all[at - 1] }[event.key];
      if (!next) return;
      next.focus();
      event.preventDefault();
      event.stopPropagation();
    });
  const el = made("div", { class: "rbf-prompt-place" }, text.el, shelf.el);
  const lead = made("span", { class: "rbf-label-tools" }, shelf.button, text.lead);
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
