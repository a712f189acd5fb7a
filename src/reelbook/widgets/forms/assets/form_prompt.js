// @ts-check
/** A prompt: a text with its length, and the prompts of earlier runs to begin from again. */
import { made } from "../../../display/assets/table_element.js";
import { CONTROLS } from "./form_fields.js";
import { makePlainLong } from "./form_plain.js";
import { quietButton } from "./form_quiet.js";

/** @typedef {import("./form_fields.js").Place} Place */
/** @typedef {import("./form_fields.js").Control} Control */

const PROMPT_SEARCHED = 8; // From so many on they can be searched.

/** @param {Place} place @returns {Control} */
function makePrompt(place) {
  const text = makePlainLong(place, true, 3);
  // Only whole fields are columns of the library.
  if (place.nested) return text;
  const id = `${place.id}-earlier`;
  const button = quietButton("Earlier prompts", () => turn(shelf.hidden), { "aria-expanded": "false", "aria-controls": id });
  const search = /** @type {HTMLInputElement} */ (made("input", { type: "search", class: "rbf-text", placeholder: "Search", "aria-label": "Search in earlier prompts", hidden: true }));
  const list = made("ul", { class: "rbf-prompts" });
  const status = made("p", { class: "rbf-caption", role: "status" });
  const shelf = made("div", { id, role: "group", "aria-label": "Earlier prompts", hidden: true }, search, list, status);
  const name = String(place.path[0]);
  /** @type {string[]} */
  let texts = [];

  const choose = (/** @type {string} */ chosen) => {
    const area = /** @type {HTMLTextAreaElement} */ (text.el);
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
    list.replaceChildren(...found.map((one) => made("li", {}, made("button", { type: "button", class: "rbf-prompt", dir: "auto", title: one, text: one, onclick: () => choose(one) }))));
    list.hidden = !found.length;
    const few = wanted ? "No prompt contains that." : "No earlier prompts yet.";
    status.textContent = found.length ? "" : few;
  };
  const turn = (/** @type {boolean} */ isOpen) => {
    const hadFocus = shelf.matches(":focus-within");
    shelf.hidden = !isOpen;
    button.setAttribute("aria-expanded", String(isOpen));
    if (hadFocus && !isOpen) button.focus();
    if (!isOpen) return;
    list.hidden = !texts.length;
    status.textContent = "Looking";
    place.link.ask({ do: "prompts", name }).then((/** @type {boolean} */ isSent) => isSent || turn(false));
  };

  const off = place.link.on("prompts", (/** @type {any} */ said) => {
    if (said.prompts !== name) return;
    texts = said.texts;
    search.hidden = texts.length < PROMPT_SEARCHED;
    draw();
  });
  search.addEventListener("input", draw);
  const keyed = (/** @type {KeyboardEvent} */ event) => {
    if (shelf.hidden) return;
    const all = /** @type {HTMLElement[]} */ ([...list.querySelectorAll("button")]);
    const at = all.indexOf(/** @type {HTMLElement} */ (event.target));
    const next = { ArrowDown: all[at + 1], ArrowUp: all[at - 1] }[event.key];
    if (event.key === "Escape") turn(false);
    else if (next) next.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  // The text stands between the button and the list: an arrow leads past it.
  for (const part of [button, shelf]) part.addEventListener("keydown", keyed);
  const el = made("div", { class: "rbf-prompt-place" }, text.el, shelf);
  const lead = made("span", { class: "rbf-label-tools" }, button, text.lead);
  return { el, lead, show: text.show, dispose: () => {
    off();
    text.dispose?.();
  } };
}

CONTROLS.prompt = makePrompt;
