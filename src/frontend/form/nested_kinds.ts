/** What the kinds of values are, for those that hold others: which form a value has, and what a new entry begins with. */
import { plainIsTyped, plainSame, plainText } from "./plain.ts";

const NESTED_KINDS = {
  text: "Text",
  whole: "Whole number",
  real: "Number",
  choice: "Choice",
  check: "On or off",
  image: "Image",
  list: "List",
  object: "Object",
  either: "Several kinds",
  json: "JSON",
};

/** Whether a value is an object in the sense of JSON. */
export function nestedIsObject(value: unknown): value is Record<string, any> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !plainIsTyped(value);
}

/** What a new entry begins with. */
export function nestedStart(node: any): any {
  if (node.default !== undefined) return structuredClone(node.default);
  if (node.kind === "whole" || node.kind === "real")
    return node.min ?? (node.above >= 0 || node.below <= 0 || node.max < 0 ? "" : 0);
  if (node.kind === "check") return false;
  if (node.kind === "choice") return node.choices[0]?.value ?? "";
  if (node.kind === "constant") return node.value;
  if (node.kind === "list") return [];
  if (node.kind === "object") return nestedWhole(node, {});
  if (node.kind === "either") return nestedStart(node.forms[0]);
  return node.kind === "json" ? { __text__: "" } : "";
}

/** What stands in a list where a row was emptied: a place in a list cannot be absent. */
export function nestedHollow(node: any) {
  const { kind } = node;
  return kind === "whole" || kind === "real" || kind === "text" || kind === "image"
    ? ""
    : nestedStart({ ...node, default: undefined });
}

/** An object as it is sent: nothing absent, and all that must be what it is. */
export function nestedWhole(node: any, values: Record<string, any>) {
  const whole = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
  for (const field of node.fields) {
    const only =
      field.kind === "constant"
        ? [field.value]
        : field.kind === "choice"
          ? field.choices.map((choice: any) => choice.value)
          : [];
    if (only.length === 1 && field.required && whole[field.name] === undefined) whole[field.name] = only[0];
  }
  return whole;
}

/** Whether a form takes a value. */
export function nestedFits(node: any, value: any): boolean {
  if (node.kind === "json" || (value === null && node.nullable)) return true;
  if (node.kind === "constant") return plainSame(node.value, value);
  if (node.kind === "choice") return node.choices.some((choice: any) => plainSame(choice.value, value));
  if (node.kind === "text" || node.kind === "image") return typeof value === "string";
  const isLong = plainIsTyped(value) && /^-?\d{16,}$/.test((value as any).__text__);
  if (node.kind === "whole") return Number.isInteger(value) || isLong;
  if (node.kind === "real") return typeof value === "number" || isLong;
  if (node.kind === "check") return typeof value === "boolean";
  if (node.kind === "list") return Array.isArray(value) && value.every((item) => nestedFits(node.item, item));
  if (node.kind === "either") return node.forms.some((form: any) => nestedFits(form, value));
  if (!nestedIsObject(value)) return false;
  const names = new Set(node.fields.map((field: any) => field.name));
  if (Object.keys(value).some((name) => !names.has(name))) return false;
  return node.fields.every((field: any) => {
    if (value[field.name] === undefined) return !field.required;
    // What can only be one thing or another says which form is meant.
    return !["constant", "choice"].includes(field.kind) || nestedFits(field, value[field.name]);
  });
}

/** What to call a form. */
export function nestedFormName(node: any, outer: any) {
  const { label } = node;
  if (node.kind === "constant") return plainText(node.value);
  return label && label !== outer.label ? label : ((NESTED_KINDS as Record<string, string>)[node.kind] ?? node.kind);
}
