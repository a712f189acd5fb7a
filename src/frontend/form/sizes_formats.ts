/** Where sizes are added: typed, pasted, or chosen from the common formats by their names. */

import { made } from "../page/element.ts";
import type { Place } from "./fields.ts";
import { sizesRead, sizesSplit } from "./sizes_text.ts";

/**
 * An input that takes sizes, and names from the browser's own list of the formats that fit what is typed.
 * @param formats Their sizes by their names.
 * @param ways `chosen` is what is in the list now.
 */
export function sizesPicker(
  place: Place,
  formats: Map<string, string>,
  { add, say, chosen }: { add: (texts: string[]) => void; say: (words: string) => void; chosen: () => string[] },
) {
  const list = made(
    "datalist",
    { id: `${place.id}-formats` },
    ...[...formats].map(([name, size]) => made("option", { value: name, label: size.replace("x", "×") })),
  );
  const input = made("input", {
    type: "text",
    id: place.id,
    class: "rbf-size-add",
    list: list.id,
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "1080x1920, or a name: story",
    enterkeyhint: "done",
  }) as HTMLInputElement;

  /** The first format that a text names, or else begins to name. */
  const find = (text: string) => {
    const plain = text.trim().toLowerCase(),
      names = plain ? [...formats.keys()] : [];
    return (
      names.find((name) => name.toLowerCase() === plain) ?? names.find((name) => name.toLowerCase().startsWith(plain))
    );
  };
  /** The size of the format that a text means; else the text as it is. */
  const meant = (text: string) => formats.get(find(text) ?? "") ?? text;
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
    const isChosen = (event as InputEvent).inputType === "insertReplacementText" && formats.has(input.value);
    // A comma ends a size, as it does in a list.
    if (
      isChosen ||
      (/[,;]\s*$/.test(input.value) &&
        !find(input.value) &&
        sizesSplit(input.value).every((text) => sizesRead(meant(text))))
    )
      commit();
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
