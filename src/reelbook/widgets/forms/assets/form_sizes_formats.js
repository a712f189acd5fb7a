// @ts-check
/** Where sizes are added: typed, pasted, or chosen from the common formats by their names. */
import { made } from "../../../display/assets/table_element.js";
import { sizesRead, sizesSplit } from "./form_sizes_rule.js";

/** @typedef {import("./form_fields.js").Place} Place */
/** @typedef {import("./form_sizes_rule.js").SizesFacts} SizesFacts */

/**
 * An input that takes sizes, and names from the browser's own list of the formats that fit what is typed.
 * @param {Place} place @param {SizesFacts} facts
 * @param {{add: (texts: string[]) => void, say: (words: string) => void, chosen: () => string[]}} ways `chosen` is what is in the list now.
 */
export function sizesPicker(place, facts, { add, say, chosen }) {
  const formats = new Map((facts.formats ?? []).flatMap(([, named]) => named));
  const list = made("datalist", { id: `${place.id}-formats` }, ...[...formats].map(([name, size]) => made("option", { value: name, label: size.replace("x", "×") })));
  const input = /** @type {HTMLInputElement} */ (made("input", {
    type: "text", id: place.id, class: "rbf-size-add", list: list.id, autocomplete: "off", spellcheck: "false",
    placeholder: "1080x1920, or a name: story", enterkeyhint: "done",
  }));

  /** The first format that a text names, or else begins to name. @param {string} text */
  const find = (text) => {
    const plain = text.trim().toLowerCase(), names = plain ? [...formats.keys()] : [];
    return names.find((name) => name.toLowerCase() === plain) ?? names.find((name) => name.toLowerCase().startsWith(plain));
  };
  /** The size of the format that a text means; else the text as it is. @param {string} text */
  const meant = (text) => formats.get(find(text) ?? "") ?? text;
  // A name may have a comma of its own.
  const split = () => (find(input.value) ? [input.value] : sizesSplit(input.value));
  /** Add whatever is typed; a problem is displayed at its entry. */
  const commit = () => {
    const texts = split().map((text) => ({ text, size: meant(text) }));
    input.value = "";
    const known = texts.find(({ text, size }) => text !== size && chosen().includes(size));
    const more = texts.filter((one) => one !== known).map(({ size }) => size);
    if (more.length) add(more);
    if (known) say(`${known.size} is there already.`);
  };

  input.addEventListener("input", (event) => {
    const isChosen = /** @type {InputEvent} */ (event).inputType === "insertReplacementText" && formats.has(input.value);
    // A comma ends a size, as it does in a list.
    if (isChosen || (/[,;]\s*$/.test(input.value) && !find(input.value) && sizesSplit(input.value).every((text) => sizesRead(meant(text))))) commit();
  });
  input.addEventListener("paste", (event) => {
    const texts = sizesSplit(event.clipboardData?.getData("text") ?? "");
    if (texts.length < 2) return;
    event.preventDefault(); // The input would join the lines.
    add(texts.map(meant));
    input.value = "";
  });
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.ctrlKey || event.metaKey || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    commit();
  });
  // Sizes that were typed and never confirmed are meant all the same.
  input.addEventListener("blur", () => {
    const texts = sizesSplit(input.value);
    if (texts.length && texts.every((text) => sizesRead(text))) commit();
  });
  return { input, el: made("div", { class: "rbf-size-adding" }, input, list) };
}
