/** What fields are and what may stand in them: kinds, numbers as people write them, values inside of values. */

export type Path = (string | number)[];
export type Problem = { at: Path; words: string; kind: string };
export type Choice = { value: unknown; label: string };

/** One field as Python describes it: see `schema.py`. */
export interface Node {
  name: string;
  label: string;
  kind: "text" | "image" | "whole" | "real" | "check" | "choice" | "list" | "object" | "json";
  /** The control that is drawn where there is a better one than that of its kind. */
  special?: string;
  help?: string;
  required?: boolean;
  folded?: boolean;
  default?: any;
  long?: boolean;
  min?: number;
  max?: number;
  step?: number;
  most?: number;
  choices?: Choice[];
  item?: Node;
  fields?: Node[];
  beside?: any;
  /** An entry of a list, where something always stands. */
  entry?: boolean;
}

/** Whether two JSON values are the same. */
export function isSame(one: unknown, other: unknown) {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** A value in words, as one would type it. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return value === null ? "none" : "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** What an empty input says. */
export function emptyText({ default: usual, required, entry }: Node) {
  if (usual !== undefined && usual !== null) return textOf(usual);
  return required || entry ? "" : "chosen by the service";
}

/**
 * What a typed number is: a number, or what was typed where the page does not know that number exactly. A comma is that of a decimal
 * fraction, as in `0,5`, except where it may set thousands apart, as in `1,000`: whoever means a thousand must not get one.
 */
export function readNumber(text: string): number | string | undefined {
  const typed = text.trim();
  const isFraction = /^[+-]?\d*,\d+$/.test(typed) && !/^[+-]?[1-9]\d{0,2},\d{3}$/.test(typed);
  const number = Number(isFraction ? typed.replace(",", ".") : typed);
  if (typed === "") return undefined;
  return Number.isSafeInteger(number) || (Number.isFinite(number) && !Number.isInteger(number)) ? number : typed;
}

/** Whether a value is an object in the sense of JSON. */
export function isObject(value: unknown): value is Record<string, any> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What a new entry begins with, and what stands in a list where an entry was emptied. */
export function startOf(node: Node): any {
  if (node.kind === "object") return wholeObject(node, {});
  return { list: [], check: false }[node.kind as string] ?? "";
}

/** An object as it is sent: nothing absent, and all that can only be one thing. */
export function wholeObject({ fields = [] }: Node, values: Record<string, any>) {
  const fixed = fields.filter(({ choices, required }) => choices?.length === 1 && required);
  const typed = Object.entries(values).filter(([, value]) => value !== undefined);
  return {
    ...Object.fromEntries(fixed.map(({ name, choices }) => [name, choices?.[0].value])),
    ...Object.fromEntries(typed),
  };
}

/** Whether a control draws the value at this place inside of its own, so that problems of it stand there. */
export function hasPart(node: Node, value: any, step: string | number): boolean {
  if (node.special === "timeline") return false;
  if (node.kind === "list") return Array.isArray(value) && typeof step === "number" && step < value.length;
  return node.kind === "object" && (node.fields ?? []).some((field) => field.name === step);
}

/** The problems of one part of a value, with the rest of their paths. */
export function problemsAt(problems: Problem[], step: string | number): Problem[] {
  return problems.filter(({ at }) => at[0] === step).map((problem) => ({ ...problem, at: problem.at.slice(1) }));
}
