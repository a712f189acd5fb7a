// @ts-check
/** Numbers as people write them. */

/**
 * The text with a point, where its comma can only be that of a decimal fraction, as in `0,5`. One that may set thousands apart, as in
 * `1,000`, stays as it is: whoever means a thousand must not get one.
 * @param {string} typed
 */
export function numberPointed(typed) {
  const isFraction = /^[+-]?\d*,\d+$/.test(typed) && !/^[+-]?[1-9]\d{0,2},\d{3}$/.test(typed);
  return isFraction ? typed.replace(",", ".") : typed;
}
