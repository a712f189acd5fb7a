/** Credits as they are typed and written. */

const SWEEP_MOST_SPENT = 10 ** 15;

export const sweepCredits = (amount: number) => `${amount.toLocaleString("en")} credit${amount === 1 ? "" : "s"}`;

/**
 * How many runs an amount pays for, in the order in which they are sent, and what they cost: the first that does not fit is the end.
 * @param price that of a run without one
 */
export function sweepAffordable({ costs }: { costs: [number, number | null, number][] }, most: number, price: number) {
  let runs = 0,
    cost = 0;
  for (const [rows, own, count] of costs) {
    const each = own ?? price,
      paid = each ? Math.min(count, Math.floor((most - cost) / each)) : count;
    runs += rows * paid;
    cost += each * paid;
    if (paid < count) break;
  }
  return { runs, cost };
}

/** A whole number of at least 0 in an input; null where there is none. */
export function sweepWhole(input: HTMLInputElement) {
  const text = input.value.trim();
  return /^\d+$/.test(text) && Number(text) <= SWEEP_MOST_SPENT ? Number(text) : null;
}
