// @ts-check
/** Where sizes are added: typed, pasted, or picked from the common formats by their names. */
import { made } from "../../../display/assets/table_element.js";
import { specialSign } from "./form_special_parts.js";
import { sizesCanvasText } from "./form_sizes_drawing.js";
import { sizesPlain, sizesPreset, sizesRead, sizesSplit } from "./form_sizes_rule.js";

/** @typedef {import("./form_fields.js").Place} Place */
/** @typedef {import("./form_sizes_rule.js").SizesFacts} SizesFacts */

/**
 * @typedef {object} SizesPickerWays
 * @property {(texts: string[]) => void} add
 * @property {(text: string) => void} remove
 * @property {(words: string) => void} say
 * @property {() => string[]} chosen  What is in the list now.
 * @property {() => string | undefined} least  The least tier now.
 */

/** An input that takes sizes and names, with the list of formats that fit what is typed. */
export class SizesPicker {
  /** @param {Place} place @param {SizesFacts} facts @param {SizesPickerWays} ways */
  constructor(place, facts, ways) {
    this._facts = facts;
    this._ways = ways;
    this._id = `${place.id}-format`;
    /** @type {HTMLElement[]} */
    this._options = [];
    this._active = -1;
    this._listId = `${place.id}-formats`;
    this.input = /** @type {HTMLInputElement} */ (made("input", {
      type: "text", id: place.id, class: "rbf-size-add", role: "combobox", autocomplete: "off", spellcheck: "false",
      "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": this._listId,
      placeholder: "1080x1920, or a name: story", enterkeyhint: "done",
    }));
    this._list = made("div", { id: this._listId, class: "rbf-formats", role: "listbox", "aria-label": "Common formats", "aria-multiselectable": "true", popover: "manual" });
    this._button = made("button", { type: "button", class: "rbf-special-sign-button", tabindex: "-1", title: "Common formats", "aria-label": "Common formats" });
    this._button.append(specialSign("list"));
    this.el = made("div", { class: "rbf-size-adding" }, this.input, this._button, this._list);
    this._follow = () => this._put();
    this._listen();
  }

  _listen() {
    this.input.addEventListener("input", () => this._typed());
    this.input.addEventListener("paste", (event) => this._pasted(event));
    this.input.addEventListener("keydown", (event) => this._key(event));
    this.input.addEventListener("blur", () => this._left());
    this._list.addEventListener("mousedown", (event) => event.preventDefault()); // The input keeps the focus.
    this._button.addEventListener("mousedown", (event) => event.preventDefault());
    this._button.addEventListener("click", () => {
      const wasOpen = this.isOpen;
      this.input.focus();
      if (wasOpen) this.close();
      else this.open();
    });
  }

  get isOpen() {
    return this.input.getAttribute("aria-expanded") === "true";
  }

  open() {
    this._fill();
    if (this.isOpen) return;
    this.input.setAttribute("aria-expanded", "true");
    // Above everything, because an output of a notebook cuts off what reaches beyond it.
    if (this._list.showPopover) this._list.showPopover();
    else this._list.classList.add("rbf-open");
    this._put();
    window.addEventListener("scroll", this._follow, true);
    window.addEventListener("resize", this._follow);
  }

  close() {
    if (!this.isOpen) return;
    this.input.setAttribute("aria-expanded", "false");
    this._point(-1);
    if (this._list.hidePopover) this._list.hidePopover();
    else this._list.classList.remove("rbf-open");
    window.removeEventListener("scroll", this._follow, true);
    window.removeEventListener("resize", this._follow);
  }

  /** Shows which formats are in the list now. */
  refresh() {
    if (!this.isOpen) return;
    const chosen = new Set(this._ways.chosen());
    for (const option of this._options) option.setAttribute("aria-selected", String(chosen.has(option.dataset.size ?? "")));
  }

  dispose() {
    this.close();
  }

  /** Puts the list where there is room for it. */
  _put() {
    if (!this._list.showPopover) return;
    const input = this.input.getBoundingClientRect();
    const [below, above] = [window.innerHeight - input.bottom - 8, input.top - 8];
    const isBelow = below >= Math.min(240, above);
    const height = Math.max(96, Math.min(320, isBelow ? below : above));
    const width = Math.min(Math.max(input.width, 288), window.innerWidth - 16);
    const left = Math.min(Math.max(8, input.left), window.innerWidth - width - 8);
    const style = { left: `${left}px`, width: `${width}px`, maxHeight: `${height}px`, top: "auto", bottom: "auto" };
    Object.assign(style, isBelow ? { top: `${input.bottom + 4}px` } : { bottom: `${window.innerHeight - input.top + 4}px` });
    Object.assign(this._list.style, style);
  }

  /** The formats whose group, name or size has every typed word in it. */
  _fill() {
    const words = this.input.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const size = sizesRead(this.input.value);
    const chosen = new Set(this._ways.chosen());
    this._options = [];
    this._list.replaceChildren();
    if (size) this._list.append(this._option(`Add ${size.width}×${size.height}`, sizesPlain(this.input.value), chosen));
    (this._facts.formats ?? []).forEach(([group, formats], number) => {
      const fits = size ? [] : formats.filter(([name, of]) => sizesFits(words, `${group} ${name} ${of} ${of.replace("x", "×")}`));
      if (!fits.length) return;
      const head = made("div", { id: `${this._id}-group-${number}`, class: "rbf-caption rbf-formats-head", role: "presentation", text: group });
      const options = fits.map(([name, of]) => this._option(name, of, chosen));
      this._list.append(made("div", { role: "group", "aria-labelledby": head.id }, head, ...options));
    });
    if (!this._options.length) this._list.append(this._nothing());
    this._point(words.length && !size && !/\d\s*[x×*]/i.test(this.input.value) && this._options.length ? 0 : -1);
  }

  _nothing() {
    const words = /^\s*\d/.test(this.input.value) ? "Write a size as width x height, such as 1080x1920." : "No format has this name. Write a size such as 1080x1920.";
    return made("div", { class: "rbf-caption rbf-formats-head", role: "option", "aria-disabled": "true", "aria-selected": "false", text: words });
  }

  /** @param {string} name @param {string} of @param {Set<string>} chosen */
  _option(name, of, chosen) {
    const size = sizesRead(of) ?? { width: 1, height: 1 };
    const canvas = sizesPreset(size, this._facts, this._ways.least());
    const box = made("span", { class: "rbf-format-box", "aria-hidden": "true" });
    const longest = Math.max(size.width, size.height);
    box.style.width = `${Math.max(2, (16 * size.width) / longest)}px`;
    box.style.height = `${Math.max(2, (16 * size.height) / longest)}px`;
    const option = made("div", { id: `${this._id}-${this._options.length}`, class: "rbf-format", role: "option", "aria-selected": String(chosen.has(of)) },
      made("span", { class: "rbf-format-shape", "aria-hidden": "true" }, box), made("span", { class: "rbf-format-name", text: name }),
      made("span", { class: "rbf-format-size", text: of.replace("x", "×") }), made("span", { class: "rbf-format-mark", "aria-hidden": "true", text: "✓" }));
    if (canvas) option.title = `Composed on ${sizesCanvasText(canvas)}`;
    option.dataset.size = of;
    option.addEventListener("click", () => this._pick(option));
    this._options.push(option);
    return option;
  }

  /** @param {number} place */
  _point(place) {
    this._options[this._active]?.classList.remove("rbf-active");
    this._active = place;
    const option = this._options[place];
    if (!option) return this.input.removeAttribute("aria-activedescendant");
    option.classList.add("rbf-active");
    this.input.setAttribute("aria-activedescendant", option.id);
    if (this.isOpen) option.scrollIntoView({ block: "nearest" });
  }

  /** Takes a format, or takes it out again; a name that is typed and confirmed only adds. @param {HTMLElement} option @param {boolean} [isNamed] */
  _pick(option, isNamed = false) {
    const of = option.dataset.size ?? "";
    const isTyped = isNamed || sizesPlain(this.input.value) === of;
    if (option.getAttribute("aria-selected") === "true" && !isTyped) this._ways.remove(of);
    else if (isNamed && this._ways.chosen().includes(of)) this._ways.say(`${of} is there already.`);
    else this._ways.add([of]);
    if (this.input.value) {
      this.input.value = "";
      this._fill();
    }
    this.refresh();
  }

  _typed() {
    // A comma ends a size, as it does in a list.
    if (/[,;]\s*$/.test(this.input.value) && sizesSplit(this.input.value).every((text) => sizesRead(this._meant(text)))) return this._commit();
    this.open();
  }

  /** @param {ClipboardEvent} event */
  _pasted(event) {
    const texts = sizesSplit(event.clipboardData?.getData("text") ?? "");
    if (texts.length < 2) return;
    event.preventDefault(); // The input would join the lines.
    this._ways.add(texts.map((text) => this._meant(text)));
    this.input.value = "";
    this.close();
  }

  /** @param {KeyboardEvent} event */
  _key(event) {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.isComposing) return;
    const last = this._options.length - 1;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!this.isOpen) this.open();
      else this._point(event.key === "ArrowDown" ? (this._active >= last ? 0 : this._active + 1) : this._active <= 0 ? last : this._active - 1);
    } else if (event.key === "Enter") {
      const option = this.isOpen ? this._options[this._active] : undefined;
      if (option) this._pick(option, this.input.value.trim() !== "");
      else this._commit();
    } else if (event.key === "Escape" && this.isOpen) {
      this.close();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Adds whatever is typed; a problem is displayed at its entry. */
  _commit() {
    const texts = sizesSplit(this.input.value);
    this.input.value = "";
    this.close();
    if (texts.length) this._ways.add(texts.map((text) => this._meant(text)));
  }

  /** The size of a format whose name it is, among several that are given at once; else the text as it is. @param {string} text */
  _meant(text) {
    const formats = (this._facts.formats ?? []).flatMap(([, of]) => of);
    return formats.find(([name]) => name.toLowerCase() === text.trim().toLowerCase())?.[1] ?? text;
  }

  /** Sizes that were typed and never confirmed are meant all the same. */
  _left() {
    const texts = sizesSplit(this.input.value);
    if (texts.length && texts.every((text) => sizesRead(text))) this._commit();
    this.close();
  }
}

/** Whether every word is one of a text, begins one, or, from three letters on, stands anywhere in it. @param {string[]} words @param {string} text */
function sizesFits(words, text) {
  const about = text.toLowerCase();
  const parts = about.split(/[\s,()]+/);
  return words.every((word) => parts.some((part) => part.startsWith(word)) || (word.length > 2 && about.includes(word)));
}
