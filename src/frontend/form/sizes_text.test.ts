import { expect, test } from "vitest";
import { sizesPlain, sizesRead, sizesSplit } from "./sizes_text.ts";

test.each(["1080x1920", "1080 × 1920", "1080*1920", " 1080X1920 px ", "01080x1920"])("%s is a size", (text) => {
  expect(sizesRead(text)).toEqual({ width: 1080, height: 1920 });
  expect(sizesPlain(text)).toBe("1080x1920");
});

test.each(["", "1080x", "a boat", "0x10", "999999x1", "30 by 70"])("%j is none, and stays as it was typed", (text) => {
  expect(sizesRead(text)).toBe(null);
  expect(sizesPlain(text)).toBe(text);
});

test.each([
  ["1080x1920, 300×600\n728 * 90", ["1080x1920", "300x600", "728x90"]],
  ["300x600 728x90", ["300x600", "728x90"]],
  ["[(300, 600), (728, 90)]", ["300x600", "728x90"]],
  ['["300x600", "728x90"]', ["300x600", "728x90"]],
  ["300x600\ta boat\n", ["300x600", "a boat"]],
  ["Story, square", ["Story", "square"]],
  ["", []],
])("%j is split into %j", (text, sizes) => expect(sizesSplit(text)).toEqual(sizes));
