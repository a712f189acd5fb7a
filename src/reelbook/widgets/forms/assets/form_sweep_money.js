// @ts-check
/** Credits as they are typed and written. */

const SWEEP_MOST_SPENT = 10 ** 15;

/** @param {number} amount */
export const sweepCredits = (amount) => `${amount.toLocaleString("en")} credit${amount === 1 ? "" : "s"}`;

/** A whole number of at least 0 in an input; null where there is none. @param {HTMLInputElement} input */
export function sweepWhole(input) {
  const text = input.value.trim();
  return /^\d+$/.test(text) && Number(text) <= SWEEP_MOST_SPENT ? Number(text) : null;
}
