/** What fields are and what may stand in them: kinds, numbers and sizes as people write them, values inside of values. */

export type Path = (string | number)[];
export type Problem = { at: Path; words: string; kind: string; nearest?: unknown };
export type Choice = { value: unknown; label: string };
export type Kind =
  | "text"
  | "image"
  | "whole"
  | "real"
  | "check"
  | "choice"
  | "constant"
  | "list"
  | "object"
  | "either"
  | "json";

/** One field as Python describes it: see `schema.py`. */
export interface Node {
  name: string;
  label: string;
  kind: Kind;
  /** The control that is drawn where there is a better one than that of its kind. */
  special?: string;
  help?: string;
  required?: boolean;
  folded?: boolean;
  nullable?: boolean;
  default?: any;
  long?: boolean;
  min?: number;
  max?: number;
  above?: number;
  below?: number;
  step?: number;
  least?: number;
  most?: number;
  value?: unknown;
  choices?: Choice[];
  item?: Node;
  fields?: Node[];
  forms?: Node[];
  beside?: any;
  /** An entry of a list, where something always stands. */
  entry?: boolean;
}

export const EMPTY = "empty text";
export const BY_SERVICE = "chosen by the service";
const MAX_SLIDER_STEPS = 10000;
const KINDS: Record<Kind, string> = {
  text: "Text",
  whole: "Whole number",
  real: "Number",
  choice: "Choice",
  constant: "Constant",
  check: "On or off",
  image: "Image",
  list: "List",
  object: "Object",
  either: "Several kinds",
  json: "JSON",
};

/** Whether two JSON values are the same. */
export function isSame(one: unknown, other: unknown) {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** A value in words, as one would type it. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return value === null ? "none" : "";
  if (typeof value === "number") return numberText(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** A value for a button: short, and never nothing. */
export function shortText(value: unknown) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 59)}…` : text || "empty";
}

/** Whether the service decides where nothing is set; an entry of a list is always set. */
export function isOpen(node: Node) {
  return !node.required && !node.entry;
}

/** What an empty input says. */
export function emptyText(node: Node) {
  if (node.default !== undefined && node.default !== null) return textOf(node.default);
  return isOpen(node) ? BY_SERVICE : "";
}

// Numbers.

/**
 * The text with a point, where its comma can only be that of a decimal fraction, as in `0,5`. One that may set thousands apart, as in
 * `1,000`, stays as it is: whoever means a thousand must not get one.
 */
export function withPoint(typed: string) {
  const isFraction = /^[+-]?\d*,\d+$/.test(typed) && !/^[+-]?[1-9]\d{0,2},\d{3}$/.test(typed);
  return isFraction ? typed.replace(",", ".") : typed;
}

/** What a typed number is: a number, the digits where it is too long for one, what was typed where it is none. */
export function readNumber(text: string): number | string | undefined {
  const typed = withPoint(text.trim());
  if (typed === "") return undefined;
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(typed)) return typed;
  const number = Number(typed);
  if (Number.isSafeInteger(number) || (Number.isFinite(number) && !Number.isInteger(number))) return number + 0;
  return /^[+-]?\d+$/.test(typed) ? String(BigInt(typed.replace("+", ""))) : typed;
}

/** A number without the noise of binary fractions. */
export function tidy(number: number) {
  return Number.isInteger(number) ? number : Number(number.toPrecision(15));
}

/** A number as one types it. */
export function numberText(number: number) {
  return Number.isInteger(number) && Math.abs(number) < 1e21 ? String(BigInt(number)) : String(tidy(number));
}

/** Where a slider begins and ends and how far apart its values are; null where a slider would not help. */
export function findTrack(node: Node) {
  const floor = Math.max(node.min ?? -Infinity, node.above ?? -Infinity);
  const ceiling = Math.min(node.max ?? Infinity, node.below ?? Infinity);
  if (!Number.isFinite(floor) || !Number.isFinite(ceiling) || ceiling <= floor) return null;
  const isStepped = node.kind === "whole" || node.step !== undefined;
  const step = node.step ?? (isStepped ? 1 : 10 ** Math.floor(Math.log10((ceiling - floor) / 100)));
  // Multiples count from zero; a bound that is itself excluded gives way to the next value.
  let low = isStepped ? tidy(Math.ceil(tidy(floor / step)) * step) : floor;
  let high = isStepped ? tidy(Math.floor(tidy(ceiling / step)) * step) : ceiling;
  if (low === node.above) low = tidy(low + step);
  if (high === node.below) high = tidy(high - step);
  if (!(step > 0) || high <= low || (high - low) / step > MAX_SLIDER_STEPS) return null;
  return { low, high, step: tidy(step) };
}

/** The number one step up or down from a value, within the bounds of a field. */
export function stepFrom(node: Node, value: number, by: number) {
  const track = findTrack(node);
  const next = tidy(value + by * (track?.step ?? node.step ?? (node.kind === "whole" ? 1 : 0.1)));
  return Math.min(Math.max(next, track?.low ?? node.min ?? -Infinity), track?.high ?? node.max ?? Infinity);
}

/** Which way an arrow key steps: 1, -1, or 0 for other keys. */
export function arrowStep({ key, altKey, ctrlKey, metaKey }: KeyboardEvent) {
  return altKey || ctrlKey || metaKey ? 0 : key === "ArrowUp" ? 1 : key === "ArrowDown" ? -1 : 0;
}

// Values inside of values.

/** Whether a value is an object in the sense of JSON. */
export function isObject(value: unknown): value is Record<string, any> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What a new entry begins with. */
export function startOf(node: Node): any {
  if (node.default !== undefined) return structuredClone(node.default);
  switch (node.kind) {
    case "whole":
    case "real":
      return node.min ?? ((node.above ?? -1) >= 0 || (node.below ?? 1) <= 0 || (node.max ?? 0) < 0 ? "" : 0);
    case "check":
      return false;
    case "choice":
      return node.choices?.[0]?.value ?? "";
    case "constant":
      return node.value;
    case "list":
      return [];
    case "object":
      return wholeObject(node, {});
    case "either":
      return startOf(node.forms?.[0] as Node);
    default:
      return "";
  }
}

/** What stands in a list where an entry was emptied: a place in a list cannot be absent. */
export function hollowOf(node: Node) {
  return ["whole", "real", "text", "image"].includes(node.kind) ? "" : startOf({ ...node, default: undefined });
}

/** An object as it is sent: nothing absent, and all that can only be one thing. */
export function wholeObject(node: Node, values: Record<string, any>) {
  const whole = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
  for (const field of node.fields ?? []) {
    const only = field.kind === "constant" ? [field] : (field.kind === "choice" && field.choices) || [];
    if (only.length === 1 && field.required) whole[field.name] ??= only[0].value;
  }
  return whole;
}

/** Whether a form takes a value; what can only be one thing or another says which form is meant. */
export function fits(node: Node, value: any): boolean {
  if (node.kind === "json" || (value === null && node.nullable)) return true;
  if (node.kind === "constant") return isSame(node.value, value);
  if (node.kind === "choice") return (node.choices ?? []).some((choice) => isSame(choice.value, value));
  if (node.kind === "text" || node.kind === "image") return typeof value === "string";
  if (node.kind === "whole") return Number.isInteger(value);
  if (node.kind === "real") return typeof value === "number";
  if (node.kind === "check") return typeof value === "boolean";
  if (node.kind === "list") return Array.isArray(value) && value.every((item) => fits(node.item as Node, item));
  if (node.kind === "either") return (node.forms ?? []).some((form) => fits(form, value));
  if (!isObject(value)) return false;
  const fields = node.fields ?? [];
  if (Object.keys(value).some((name) => !fields.some((field) => field.name === name))) return false;
  return fields.every((field) =>
    value[field.name] === undefined
      ? !field.required
      : !["constant", "choice"].includes(field.kind) || fits(field, value[field.name]),
  );
}

/** What to call one of several forms. */
export function formName(form: Node, outer: Node) {
  if (form.kind === "constant") return textOf(form.value);
  return form.label && form.label !== outer.label ? form.label : KINDS[form.kind];
}

/** Whether a control draws the value at this place inside of its own, so that problems of it stand there. */
export function hasPart(node: Node, value: any, step: string | number): boolean {
  if (node.special === "timeline") return false;
  if (node.kind === "list") return Array.isArray(value) && typeof step === "number" && step < value.length;
  if (node.kind === "object") return (node.fields ?? []).some((field) => field.name === step);
  return node.kind === "either" && (node.forms ?? []).some((form) => fits(form, value) && hasPart(form, value, step));
}

/** The problems of one part of a value, with the rest of their paths. */
export function problemsAt(problems: Problem[], step: string | number): Problem[] {
  return problems.filter(({ at }) => at[0] === step).map((problem) => ({ ...problem, at: problem.at.slice(1) }));
}
