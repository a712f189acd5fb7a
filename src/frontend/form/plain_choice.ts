/** Controls for one of several values: a few beside each other, or a list. */
import { made } from "../page/element.ts";
import { CONTROLS, type Control, type Place } from "./fields.ts";
import { PLAIN_SERVICE, plainEmpty, plainIsOpen, plainSame, plainText } from "./plain.ts";

const PLAIN_SEGMENTS = 5;
const PLAIN_SEGMENT_LETTERS = 18;
const PLAIN_SEGMENTS_LETTERS = 48;

function makePlainChoice(place: Place): Control {
  const letters = place.node.choices.map((choice: any) => choice.label.length);
  const total = letters.reduce((sum: number, length: number) => sum + length, 0);
  const isShort =
    letters.length <= PLAIN_SEGMENTS &&
    Math.max(0, ...letters) <= PLAIN_SEGMENT_LETTERS &&
    total <= PLAIN_SEGMENTS_LETTERS;
  return isShort ? makePlainSegments(place) : makePlainList(place);
}

/** @param drawn What stands in a label instead of the words, in labels of this class. */
export function makePlainSegments(place: Place, kind: string = "", drawn?: (choice: any) => HTMLElement[]): Control {
  const { node } = place;
  const odd = made("span", { class: "rbf-caption rbf-choice-odd" });
  const radios = node.choices.map((choice: any, index: number) => {
    const radio = made("input", { type: "radio", id: `${place.id}-${index}`, name: place.id, value: String(index) });
    radio.addEventListener("change", () => {
      odd.hidden = true;
      place.change(choice.value);
    });
    return radio;
  });
  const segments = radios.map((radio: HTMLInputElement, index: number) => {
    const choice = node.choices[index];
    const words = drawn?.(choice) ?? [made("span", { text: choice.label, "data-text": choice.label })];
    return made("label", { class: drawn ? "rbf-special-choice" : "rbf-segment", for: radio.id }, radio, ...words);
  });
  const row = made(
    "div",
    {
      class: drawn ? `rbf-special-choices rbf-${kind}` : "rbf-segments",
      role: "radiogroup",
      "aria-labelledby": place.labelledBy,
    },
    ...segments,
  );
  const show = (value: unknown) => {
    const current = value === undefined ? node.default : value;
    const found = node.choices.findIndex((choice: any) => plainSame(choice.value, current));
    radios.forEach((radio: HTMLInputElement, index: number) => {
      radio.checked = index === found;
    });
    odd.hidden = found >= 0 || current === null || (current === undefined && !plainIsOpen(node));
    odd.textContent = current === undefined ? PLAIN_SERVICE : `Now: ${plainText(current)}`;
  };
  return { el: made("div", { class: "rbf-choice" }, row, odd), show, group: true };
}

/** A list for more choices than stand beside each other. */
function makePlainList(place: Place): Control {
  const { node } = place;
  const unset = made("option", { value: "" });
  const options = node.choices.map((choice: any, index: number) =>
    made("option", { value: String(index), text: choice.label }),
  );
  const el = made("select", { id: place.id, class: "rbf-text" }, unset, ...options);
  el.addEventListener("change", () => place.change(el.value ? node.choices[Number(el.value)].value : undefined));
  const show = (value: unknown) => {
    const current = value === undefined ? node.default : value;
    const found = node.choices.findIndex((choice: any) => plainSame(choice.value, current));
    const isOdd = found < 0 && (current ?? null) !== null;
    unset.textContent = isOdd ? `Now: ${plainText(current)}` : plainEmpty(node) || "Choose …";
    unset.hidden = found >= 0 && plainEmpty(node) !== PLAIN_SERVICE;
    el.value = found < 0 ? "" : String(found);
  };
  return { el, show };
}

CONTROLS.choice = makePlainChoice;
