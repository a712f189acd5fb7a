/** Numbers as people write them. */

/**
 * The text with a point, where its comma can only be that of a decimal fraction, as in `0,5`. One that may set thousands apart, as in
 * `1,000`, stays as it is: whoever means a thousand must not get one.
 */
export function numberPointed(typed: string) {
  const isFraction = /^[+-]?\d*,\d+$/.test(typed) && !/^[+-]?[1-9]\d{0,2},\d{3}$/.test(typed);
  return isFraction ? typed.replace(",", ".") : typed;
}

/** What a typed number is: a number, the digits where it is too long for one, what was typed where it is none. */
export function numberRead(text: string): number | string | undefined {
  const typed = numberPointed(text.trim());
  if (typed === "") return undefined;
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(typed)) return typed;
  const number = Number(typed);
  if (Number.isSafeInteger(number) || (Number.isFinite(number) && !Number.isInteger(number))) return number + 0;
  return /^[+-]?\d+$/.test(typed) ? String(BigInt(typed.replace("+", ""))) : typed;
}
