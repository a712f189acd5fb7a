import { expect, test } from "vitest";
import { hasPart, type Node, readNumber, startOf, wholeObject } from "./values.ts";

test.each([
  ["7", 7],
  [" 0 ", 0],
  ["-3", -3],
  ["", undefined],
  ["1.50", 1.5],
  ["0,5", 0.5],
  ["-12,25", -12.25],
  ["1,000", "1,000"],
  ["12,345", "12,345"],
  ["1e3", 1000],
  ["9007199254740991", 9007199254740991],
  ["9007199254740993", "9007199254740993"],
  ["+99999999999999999999", "+99999999999999999999"],
  ["many", "many"],
])("a number is read as people write it: %s", (typed, value) => {
  expect(readNumber(typed)).toBe(value);
});

const node = (kind: Node["kind"], more: Partial<Node> = {}): Node => ({ name: "", label: "", kind, ...more });
const point = node("object", {
  fields: [
    node("choice", { name: "type", choices: [{ value: "point", label: "point" }], required: true }),
    node("real", { name: "x", min: 1 }),
  ],
});

test("an object has what it can only have, and begins with nothing else", () => {
  expect(startOf(node("list"))).toEqual([]);
  expect(startOf(point)).toEqual({ type: "point" });
  expect(wholeObject(point, { x: undefined, type: "box" })).toEqual({ type: "box" });
});

test("a problem stands at the innermost part that is drawn", () => {
  expect(hasPart(point, { type: "point" }, "x")).toBe(true);
  expect(hasPart(node("list", { item: point }), [{}], 1)).toBe(false);
  expect(hasPart(node("json"), "{}", "x")).toBe(false);
});
