// @ts-check
/** Controls for values inside values: lists, objects, one of several kinds, and kinds that hold themselves. */
import { made } from "../../../display/assets/table_element.js";
import { CONTROLS, makeField } from "./form_fields.js";
import { nestedFits, nestedFormName, nestedHollow, nestedIsObject, nestedNode, nestedStart, nestedWhole } from "./form_nested_kinds.js";
import { plainSame, plainText } from "./form_plain.js";
import { quietButton } from "./form_quiet.js";

/** @typedef {import("./form_fields.js").Place} Place */
/** @typedef {import("./form_fields.js").Control} Control */

// Objects further inside than this start folded, and are drawn when they are unfolded.
const NESTED_OPEN = 2;

/** The place of a value inside another one. @param {Place} place @param {any} node @param {string | number} key @param {string} name @param {(value: any) => void} change */
function nestedPlace(place, node, key, name, change) {
  const id = `${place.id}-${name}`;
  return { node, path: [...place.path, key], link: place.link, id, labelledBy: `${id}-label`, nested: true, apart: place.apart, change };
}

/** @param {string} words @param {string} says @param {() => void} act */
const nestedButton = (words, says, act) => quietButton(words, act, { title: says, "aria-label": says });

/** What takes the focus inside an element. @param {HTMLElement} element @returns {HTMLElement[]} */
function nestedStops(element) {
  return [...element.querySelectorAll("input, textarea, select, button, summary")].filter((stop) => /** @type {HTMLElement} */ (stop).offsetParent !== null);
}

/** How many entries a list takes. @param {number} least @param {number} most */
function nestedAmount(least, most) {
  if (most === Infinity) return least ? `${least} at least.` : "";
  return least === most ? `Exactly ${least}.` : least ? `${least} to ${most}.` : `${most} at most.`;
}

/** @param {Place} place @returns {Control} */
function makeNestedList(place) {
  const { node, link } = place;
  const least = node.least ?? 0;
  const most = node.most ?? Infinity;
  /** @type {any[]} */
  let values = [];
  /** @type {{el: HTMLElement, field: any, tools: Record<string, HTMLElement>}[]} */
  const rows = [];
  const list = made("ol", { class: "rbf-items", role: "list" });
  const add = nestedButton("Add", `Add to ${node.label}`, () => insert(values.length, nestedStart(link, node.item)));
  const amount = made("span", { class: "rbf-caption", text: nestedAmount(least, most) });
  const odd = made("p", { class: "rbf-caption rbf-nested-odd" });

  const send = (/** @type {any[]} */ next) => {
    values = next;
    settle();
    place.change([...values]);
  };
  const insert = (/** @type {number} */ at, /** @type {any} */ value) => {
    if (values.length >= most) return;
    link.begin([...place.path, at]);
    send([...values.slice(0, at), value, ...values.slice(at)]);
    nestedStops(rows[at].el)[0]?.focus();
  };
  const remove = (/** @type {number} */ at) => {
    send(values.filter((_, index) => index !== at));
    link.leave();
    (rows[Math.min(at, rows.length - 1)]?.tools.remove ?? add).focus();
  };
  const move = (/** @type {number} */ from, /** @type {number} */ by) => {
    const to = from + by;
    if (to < 0 || to >= values.length) return;
    const stop = nestedStops(rows[from].el).indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const next = [...values];
    [next[from], next[to]] = [next[to], next[from]];
    send(next);
    link.leave();
    const stops = nestedStops(rows[to].el);
    (stops[stop] ?? stops[0])?.focus();
  };
  // Rows keep their places and values move through them, so that every path stays true.
  const makeRow = (/** @type {number} */ at) => {
    const label = `${at + 1}.`;
    const item = { ...node.item, name: String(at), label, required: false, entry: true, default: undefined };
    const inner = nestedPlace(place, item, at, String(at), (value) => {
      values = values.map((old, index) => (index === at ? value ?? nestedHollow(link, node.item) : old));
      place.change([...values]);
    });
    const field = makeField(inner);
    const tools = {
      up: nestedButton("↑", `Move ${label} up`, () => move(at, -1)),
      down: nestedButton("↓", `Move ${label} down`, () => move(at, 1)),
      copy: nestedButton("Duplicate", `Duplicate ${label}`, () => insert(at + 1, structuredClone(values[at]))),
      remove: nestedButton("Remove", `Remove ${label}`, () => remove(at)),
    };
    const el = made("li", { class: "rbf-item" }, field.el, made("div", { class: "rbf-item-tools" }, ...Object.values(tools)));
    el.addEventListener("focusout", ({ relatedTarget }) => {
      if (!el.contains(/** @type {Node | null} */ (relatedTarget))) link.leave();
    });
    el.addEventListener("keydown", (event) => {
      if (!event.altKey || event.ctrlKey || event.metaKey || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
      event.preventDefault();
      event.stopPropagation();
      move(at, event.key === "ArrowUp" ? -1 : 1);
    });
    return { el, field, tools };
  };
  const settle = () => {
    while (rows.length > values.length) {
      const row = rows.pop();
      row?.field.dispose();
      row?.el.remove();
    }
    while (rows.length < values.length) {
      rows.push(makeRow(rows.length));
      list.append(rows[rows.length - 1].el);
    }
    list.hidden = !rows.length;
    const isFull = values.length >= most;
    add.setAttribute("aria-disabled", String(isFull));
    rows.forEach(({ field, tools }, at) => {
      field.show(values[at]);
      tools.up.setAttribute("aria-disabled", String(at === 0));
      tools.down.setAttribute("aria-disabled", String(at === rows.length - 1));
      tools.copy.setAttribute("aria-disabled", String(isFull));
      tools.remove.setAttribute("aria-disabled", String(values.length <= least));
    });
  };
  const show = (/** @type {any} */ value) => {
    const current = value === undefined ? node.default ?? [] : value;
    values = Array.isArray(current) ? [...current] : [];
    odd.hidden = Array.isArray(current) || current === null;
    odd.textContent = `Now: ${plainText(current)}`;
    settle();
  };
  const el = made("div", { class: "rbf-nested", role: "group", "aria-labelledby": place.labelledBy }, odd, list, made("div", { class: "rbf-row" }, add, amount));
  return { el, show, dispose: () => rows.forEach((row) => row.field.dispose()), group: true };
}

/** @param {Place} place @returns {Control} */
function makeNestedObject(place) {
  return place.path.length > NESTED_OPEN ? makeNestedFolded(place) : makeNestedFields(place);
}

/** An object that is drawn only when it is unfolded: one that holds itself would never end. @param {Place} place @returns {Control} */
function makeNestedFolded(place) {
  /** @type {any} */
  let inner;
  /** @type {any} */
  let value;
  const summary = made("summary", {});
  const el = /** @type {HTMLDetailsElement} */ (made("details", { class: "rbf-nested-fold" }, summary));
  const summarise = () => {
    const current = value === undefined ? place.node.default : value;
    const text = nestedIsObject(current) ? Object.entries(current).map(([name, member]) => `${name} ${plainText(member)}`).join(", ") : plainText(current);
    summary.textContent = text.length > 60 ? `${text.slice(0, 59)}…` : text || "Nothing set";
  };
  const draw = () => {
    if (inner) return;
    inner = makeNestedFields({ ...place, change: (next) => { value = next; summarise(); place.change(next); } });
    el.append(inner.el);
    inner.show(value);
  };
  summary.addEventListener("click", () => { if (!el.open) draw(); });
  el.addEventListener("toggle", () => { if (el.open) draw(); });
  const show = (/** @type {any} */ next) => {
    value = next;
    inner?.show(value);
    summarise();
  };
  return { el, show, dispose: () => inner?.dispose(), group: true };
}

/** @param {Place} place @returns {Control} */
function makeNestedFields(place) {
  const { node } = place;
  const names = new Set(node.fields.map((/** @type {any} */ field) => field.name));
  /** @type {Record<string, any>} */
  let values = {};
  const send = () => place.change(nestedWhole(node, { ...values, ...extras?.read() }));
  const fields = node.fields.map((/** @type {any} */ field) => {
    // Nobody need fill in what cannot be changed.
    const child = field.kind === "constant" ? { ...field, required: undefined } : field;
    const inner = nestedPlace(place, child, field.name, field.name, (value) => {
      values = { ...values, [field.name]: value };
      send();
    });
    return { name: field.name, control: makeField(inner) };
  });
  const extras = node.open ? new NestedExtras(place, names, send) : null;
  const show = (/** @type {any} */ value) => {
    const current = value === undefined ? node.default : value;
    const whole = nestedIsObject(current) ? current : {};
    values = Object.fromEntries(Object.entries(whole).filter(([name]) => names.has(name)));
    for (const { name, control } of fields) control.show(values[name]);
    extras?.show(Object.fromEntries(Object.entries(whole).filter(([name]) => !names.has(name))));
  };
  const dispose = () => {
    for (const { control } of fields) control.dispose();
    extras?.dispose();
  };
  const children = [...fields.map((/** @type {any} */ field) => field.control.el), ...(extras ? [extras.el] : [])];
  return { el: made("div", { class: "rbf-nested", role: "group", "aria-labelledby": place.labelledBy }, ...children), show, dispose, group: true };
}

/** Members under names that one types: rows of a name and its value. */
class NestedExtras {
  /** @param {Place} place @param {Set<string>} taken @param {() => void} send */
  constructor(place, taken, send) {
    this._place = place;
    this._taken = taken;
    this._send = send;
    this._made = 0;
    /** @type {any[]} */
    this._rows = [];
    this._list = made("div", { class: "rbf-extras" });
    const add = nestedButton("Add a value", `Add a named value to ${place.node.label}`, () => this._add("", undefined).input.focus());
    this.el = made("div", { class: "rbf-nested-open" }, this._list, made("div", { class: "rbf-row" }, add));
    this._home = add;
  }

  /** The members that have a name of their own and a value. */
  read() {
    const named = this._rows.filter((row) => !this._fault(row) && row.value !== undefined);
    return Object.fromEntries(named.map((row) => [row.name, row.value]));
  }

  /** @param {Record<string, any>} members */
  show(members) {
    const isOurs = plainSame(members, this.read());
    for (const row of [...this._rows]) {
      // An incomplete row is not discarded, unless the other members changed elsewhere.
      if (!(row.name in members) && !isOurs) this._drop(row);
    }
    for (const [name, value] of Object.entries(members)) {
      const row = this._rows.find((one) => one.name === name);
      if (!row) this._add(name, value);
      else if (row.value !== value) row.field.show((row.value = value));
    }
  }

  dispose() {
    for (const row of this._rows) row.field.dispose();
  }

  /** @param {any} row */
  _fault(row) {
    if (row.name === "") return "Not sent until it has a name.";
    const isTwice = this._taken.has(row.name) || this._rows.find((one) => one.name === row.name) !== row;
    return isTwice ? "Not sent: this name is there already." : "";
  }

  /** @param {string} name @param {any} value */
  _add(name, value) {
    const { open } = this._place.node;
    this._made += 1;
    const id = `more-${this._made}`;
    const input = /** @type {HTMLInputElement} */ (made("input", { type: "text", class: "rbf-text", "aria-label": "Name", placeholder: "name", autocomplete: "off", spellcheck: "false" }));
    const said = made("p", { class: "rbf-caption" });
    const node = open === true ? { kind: "json" } : open;
    /** @type {any} */
    const row = { name, value: value ?? (name ? value : nestedFirst(this._place.link, node)), input, said };
    const make = () => {
      const label = row.name || "Value";
      const inner = nestedPlace(this._place, { ...node, name: row.name, label, required: false, entry: true, default: undefined }, row.name, id, (next) => {
        row.value = next;
        this._send();
      });
      const field = makeField(inner);
      row.field?.dispose();
      row.field?.el.replaceWith(field.el);
      row.field = field;
      field.show(row.value);
    };
    input.value = name;
    input.addEventListener("change", () => {
      row.name = input.value.trim();
      make();
      this._updateFaults();
      this._send();
    });
    make();
    const gone = nestedButton("Remove", "Remove this value", () => {
      this._drop(row);
      this._home.focus();
      this._send();
    });
    row.el = made("div", { class: "rbf-extra" }, made("div", { class: "rbf-extra-name" }, input, gone, said), row.field.el);
    this._rows.push(row);
    this._list.append(row.el);
    this._updateFaults();
    return row;
  }

  /** @param {any} row */
  _drop(row) {
    this._rows.splice(this._rows.indexOf(row), 1);
    row.field.dispose();
    row.el.remove();
    this._updateFaults();
  }

  _updateFaults() {
    for (const row of this._rows) row.said.textContent = this._fault(row);
  }
}

/** What a new named value begins with; JSON begins empty. @param {Place["link"]} link @param {any} node */
function nestedFirst(link, node) {
  return nestedNode(link, node).kind === "json" ? undefined : nestedStart(link, node);
}

/** @param {Place} place @returns {Control} */
function makeNestedEither(place) {
  const { node, link } = place;
  const options = node.forms.map((/** @type {any} */ form, /** @type {number} */ index) => made("option", { value: String(index), text: nestedFormName(link, form, node) }));
  const select = /** @type {HTMLSelectElement} */ (made("select", { class: "rbf-either-kind", "aria-label": `Kind of ${node.label}` }, ...options));
  const slot = made("div", { class: "rbf-either-slot" });
  const lead = made("span", { class: "rbf-either-lead" });
  let chosen = -1;
  /** @type {any} */
  let inner;
  /** @type {any} */
  let value;
  const choose = (/** @type {number} */ index) => {
    if (index === chosen) return;
    chosen = index;
    select.value = String(index);
    inner?.dispose?.();
    const form = nestedNode(link, node.forms[index]);
    const isDefault = node.default !== undefined && nestedFits(link, form, node.default);
    const whole = { ...form, name: node.name, label: node.label, required: node.required, entry: node.entry, default: isDefault ? node.default : form.default };
    inner = nestedControl({ ...place, node: whole, apart: true, change: (next) => { value = next; place.change(next); } });
    inner.el.querySelector("textarea, input:not([type=range], [type=radio])")?.setAttribute("aria-labelledby", place.labelledBy);
    slot.replaceChildren(inner.el);
    lead.replaceChildren(...(inner.lead ? [inner.lead] : []));
  };
  select.addEventListener("change", () => {
    choose(Number(select.value));
    const form = node.forms[chosen];
    if (value === undefined || !nestedFits(link, form, value)) value = nestedStart(link, form);
    inner.show(value);
    place.change(value);
  });
  const show = (/** @type {any} */ next) => {
    // Half a number is no number yet: what was typed here stays in the form it was typed in.
    const isOurs = chosen >= 0 && plainSame(next, value);
    value = next;
    const current = value === undefined ? node.default : value;
    const isUnchanged = isOurs || (chosen >= 0 && (current === undefined || nestedFits(link, node.forms[chosen], current)));
    const found = node.forms.findIndex((/** @type {any} */ form) => current !== undefined && nestedFits(link, form, current));
    if (!isUnchanged) choose(Math.max(found, 0));
    inner.show(value);
  };
  const el = made("div", { class: "rbf-either", role: "group", "aria-labelledby": place.labelledBy }, select, slot);
  return { el, show, dispose: () => inner?.dispose?.(), group: true, lead };
}

/** The control for a place, without label or help. @param {Place} place @returns {Control} */
function nestedControl(place) {
  return (CONTROLS[place.node.special] ?? CONTROLS[place.node.kind] ?? CONTROLS.json)(place);
}

/** @param {Place} place @returns {Control} */
function makeNestedAgain(place) {
  const { name, label, required, entry, default: fallback } = place.node;
  const found = nestedNode(place.link, place.node);
  return nestedControl({ ...place, node: { ...found, name, label, required, entry, default: fallback === undefined ? found.default : fallback } });
}

CONTROLS.list = makeNestedList;
CONTROLS.object = makeNestedObject;
CONTROLS.either = makeNestedEither;
CONTROLS.again = makeNestedAgain;
