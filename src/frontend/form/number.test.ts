import { expect, test } from "vitest";
import { numberRead } from "./number.ts";

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
  ["+99999999999999999999", "99999999999999999999"],
  ["many", "many"],
])("a number is read as people write it: %s", (typed, value) => {
  expect(numberRead(typed)).toBe(value);
});
