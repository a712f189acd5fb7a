/** Target sizes: typed, pasted or picked, in order, with the canvas that each takes drawn before it is paid for. */
import { made } from "../page/element.ts";
import { CONTROLS, type Control, type Place } from "./fields.ts";
import { sizesCanvasText, sizesDrawings, sizesLegend } from "./sizes_drawing.ts";
import { sizesPicker } from "./sizes_formats.ts";
import { type SizesFacts, sizesPlain, sizesPreset, sizesRead, sizesSplit, sizesTrouble } from "./sizes_rule.ts";
import { specialFollow, specialOther, specialSay, specialText } from "./special_parts.ts";
import { type SpecialRow, SpecialRows } from "./special_rows.ts";

export type SizesRow = SpecialRow & { input: HTMLInputElement; words: HTMLElement; fix: HTMLButtonElement };

const SIZES_HINT = "Separate several with commas or new lines.";

class SizesControl {
  _place: Place;
  _facts: SizesFacts;
  _most: any;
  _state: string;
  _said: HTMLElement;
  lead: HTMLElement;
  _picker: { input: HTMLInputElement; el: HTMLElement };
  _rows: SpecialRows<SizesRow>;
  _strip: HTMLElement;
  _drawn: HTMLElement;
  el: HTMLElement;
  _off: () => void;
  _sight: ResizeObserver;

  constructor(place: Place) {
    this._place = place;
    this._facts = (place.node.beside ?? {}) as SizesFacts;
    this._most = place.node.most ?? Infinity;
    /** What is drawn now, so that nothing is drawn twice. */
    this._state = "";
    this._said = made("div", { class: "rbf-caption rbf-size-said", role: "status", text: SIZES_HINT });
    this.lead = made("span", { class: "rbf-caption", "aria-hidden": "true" });
    this._picker = sizesPicker(place, this._facts, {
      add: (texts) => this._add(texts),
      say: (words) => specialSay(this._said, words),
      chosen: () => this.texts,
    });
    this._rows = new SpecialRows(`${place.node.label}, in order`, {
      changed: (words) => this._changed(words),
      fallbackFocus: () => this._picker.input,
    });
    this._strip = made("div", { class: "rbf-sizes-strip", role: "group", "aria-label": "All sizes, drawn to scale" });
    this._drawn = made("div", { class: "rbf-sizes-drawn" }, this._strip, sizesLegend(this._facts));
    this._drawn.hidden = true;
    this.el = made(
      "div",
      { class: "rbf-sizes", role: "group", "aria-labelledby": place.labelledBy },
      this._picker.el,
      this._said,
      this._rows.el,
      this._drawn,
    );
    this._off = specialFollow(place.link, () => this._refresh());
    this._sight = new ResizeObserver(() => this._reach());
    this._sight.observe(this._strip);
    this._refresh();
  }

  /** The entries as the draft has them. */
  get texts() {
    return this._rows.rows.map((row) => sizesPlain(row.input.value));
  }

  /** The least tier that is drafted. */
  get least() {
    return specialOther(this._place.link, this._facts.tier);
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
    this._sight.disconnect();
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
    for (const kind of ["focusin", "pointerenter"]) el.addEventListener(kind, () => this._light(row, true));
    for (const kind of ["focusout", "pointerleave"]) el.addEventListener(kind, () => this._light(row, false));
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

  /** Says at each entry what it takes or what is wrong, and draws them all. */
  _refresh() {
    const texts = this.texts;
    specialSay(this.lead, Number.isFinite(this._most) ? `${texts.length} of ${this._most}` : `${texts.length}`);
    this._rows.rows.forEach((row, place) => this._judge(row, place));
    const state = JSON.stringify([texts, this.least]);
    if (state === this._state) return;
    this._state = state;
    this._drawn.hidden = texts.length === 0;
    this._strip.replaceChildren(
      ...sizesDrawings(texts, this._facts, this.least, (place) => this._rows.rows[place]?.input.focus()),
    );
    this._reach();
  }

  /** A strip that scrolls must be within reach of the keyboard; one that does not would be a stop for nothing. */
  _reach() {
    if (this._strip.scrollWidth > this._strip.clientWidth) this._strip.tabIndex = 0;
    else this._strip.removeAttribute("tabindex");
  }

  _judge(row: SizesRow, place: number) {
    const text = sizesPlain(row.input.value);
    const trouble = sizesTrouble(row.input.value, this._facts, this.least) ?? this._findKernelProblem(place, text);
    const fix = trouble?.nearest ?? "";
    row.input.setAttribute("aria-label", `Size ${place + 1}`);
    row.input.setAttribute("aria-invalid", String(!!trouble));
    row.words.id = `${this._place.id}-words-${place}`;
    row.input.setAttribute("aria-describedby", row.words.id);
    row.words.classList.toggle("rbf-special-bad", !!trouble);
    const words = trouble ? trouble.words : this._about(text);
    specialSay(row.words, words);
    row.words.title = words;
    row.fix.hidden = !fix;
    row.fix.dataset.nearest = fix;
    specialSay(row.fix, fix ? `Use ${fix}` : "");
  }

  /** What the kernel says about an entry that the page finds nothing wrong with. */
  _findKernelProblem(place: number, text: string) {
    const state = this._place.link.state;
    const path = [...this._place.path, place];
    const found = (state?.problems ?? []).find(({ at }: any) => JSON.stringify(at) === JSON.stringify(path));
    if (!found || specialText(path.reduce((inner: any, step) => inner?.[step], state.draft)) !== text) return null;
    return { kind: found.kind, words: found.words, nearest: specialText(found.nearest) };
  }

  /** What an entry is called and composed on. */
  _about(text: string) {
    const size = sizesRead(text);
    if (!size) return "";
    const canvas = sizesPreset(size, this._facts, this.least);
    const names = (this._facts.formats ?? []).flatMap(([, formats]) => formats);
    const name = names.find(([, of]) => of === text)?.[0];
    return [name, canvas && sizesCanvasText(canvas)].filter(Boolean).join(" · ");
  }

  _light(row: SizesRow, isLit: boolean) {
    const figure = this._strip.children[this._rows.rows.indexOf(row)];
    figure?.classList.toggle("rbf-lit", isLit);
    if (isLit) this._reveal(figure as HTMLElement | undefined);
  }

  /** Scrolls the strip alone, and never the page, to a drawing. */
  _reveal(figure: HTMLElement | undefined) {
    if (!figure) return;
    const [left, right] = [figure.offsetLeft, figure.offsetLeft + figure.offsetWidth];
    if (left < this._strip.scrollLeft) this._strip.scrollLeft = left;
    else if (right > this._strip.scrollLeft + this._strip.clientWidth)
      this._strip.scrollLeft = right - this._strip.clientWidth;
  }
}

function makeSizes(place: Place): Control {
  const control = new SizesControl(place);
  return { el: control.el, lead: control.lead, show: (value) => control.show(value), dispose: () => control.dispose() };
}

CONTROLS.sizes = makeSizes;
