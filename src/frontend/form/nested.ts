/** Controls for values inside values: lists, objects of plain values, and one of several kinds. */
import { made } from "../page/element.ts";
import { CONTROLS, type Control, makeField, type Place } from "./fields.ts";
import { nestedFits, nestedFormName, nestedHollow, nestedIsObject, nestedStart, nestedWhole } from "./nested_kinds.ts";
import { plainSame, plainText } from "./plain.ts";
import { quietButton } from "./quiet.ts";
import { specialButton, specialTurn } from "./special_parts.ts";

/** The place of a value inside another one. */
function nestedPlace(place: Place, node: any, key: string | number, name: string, change: (value: any) => void) {
  const id = `${place.id}-${name}`;
  return {
    node,
    path: [...place.path, key],
    link: place.link,
    id,
    labelledBy: `${id}-label`,
    nested: true,
    apart: place.apart,
    change,
  };
}

/** What takes the focus inside an element. */
function nestedStops(element: HTMLElement): HTMLElement[] {
  return [...element.querySelectorAll<HTMLElement>("input, textarea, select, button, summary")].filter(
    (stop) => stop.offsetParent !== null,
  );
}

/** How many entries a list takes. */
function nestedAmount(least: number, most: number) {
  if (most === Infinity) return least ? `${least} at least.` : "";
  return least === most ? `Exactly ${least}.` : least ? `${least} to ${most}.` : `${most} at most.`;
}

/** A list as that sees it with which entries are added. */
export interface NestedEntries {
  values: () => any[];
  append: (values: any[]) => void;
  say: (words: string) => void;
}

/** @param adds Where entries are added, instead of a button that adds an empty one. */
export function makeNestedList(
  place: Place,
  adds?: { make: (list: NestedEntries) => { el: HTMLElement; focus: HTMLElement }; hint: string; item: string },
): Control {
  const { node, link } = place;
  const least = node.least ?? 0;
  const most = node.most ?? Infinity;
  let values: any[] = [];
  const rows: { el: HTMLElement; field: any; tools: Record<string, HTMLButtonElement> }[] = [];
  const list = made("ol", { class: "rbf-items", role: "list" });
  const hint = [adds?.hint, nestedAmount(least, most)].filter(Boolean).join(" ");
  const note = made("span", { class: "rbf-caption rbf-list-note", role: "status", text: hint });
  const odd = made("p", { class: "rbf-caption rbf-nested-odd" });
  const say = (words: string) => {
    if (note.textContent !== words) note.textContent = words;
  };
  /** What an entry is called: a text by itself, anything else by its number. */
  const nameOf = (at: number) => (adds && values[at]) || `${at + 1}.`;

  const send = (next: any[], words: string = hint) => {
    values = next;
    settle();
    say(words);
    // A list that is required and was emptied is missing.
    place.change(values.length || !node.required ? [...values] : undefined);
  };
  const insert = (at: number, value: any) => {
    if (values.length >= most) return;
    link.begin([...place.path, at]);
    send([...values.slice(0, at), value, ...values.slice(at)]);
    nestedStops(rows[at].el)[0]?.focus();
  };
  const append = (more: any[]) => {
    const added = more.slice(0, Math.max(0, most - values.length));
    const left = more.length - added.length;
    const words = added.length === 1 ? `Added ${added[0]}.` : `Added ${added.length}.`;
    send([...values, ...added], left ? `At most ${most}; ${left} left out.` : words);
    rows.at(-1)?.el.scrollIntoView({ block: "nearest" });
  };
  const button = quietButton("Add", () => insert(values.length, nestedStart(node.item)), {
    "aria-label": `Add to ${node.label}`,
  });
  const add = adds?.make({ values: () => values, append, say }) ?? { el: button, focus: button };
  const remove = (at: number) => {
    const name = nameOf(at);
    send(
      values.filter((_, index) => index !== at),
      `Removed ${name} ${values.length - 1} left.`,
    );
    link.leave();
    (rows[Math.min(at, rows.length - 1)]?.tools.remove ?? add.focus).focus();
  };
  const move = (from: number, by: number) => {
    const to = from + by;
    if (to < 0 || to >= values.length) return;
    const stop = nestedStops(rows[from].el).indexOf(document.activeElement as HTMLElement);
    const next = [...values];
    [next[from], next[to]] = [next[to], next[from]];
    const name = nameOf(from);
    send(next, `${name} is now ${to + 1} of ${next.length}.`);
    link.leave();
    const stops = nestedStops(rows[to].el);
    (stops[stop] ?? stops[0])?.focus();
  };
  // Rows keep their places and values move through them, so that every path stays true.
  const makeRow = (at: number) => {
    const label = adds ? `${adds.item} ${at + 1}` : `${at + 1}.`;
    const item = {
      ...node.item,
      ...{ name: String(at), label, required: false, entry: true, default: undefined, beside: node.beside },
    };
    const inner = nestedPlace(place, item, at, String(at), (value) => {
      values = values.map((old, index) => (index === at ? (value ?? nestedHollow(node.item)) : old));
      caption(at);
      place.change([...values]);
    });
    const field = makeField(inner);
    const tools = {
      up: specialButton("up", "", () => move(at, -1)),
      down: specialButton("down", "", () => move(at, 1)),
      ...(adds ? {} : { copy: specialButton("copy", "", () => insert(at + 1, structuredClone(values[at]))) }),
      remove: specialButton("remove", "", () => remove(at)),
    };
    const el = made(
      "li",
      { class: "rbf-item" },
      field.el,
      made("div", { class: "rbf-item-tools" }, ...Object.values(tools)),
    );
    el.addEventListener("focusout", ({ relatedTarget }) => {
      if (!el.contains(relatedTarget as Node | null)) link.leave();
    });
    el.addEventListener("keydown", (event) => {
      if (!event.altKey || event.ctrlKey || event.metaKey || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
      event.preventDefault();
      event.stopPropagation();
      move(at, event.key === "ArrowUp" ? -1 : 1);
    });
    return { el, field, tools: tools as Record<string, HTMLButtonElement> };
  };
  /** Says at a row what its buttons do. */
  const caption = (at: number) => {
    const { up, down, copy, remove } = rows[at].tools;
    const name = nameOf(at);
    specialTurn(up, `Move ${name} up`, at > 0);
    specialTurn(down, `Move ${name} down`, at < values.length - 1);
    if (copy) specialTurn(copy, `Duplicate ${name}`, values.length < most);
    specialTurn(remove, `Remove ${name}`, true);
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
    button.setAttribute("aria-disabled", String(values.length >= most));
    rows.forEach(({ field }, at) => {
      field.show(values[at]);
      caption(at);
    });
  };
  const show = (value: any) => {
    const current = value === undefined ? (node.default ?? []) : value;
    values = Array.isArray(current) ? [...current] : [];
    odd.hidden = Array.isArray(current) || current === null;
    odd.textContent = `Now: ${plainText(current)}`;
    settle();
  };
  const el = made(
    "div",
    { class: "rbf-nested", role: "group", "aria-labelledby": place.labelledBy },
    odd,
    ...(adds ? [add.el, note, list] : [list, made("div", { class: "rbf-row" }, add.el, note)]),
  );
  return { el, show, dispose: () => rows.forEach((row) => row.field.dispose()), group: true };
}

function makeNestedObject(place: Place): Control {
  const { node } = place;
  const names = new Set(node.fields.map((field: any) => field.name));
  let values: Record<string, any> = {};
  const send = () => place.change(nestedWhole(node, values));
  const fields = node.fields.map((field: any) => {
    // Nobody need fill in what cannot be changed.
    const child = field.kind === "constant" ? { ...field, required: undefined } : field;
    const inner = nestedPlace(place, child, field.name, field.name, (value) => {
      values = { ...values, [field.name]: value };
      send();
    });
    return { name: field.name, control: makeField(inner) };
  });
  const show = (value: any) => {
    const current = value === undefined ? node.default : value;
    const whole = nestedIsObject(current) ? current : {};
    values = Object.fromEntries(Object.entries(whole).filter(([name]) => names.has(name)));
    for (const { name, control } of fields) control.show(values[name]);
  };
  const dispose = () => {
    for (const { control } of fields) control.dispose();
  };
  const el = made(
    "div",
    { class: "rbf-nested", role: "group", "aria-labelledby": place.labelledBy },
    ...fields.map((field: any) => field.control.el),
  );
  return { el, show, dispose, group: true };
}

function makeNestedEither(place: Place): Control {
  const { node } = place;
  const options = node.forms.map((form: any, index: number) =>
    made("option", { value: String(index), text: nestedFormName(form, node) }),
  );
  const select = made("select", { class: "rbf-either-kind", "aria-label": `Kind of ${node.label}` }, ...options);
  const slot = made("div", { class: "rbf-either-slot" });
  const lead = made("span", { class: "rbf-either-lead" });
  let chosen = -1;
  let inner: any;
  let value: any;
  const choose = (index: number) => {
    if (index === chosen) return;
    chosen = index;
    select.value = String(index);
    inner?.dispose?.();
    const form = node.forms[index];
    const isDefault = node.default !== undefined && nestedFits(form, node.default);
    const whole = {
      ...form,
      name: node.name,
      label: node.label,
      required: node.required,
      entry: node.entry,
      default: isDefault ? node.default : form.default,
    };
    inner = nestedControl({
      ...place,
      node: whole,
      apart: true,
      change: (next) => {
        value = next;
        place.change(next);
      },
    });
    inner.el
      .querySelector("textarea, input:not([type=range], [type=radio])")
      ?.setAttribute("aria-labelledby", place.labelledBy);
    slot.replaceChildren(inner.el);
    lead.replaceChildren(...(inner.lead ? [inner.lead] : []));
  };
  select.addEventListener("change", () => {
    choose(Number(select.value));
    const form = node.forms[chosen];
    if (value === undefined || !nestedFits(form, value)) value = nestedStart(form);
    inner.show(value);
    place.change(value);
  });
  const show = (next: any) => {
    // Half a number is not a number yet: what was typed stays as it was typed.
    const isOurs = chosen >= 0 && plainSame(next, value);
    value = next;
    const current = value === undefined ? node.default : value;
    const isUnchanged = isOurs || (chosen >= 0 && (current === undefined || nestedFits(node.forms[chosen], current)));
    const found = node.forms.findIndex((form: any) => current !== undefined && nestedFits(form, current));
    if (!isUnchanged) choose(Math.max(found, 0));
    inner.show(value);
  };
  const el = made("div", { class: "rbf-either", role: "group", "aria-labelledby": place.labelledBy }, select, slot);
  return { el, show, dispose: () => inner?.dispose?.(), group: true, lead };
}

/** The control for a place, without label or help. */
function nestedControl(place: Place): Control {
  return (CONTROLS[place.node.special] ?? CONTROLS[place.node.kind] ?? CONTROLS.json)(place);
}

CONTROLS.list = (place) => makeNestedList(place);
CONTROLS.object = makeNestedObject;
CONTROLS.either = makeNestedEither;
