/** One field: its name, its control, what helps, and what is wrong with it. */
import { made } from "../page/element.ts";

export type Place = {
  node: any;
  path: (string | number)[];
  link: any;
  id: string;
  labelledBy: string;
  change: (value: any) => void;
  nested?: boolean;
  apart?: boolean;
};
export type Control = {
  el: HTMLElement;
  show: (value: any) => void;
  dispose?: () => void;
  group?: boolean;
  lead?: HTMLElement;
};
export type Problem = { at: (string | number)[]; words: string; kind: string; nearest?: any };

/** How a value is edited, by the name of what is special about it, else by its kind. */
export const CONTROLS: Record<string, (place: Place) => Control> = {};

const FIELD_WIDE = ["text-long", "image", "list", "object", "json", "either"];

export function makeField(place: Place) {
  const { node, link } = place;
  const make = CONTROLS[node.special] ?? CONTROLS[node.kind] ?? CONTROLS.json;
  const control = make(place);
  const label = made(control.group ? "span" : "label", {
    for: control.group ? null : place.id,
    id: place.labelledBy,
    class: "rbf-name",
    text: node.label,
  });
  if (node.required) label.append(" ", made("span", { class: "rbf-needed", text: "Required" }));
  // They occupy their space while hidden, so that nothing moves during typing.
  const hasReset = !node.required && !place.nested;
  const mark = made(
    "span",
    { class: "rbf-changed", title: "changed", hidden: true },
    made("span", { class: "rb-hidden", text: "changed" }),
  );
  const reset = made("button", {
    type: "button",
    class: "rbf-quiet rbf-reset",
    text: "Reset",
    hidden: true,
    onclick: () => {
      place.change(undefined);
      field.show(undefined);
      fieldFocus(control.el);
    },
  });
  const row = made(
    "div",
    { class: "rbf-label" },
    made("span", { class: "rbf-label-name" }, label, hasReset ? mark : null, hasReset ? reset : null),
    made("span", { class: "rbf-label-tools" }, control.lead),
  );
  const said = made("span", { id: `${place.id}-problem` });
  const fix = made("button", { type: "button", class: "rbf-quiet rbf-fix" });
  const problem = made("p", { class: "rbf-problem", hidden: true }, said, fix);
  const help = node.help ? made("p", { class: "rbf-help rbf-caption", id: `${place.id}-help`, text: node.help }) : null;
  const isWide =
    node.long ||
    FIELD_WIDE.includes(node.kind) ||
    ["prompt", "timeline", "sizes", "frames", "aspect"].includes(node.special);
  const el = made(
    "div",
    { class: `rbf-field${isWide ? " rbf-wide" : ""}`, "data-field": place.path.join(".") },
    row,
    control.el,
    problem,
    help,
  );
  const input = () => el.querySelector(`#${CSS.escape(place.id)}`) as HTMLElement | null;
  if (!control.group)
    input()?.setAttribute(
      "aria-describedby",
      [input()?.getAttribute("aria-describedby"), help?.id, said.id].filter(Boolean).join(" "),
    );
  fix.addEventListener("click", () => {
    place.change(nearest);
    field.show(nearest);
    fieldFocus(control.el);
  });

  /** What the kernel proposes instead of what is wrong. */
  let nearest: any;
  const field = {
    el,
    show(value: any) {
      const isOpen = node.default === undefined || node.default === null;
      field.touch(value);
      reset.title = isOpen ? "Let the service choose" : `Reset to ${fieldShort(node.default)}`;
      reset.setAttribute("aria-label", `Reset: ${node.label}`);
      control.show(value);
    },
    /** Say that something was typed into it. */
    touch(value: any) {
      mark.hidden = value === undefined || JSON.stringify(value) === JSON.stringify(node.default);
      reset.hidden = value === undefined;
    },
    mark(problems: Problem[]) {
      const words = problems.map((one) => one.words).join(" ");
      if (said.textContent !== words) said.textContent = words;
      nearest = problems.find(({ at }) => at.length === place.path.length)?.nearest;
      fix.textContent = nearest === undefined ? "" : `Use ${fieldShort(nearest)}`;
      fix.hidden = nearest === undefined;
      problem.hidden = !words;
      el.classList.toggle("rbf-wrong", !!words);
      if (words) input()?.setAttribute("aria-invalid", "true");
      else input()?.removeAttribute("aria-invalid");
    },
    dispose() {
      off();
      control.dispose?.();
    },
  };
  const off = link.register?.(place.path, field) ?? (() => {});
  return field;
}

function fieldShort(value: any) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 59)}…` : text || "empty";
}

function fieldFocus(el: HTMLElement) {
  const first = el.matches("input, textarea, select, button")
    ? el
    : el.querySelector("input, textarea, select, button");
  (first as HTMLElement | null)?.focus();
}

/** Where the fields of a form are, so that each problem finds its own. */
export class FieldPlaces {
  _fields: Map<string, { mark: (problems: Problem[]) => void }>;

  constructor() {
    this._fields = new Map();
  }

  register(path: (string | number)[], field: { mark: (problems: Problem[]) => void }) {
    const key = JSON.stringify(path);
    this._fields.set(key, field);
    return () => {
      if (this._fields.get(key) === field) this._fields.delete(key);
    };
  }

  /** Assign each problem to the innermost field that contains its path; return those without a field. */
  mark(problems: Problem[]): Problem[] {
    const found: Map<string, Problem[]> = new Map([...this._fields.keys()].map((key) => [key, []]));
    const unplaced = [];
    for (const problem of problems) {
      let length = problem.at.length;
      while (length && !found.has(JSON.stringify(problem.at.slice(0, length)))) length -= 1;
      if (length) found.get(JSON.stringify(problem.at.slice(0, length)))?.push(problem);
      else unplaced.push(problem);
    }
    for (const [key, own] of found) this._fields.get(key)?.mark(own);
    return unplaced;
  }
}
