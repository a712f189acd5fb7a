/** Weights to mix in: one compact line each, with where they are and how strongly they act; the rest is folded. */
import { made } from "../page/element.ts";
import { CONTROLS, type Control, makeField, type Place } from "./fields.ts";
import { numberRead } from "./number.ts";
import { quietButton } from "./quiet.ts";
import { specialFollow, specialSay, specialShow, specialText } from "./special_parts.ts";
import { type SpecialRow, SpecialRows } from "./special_rows.ts";

export type Lora = Record<string, any>;
export type LoraRow = SpecialRow & {
  value: Lora;
  path: HTMLInputElement;
  slider: HTMLInputElement;
  scale: HTMLInputElement;
  strength: HTMLElement;
  more: HTMLElement;
  rest: HTMLElement;
  words: HTMLElement;
  fields: any[];
  at: number;
};

class LorasControl {
  _place: Place;
  _path: any;
  _scale: any;
  _others: any[];
  _said: HTMLElement;
  _adding: HTMLButtonElement;
  _rows: SpecialRows<LoraRow>;
  el: HTMLElement;
  _off: () => void;

  constructor(place: Place) {
    this._place = place;
    const fields = place.node.item.fields as any[];
    this._path = fields.find(({ name }) => name === "path") ?? fields.find(({ kind }) => kind === "text");
    this._scale = fields.find(({ name, kind }) => name === "scale" && kind === "real");
    this._others = fields.filter((node) => node !== this._path && node !== this._scale);
    this._said = made("span", { class: "rb-hidden", role: "status" });
    this._adding = quietButton("Add weights", () => this._add());
    this._rows = new SpecialRows(`${place.node.label}, in order`, {
      changed: (words) => {
        this._changed(words);
        place.link.leave();
      },
      fallbackFocus: () => this._adding,
      copy: (row) => this._row({ ...row.value }),
      gone: (row) => this._fold(row),
      most: place.node.most,
    });
    this.el = made(
      "div",
      { class: "rbf-loras", role: "group", "aria-labelledby": place.labelledBy },
      this._rows.el,
      this._adding,
      this._said,
    );
    this._off = specialFollow(place.link, () => this._mark());
  }

  show(value: unknown) {
    const entries = Array.isArray(value ?? this._place.node.default)
      ? ((value ?? this._place.node.default) as any[])
      : [];
    entries.forEach((entry, place) => {
      const lora = entry !== null && typeof entry === "object" ? { ...entry } : {};
      const row = this._rows.rows[place];
      if (!row) this._rows.add(this._row(lora));
      else if (JSON.stringify(row.value) !== JSON.stringify(lora)) this._fill(row, lora);
    });
    this._rows.cut(entries.length);
    this._number();
  }

  dispose() {
    this._off();
    this._rows.rows.forEach((row) => this._fold(row));
  }

  _row(value: Lora): LoraRow {
    const text = (name: string) =>
      made("input", { type: "text", class: name, autocomplete: "off", spellcheck: "false" });
    const path = text("rbf-lora-path");
    const scale = text("rbf-special-number");
    const slider = made("input", { type: "range", class: "rbf-slider" });
    const strength = made("span", { class: "rbf-lora-strength" }, slider, scale);
    const more = made("button", { type: "button", class: "rbf-quiet rbf-lora-more", "aria-expanded": "false" });
    const rest = made("div", { class: "rbf-lora-rest" });
    const words = made("div", { class: "rbf-caption rbf-special-bad rbf-lora-words" });
    const el = made("li", { class: "rbf-special-entry" }, path, strength, more, rest, words);
    const row: LoraRow = {
      el,
      value,
      path,
      slider,
      scale,
      strength,
      more,
      rest,
      words,
      focus: path,
      fields: [],
      at: -1,
      describe: () => row.path.value || "the new entry",
    };
    this._dress(row);
    this._listen(row);
    this._fill(row, value);
    return row;
  }

  /** Hides what the model does not have, and gives the slider its bounds. */
  _dress(row: LoraRow) {
    const { min, max, step } = this._scale ?? {};
    row.strength.hidden = !this._scale;
    row.slider.hidden = min === undefined || max === undefined;
    Object.assign(row.slider, {
      min: String(min),
      max: String(max),
      step: String(step ?? (max - min > 1 ? 0.05 : 0.01)),
    });
    row.scale.inputMode = "decimal";
    row.path.placeholder = "address or path of the weights";
    row.more.hidden = !this._others.length;
    row.rest.hidden = row.words.hidden = true;
  }

  _listen(row: LoraRow) {
    row.path.addEventListener("input", () =>
      this._set(row, this._path.name, row.path.value.trim() === "" ? undefined : row.path.value),
    );
    row.scale.addEventListener("input", () => this._set(row, "scale", numberRead(row.scale.value)));
    row.scale.addEventListener("blur", () => this._fill(row, row.value));
    row.slider.addEventListener("input", () => {
      this._set(row, "scale", Number(row.slider.value));
      row.scale.value = row.slider.value;
    });
    row.el.addEventListener("focusout", ({ relatedTarget }) => {
      if (!row.el.contains(relatedTarget as Node | null)) this._place.link.leave();
    });
    row.more.addEventListener("click", () => (row.rest.hidden ? this._unfold(row) : this._fold(row)));
  }

  /** Shows a value in a row. */
  _fill(row: LoraRow, value: Lora) {
    row.value = value;
    specialShow(row.path, value[this._path.name], (text) => (text.trim() === "" ? undefined : text));
    const scale = value.scale ?? this._scale?.default;
    if (document.activeElement !== row.scale || row.scale.value !== "") specialShow(row.scale, scale, numberRead);
    this._slide(row);
    for (const { field, node } of row.fields) field.show(value[node.name]);
    this._updateMore(row);
  }

  _slide(row: LoraRow) {
    const scale = row.value.scale ?? this._scale?.default;
    if (typeof scale === "number") row.slider.value = String(scale);
  }

  /** What the folded rest holds. */
  _updateMore(row: LoraRow) {
    const held = this._others
      .map(({ name }) => row.value[name])
      .filter((value) => value !== undefined && value !== null)
      .map(specialText);
    const label = this._others.length === 1 ? this._others[0].label : "More";
    specialSay(row.more, held.join(", ") || label);
    row.more.title = [label, ...held].join(": ");
    row.more.setAttribute("aria-label", row.more.title);
  }

  _set(row: LoraRow, name: string, value: unknown) {
    const { [name]: _, ...others } = row.value;
    row.value = value === undefined ? others : { ...others, [name]: value };
    this._slide(row);
    this._updateMore(row);
    this._changed();
  }

  _add() {
    const row = this._row({});
    this._place.link.begin([...this._place.path, this._rows.rows.length]);
    this._rows.add(row);
    row.path.focus();
    this._changed("Added an entry.");
  }

  _unfold(row: LoraRow) {
    row.rest.hidden = false;
    row.more.setAttribute("aria-expanded", "true");
    row.at = this._rows.rows.indexOf(row);
    row.fields = this._others.map((node) => ({ node, field: makeField(this._within(row, node)) }));
    row.rest.replaceChildren(...row.fields.map(({ field }) => field.el));
    row.fields.forEach(({ field, node }) => field.show(row.value[node.name]));
    this._mark();
  }

  _fold(row: LoraRow) {
    row.fields.forEach(({ field }) => field.dispose?.());
    row.fields = [];
    row.rest.replaceChildren();
    row.rest.hidden = true;
    row.more.setAttribute("aria-expanded", "false");
  }

  /** The place of a field of one entry. */
  _within(row: LoraRow, node: any): Place {
    const id = `${this._place.id}-${row.at}-${node.name}`;
    const path = [...this._place.path, row.at, node.name];
    return {
      ...this._place,
      node,
      path,
      id,
      labelledBy: `${id}-label`,
      nested: true,
      change: (value) => this._set(row, node.name, value),
    };
  }

  _changed(words?: string) {
    if (words) specialSay(this._said, words);
    const values = this._rows.rows.map((row) => row.value);
    this._place.change(values.length ? values : undefined);
    this._number();
  }

  /** Names everything by where its entry stands now. */
  _number() {
    this._rows.rows.forEach((row, place) => {
      const name = `${this._place.node.label} ${place + 1}`;
      row.path.setAttribute("aria-label", `${name}: ${this._path.label}`);
      row.scale.setAttribute("aria-label", `${name}: ${this._scale?.label}`);
      row.slider.setAttribute("aria-label", `${name}: ${this._scale?.label}, slider`);
      row.words.id = `${this._place.id}-words-${place}`;
      row.path.setAttribute("aria-describedby", row.words.id);
      row.scale.setAttribute("aria-describedby", row.words.id);
      // Fields find their problems by their place, which is another one now.
      if (row.fields.length && row.at !== place) this._unfold(row);
    });
    this._rows.number();
    const count = this._rows.rows.length;
    this._adding.disabled = count >= (this._place.node.most ?? Infinity);
    this._mark();
  }

  /** Says at each entry what the kernel finds wrong with it. */
  _mark() {
    const depth = this._place.path.length;
    const problems = (this._place.link.state?.problems ?? []) as any[];
    const own = problems
      .filter((one) => !this._place.link.isQuiet(one))
      .filter(({ at }) => this._place.path.every((step, place) => at[place] === step) && typeof at[depth] === "number");
    this._rows.rows.forEach((row, place) => {
      const here = own.filter(({ at }) => at[depth] === place);
      const hasField = ({ at }: any) => row.fields.some(({ node }) => node.name === at[depth + 1]);
      row.fields.forEach(({ field, node }) => field.mark(here.filter(({ at }) => at[depth + 1] === node.name)));
      specialSay(
        row.words,
        here
          .filter((problem) => !hasField(problem))
          .map(({ words }) => words)
          .join(" "),
      );
      row.words.hidden = !row.words.textContent;
      const isBad = (name: string) => String(here.some(({ at }) => at[depth + 1] === name));
      row.path.setAttribute("aria-invalid", isBad(this._path.name));
      row.scale.setAttribute("aria-invalid", isBad("scale"));
    });
  }
}

function makeLoras(place: Place): Control {
  const item = place.node.item;
  if (item?.kind !== "object" || !item.fields?.some(({ kind }: any) => kind === "text")) return CONTROLS.list(place);
  const control = new LorasControl(place);
  return { el: control.el, show: (value) => control.show(value), dispose: () => control.dispose(), group: true };
}

CONTROLS.loras = makeLoras;
