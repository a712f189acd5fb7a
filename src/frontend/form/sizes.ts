/** Target sizes: a list whose entries are typed, pasted or picked by the names of the common formats. */

import { made } from "../page/element.ts";
import { CONTROLS, type Control, type Place } from "./fields.ts";
import { makeNestedList, type NestedEntries } from "./nested.ts";
import { plainText } from "./plain.ts";
import { sizesPlain, sizesRead, sizesSplit } from "./sizes_text.ts";

/** The sizes of the formats, by their names. */
function sizesFormats(node: any): Map<string, string> {
  const groups: [string, [string, string][]][] = node.beside?.formats ?? [];
  return new Map(groups.flatMap(([, formats]) => formats));
}

/** An input that takes sizes, and names from the browser's own list of the formats that fit what is typed. */
function sizesPicker(place: Place, list: NestedEntries) {
  const formats = sizesFormats(place.node);
  const options = [...formats].map(([name, size]) => made("option", { value: name, label: size.replace("x", "×") }));
  const named = made("datalist", { id: `${place.id}-formats` }, ...options);
  const input = made("input", {
    type: "text",
    id: place.id,
    class: "rbf-size-add",
    list: named.id,
    "aria-labelledby": place.labelledBy,
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "1080x1920, or a name: story",
    enterkeyhint: "done",
  });

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
  /** Add whatever is typed; a problem is displayed at its entry. */
  const commit = () => {
    // A name may have a comma of its own.
    const texts = find(input.value) ? [input.value] : sizesSplit(input.value);
    input.value = "";
    const known = texts.find((text) => text !== meant(text) && list.values().includes(meant(text)));
    const more = texts.filter((text) => text !== known).map(meant);
    if (more.length) list.append(more);
    if (known) list.say(`${meant(known)} is there already.`);
  };

  input.addEventListener("input", (event) => {
    const isChosen = (event as InputEvent).inputType === "insertReplacementText" && formats.has(input.value);
    // A comma ends a size, as it does in a list.
    const isEnded =
      /[,;]\s*$/.test(input.value) &&
      !find(input.value) &&
      sizesSplit(input.value).every((text) => sizesRead(meant(text)));
    if (isChosen || isEnded) commit();
  });
  input.addEventListener("paste", (event) => {
    const texts = sizesSplit(event.clipboardData?.getData("text") ?? "");
    if (texts.length < 2) return;
    event.preventDefault(); // The input would join the lines.
    list.append(texts.map(meant));
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
  return { el: made("div", { class: "rbf-size-adding" }, input, named), focus: input };
}

/** One size, with the name of its format; it is spelt as the service reads it once it is done. */
function makeSize(place: Place): Control {
  const formats = sizesFormats(place.node);
  const input = made("input", { type: "text", id: place.id, class: "rbf-size-text", autocomplete: "off" });
  const format = made("span", { class: "rbf-caption rbf-size-words" });
  const update = () => {
    const size = sizesPlain(input.value);
    format.textContent = [...formats].find(([, known]) => known === size)?.[0] ?? "";
  };
  input.addEventListener("input", () => {
    update();
    place.change(sizesPlain(input.value));
  });
  input.addEventListener("change", () => {
    input.value = sizesPlain(input.value);
  });
  const show = (value: unknown) => {
    const text = plainText(value ?? place.node.default ?? "");
    if (sizesPlain(input.value) !== text) input.value = text;
    update();
  };
  return { el: made("div", { class: "rbf-size" }, input, format), show };
}

CONTROLS.size = makeSize;
CONTROLS.sizes = (place) => {
  const hint = "Separate several with commas or new lines.";
  const control = makeNestedList(place, { make: (list) => sizesPicker(place, list), hint, item: "Size" });
  control.el.classList.add("rbf-sizes");
  return control;
};
