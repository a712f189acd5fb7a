/** What the special controls share: small drawings, quiet buttons with a sign, numbers as typed, rows in order. */

import { shaped } from "../page/element.ts";
import type { Place } from "./fields.ts";
import { quietButton } from "./quiet.ts";

const SPECIAL_SIGNS = {
  up: "M8 13V3M4 7l4-4 4 4",
  down: "M8 3v10M4 9l4 4 4-4",
  remove: "M4 4l8 8M12 4l-8 8",
  copy: "M6 6h7v7H6zM10 6V3H3v7h3",
  locked: "M4 7.5h8V13H4zM5.5 7.5V5.5a2.5 2.5 0 0 1 5 0v2",
  unlocked: "M4 7.5h8V13H4zM5.5 7.5V5a2.5 2.5 0 0 1 4.8-1",
  dice: "M3.5 3h9a.5.5 0 0 1 .5.5v9a.5.5 0 0 1-.5.5h-9a.5.5 0 0 1-.5-.5v-9a.5.5 0 0 1 .5-.5zM5.8 5.8h.01M10.2 5.8h.01M8 8h.01M5.8 10.2h.01M10.2 10.2h.01",
};

/** A sign drawn in the colour of the words around it; nothing for those who hear the page. */
export function specialSign(name: keyof typeof SPECIAL_SIGNS) {
  const frame = {
    viewBox: "0 0 16 16",
    width: 16,
    height: 16,
    class: "rbf-special-sign",
    "aria-hidden": "true",
    focusable: "false",
  };
  return shaped("svg", frame, shaped("path", { d: SPECIAL_SIGNS[name] }));
}

/** A small button that shows a sign and says what it does. */
export function specialButton(sign: keyof typeof SPECIAL_SIGNS, says: string, act: () => void) {
  const button = quietButton("", act, { class: "rbf-special-sign-button", title: says, "aria-label": says });
  button.append(specialSign(sign));
  return button;
}

/** Set the label of a button and whether it is enabled. */
export function specialTurn(button: HTMLButtonElement, says: string, can: boolean) {
  button.title = says;
  button.setAttribute("aria-label", says);
  button.setAttribute("aria-disabled", String(!can));
}

/** Changes a text only where it differs, so that the caret stays and a screen reader does not repeat it. */
export function specialSay(element: HTMLElement, words: string) {
  if (element.textContent !== words) element.textContent = words;
}

/** What another field is drafted as, or its default. */
export function specialOther(link: Place["link"], name: string | undefined): any {
  if (name === undefined) return undefined;
  const value = link.draft[name];
  return value === undefined ? link.node(name)?.default : value;
}

/** Calls back whenever anything of the draft or of its judgement may have changed. */
export function specialFollow(link: Place["link"], listener: () => void): () => void {
  const offs = ["state", "draft"].map((key) => link.on(key, listener));
  return () => offs.forEach((off) => off());
}
