/** Target sizes: typed, pasted or picked by their names, in order. */
import { made } from "../page/element.ts";
import { CONTROLS, type Control, type Place } from "./fields.ts";
import { sizesPicker } from "./sizes_formats.ts";
import { sizesPlain, sizesSplit } from "./sizes_text.ts";
import { specialFollow, specialSay, specialText } from "./special_parts.ts";
import { type SpecialRow, SpecialRows } from "./special_rows.ts";

export type SizesRow = SpecialRow & { input: HTMLInputElement; words: HTMLElement; fix: HTMLButtonElement };

const SIZES_HINT = "Separate several with commas or new lines.";

class SizesControl {
  _place: Place;
  _formats: Map<string, string>;
  _most: any;
  _said: HTMLElement;
  lead: HTMLElement;
  _picker: { input: HTMLInputElement; el: HTMLElement };
  _rows: SpecialRows<SizesRow>;
  el: HTMLElement;
  _off: () => void;

  constructor(place: Place) {
    this._place = place;
    const groups: [string, [string, string][]][] = place.node.beside?.formats ?? [];
    this._formats = new Map(groups.flatMap(([, formats]) => formats));
    this._most = place.node.most ?? Infinity;
    this._said = made("div", { class: "rbf-caption rbf-size-said", role: "status", text: SIZES_HINT });
    this.lead = made("span", { class: "rbf-caption", "aria-hidden": "true" });
    this._picker = sizesPicker(place, this._formats, {
      add: (texts) => this._add(texts),
      say: (words) => specialSay(this._said, words),
      chosen: () => this.texts,
    });
    this._rows = new SpecialRows(`${place.node.label}, in order`, {
      changed: (words) => this._changed(words),
      fallbackFocus: () => this._picker.input,
    });
    this.el = made(
      "div",
      { class: "rbf-sizes", role: "group", "aria-labelledby": place.labelledBy },
      this._picker.el,
      this._said,
      this._rows.el,
    );
    this._off = specialFollow(place.link, () => this._refresh());
    this._refresh();
  }

  /** The entries as the draft has them. */
  get texts() {
    return this._rows.rows.map((row) => sizesPlain(row.input.value));
  }

  show(value: unknown) {
    const entries = value === undefined || value === null ? [] : Array.isArray(value) ? value : [value];
    const texts = entries.map(specialText);
    texts.forEach((text, place) => {
      const row = this._rows.rows[place];
      if (!row) this._rows.add(this._row(text));
      else if (sizesPlain(row.input.value) !== text) row.input.value = text;
    });
    this._rows.cut(texts.length);
    this._rows.number();
    this._refresh();
  }

  dispose() {
    this._off();
  }

  _row(text: string): SizesRow {
    const input = made("input", { type: "text", class: "rbf-size-text", autocomplete: "off", spellcheck: "false" });
    input.value = text;
    const words = made("span", { class: "rbf-caption rbf-size-words" });
    const fix = made("button", { type: "button", class: "rbf-quiet rbf-size-fix" });
    fix.hidden = true;
    const el = made("li", { class: "rbf-special-entry" }, input, made("span", { class: "rbf-size-about" }, words, fix));
    const row: SizesRow = {
      el,
      input,
      words,
      fix,
      focus: input,
      describe: () => sizesPlain(input.value) || "an empty size",
    };
    input.addEventListener("input", () => this._changed());
    input.addEventListener("change", () => this._settle(row));
    input.addEventListener("paste", (event) => this._pastedInto(row, event));
    fix.addEventListener("click", () => {
      input.value = fix.dataset.nearest ?? input.value;
      input.focus();
      this._changed(`Now ${input.value}.`);
    });
    return row;
  }

  _add(texts: string[]) {
    const room = Math.max(0, this._most - this._rows.rows.length);
    const added = texts.slice(0, room);
    for (const text of added) this._rows.add(this._row(text));
    this._rows.rows.at(-1)?.el.scrollIntoView({ block: "nearest" });
    const left = texts.length - added.length;
    const message = added.length === 1 ? `Added ${added[0]}.` : `Added ${added.length} sizes.`;
    this._changed(left ? `At most ${this._most} sizes; ${left} left out.` : message);
  }

  /** Several sizes pasted into an entry become entries of their own. */
  _pastedInto(row: SizesRow, event: ClipboardEvent) {
    const [first, ...others] = sizesSplit(event.clipboardData?.getData("text") ?? "");
    if (!others.length) return;
    event.preventDefault();
    const isEmpty = row.input.value.trim() === "";
    if (isEmpty) row.input.value = first;
    this._add(isEmpty ? others : [first, ...others]);
  }

  /** A size that can be read is spelt as the service reads it, once it is done. */
  _settle(row: SizesRow) {
    const plain = sizesPlain(row.input.value);
    if (plain !== row.input.value) row.input.value = plain;
    this._rows.number();
  }

  _changed(words?: string) {
    specialSay(this._said, words ?? SIZES_HINT);
    const texts = this.texts;
    this._place.change(texts.length ? texts : undefined);
    this._refresh();
  }

  /** Says at each entry what it is called or what is wrong. */
  _refresh() {
    const count = this._rows.rows.length;
    specialSay(this.lead, Number.isFinite(this._most) ? `${count} of ${this._most}` : `${count}`);
    this._rows.rows.forEach((row, place) => this._judge(row, place));
  }

  _judge(row: SizesRow, place: number) {
    const text = sizesPlain(row.input.value);
    const trouble = this._findProblem(place, text);
    const fix = trouble?.nearest ?? "";
    row.input.setAttribute("aria-label", `Size ${place + 1}`);
    row.input.setAttribute("aria-invalid", String(!!trouble));
    row.words.id = `${this._place.id}-words-${place}`;
    row.input.setAttribute("aria-describedby", row.words.id);
    row.words.classList.toggle("rbf-special-bad", !!trouble);
    const words = trouble ? trouble.words : ([...this._formats].find(([, size]) => size === text)?.[0] ?? "");
    specialSay(row.words, words);
    row.words.title = words;
    row.fix.hidden = !fix;
    row.fix.dataset.nearest = fix;
    specialSay(row.fix, fix ? `Use ${fix}` : "");
  }

  /** What the kernel finds wrong with an entry as it is now. */
  _findProblem(place: number, text: string) {
    const state = this._place.link.state;
    const path = [...this._place.path, place];
    const found = (state?.problems ?? []).find(({ at }: any) => JSON.stringify(at) === JSON.stringify(path));
    if (!found || specialText(path.reduce((inner: any, step) => inner?.[step], state.draft)) !== text) return null;
    return { words: found.words, nearest: specialText(found.nearest) };
  }
}

function makeSizes(place: Place): Control {
  const control = new SizesControl(place);
  return { el: control.el, lead: control.lead, show: (value) => control.show(value), dispose: () => control.dispose() };
}

CONTROLS.sizes = makeSizes;
