// @ts-check
/** What the kinds of values are, for those that hold others: which form a value has, and what a new entry begins with. */
import { plainIsTyped, plainSame, plainText } from "./form_plain.js";

const NESTED_KINDS = {
  text: "Text", whole: "Whole number", real: "Number", choice: "Choice", check: "On or off", image: "Image",
  list: "List", object: "Object", either: "Several kinds", json: "JSON",
};

/** Whether a value is an object in the sense of JSON. @param {unknown} value @returns {value is Record<string, any>} */
export function nestedIsObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !plainIsTyped(value);
}

/** What a new entry begins with. @param {any} node @returns {any} */
export function nestedStart(node) {
  if (node.default !== undefined) return structuredClone(node.default);
  if (node.kind === "whole" || node.kind === "real") return node.min ?? (node.above >= 0 || node.below <= 0 || node.max < 0 ? "" : 0);
  if (node.kind === "check") return false;
  if (node.kind === "choice") return node.choices[0]?.value ?? "";
  if (node.kind === "constant") return node.value;
  if (node.kind === "list") return [];
  if (node.kind === "object") return nestedWhole(node, {});
  if (node.kind === "either") return nestedStart(node.forms[0]);
  return node.kind === "json" ? { __text__: "" } : "";
}

/** What stands in a list where a row was emptied: a place in a list cannot be absent. @param {any} node */
export function nestedHollow(node) {
  const { kind } = node;
  return kind === "whole" || kind === "real" || kind === "text" || kind === "image" ? "" : nestedStart({ ...node, default: undefined });
}

/** An object as it is sent: nothing absent, and all that must be what it is. @param {any} node @param {Record<string, any>} values */
export function nestedWhole(node, values) {
  const whole = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
  for (const field of node.fields) {
    const only = field.kind === "constant" ? [field.value] : field.kind === "choice" ? field.choices.map((/** @type {any} */ choice) => choice.value) : [];
    if (only.length === 1 && field.required && whole[field.name] === undefined) whole[field.name] = only[0];
  }
  return whole;
}

/** Whether a form takes a value. @param {any} node @param {any} value @returns {boolean} */
export function nestedFits(node, value) {
  if (node.kind === "json" || (value === null && node.nullable)) return true;
  if (node.kind === "constant") return plainSame(node.value, value);
  if (node.kind === "choice") return node.choices.some((/** @type {any} */ choice) => plainSame(choice.value, value));
  if (node.kind === "text" || node.kind === "image") return typeof value === "string";
  const isLong = plainIsTyped(value) && /^-?\d{16,}$/.test(/** @type {any} */ (value).__text__);
  if (node.kind === "whole") return Number.isInteger(value) || isLong;
  if (node.kind === "real") return typeof value === "number" || isLong;
  if (node.kind === "check") return typeof value === "boolean";
  if (node.kind === "list") return Array.isArray(value) && value.every((item) => nestedFits(node.item, item));
  if (node.kind === "either") return node.forms.some((/** @type {any} */ form) => nestedFits(form, value));
  if (!nestedIsObject(value)) return false;
  const names = new Set(node.fields.map((/** @type {any} */ field) => field.name));
  if (Object.keys(value).some((name) => !names.has(name))) return false;
  return node.fields.every((/** @type {any} */ field) => {
    if (value[field.name] === undefined) return !field.required;
    // What can only be one thing or another says which form is meant.
    return !["constant", "choice"].includes(field.kind) || nestedFits(field, value[field.name]);
  });
}

/** What to call a form. @param {any} node @param {any} outer */
export function nestedFormName(node, outer) {
  const { label } = node;
  if (node.kind === "constant") return plainText(node.value);
  return label && label !== outer.label ? label : /** @type {Record<string, string>} */ (NESTED_KINDS)[node.kind] ?? node.kind;
}
