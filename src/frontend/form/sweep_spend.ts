/** The amount that a sweep may spend: what is proposed until somebody types another, and no more than the account has. */
import { made } from "../page/element.ts";

const SWEEP_MOST_SPENT = 10 ** 15;

export const sweepCredits = (amount: number) => `${amount.toLocaleString("en")} credit${amount === 1 ? "" : "s"}`;

/** A whole number of at least 0 in an input; null where there is none. */
export function sweepWhole(input: HTMLInputElement) {
  const text = input.value.trim();
  return /^\d+$/.test(text) && Number(text) <= SWEEP_MOST_SPENT ? Number(text) : null;
}

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

/**
 * @param why The id of the words about it.
 * @param changed Called when another amount was typed; `isDone` when the field is left.
 */
export function makeSweepSpend(id: string, why: string, changed: (isDone: boolean) => void) {
  const input = made("input", {
    type: "number",
    min: "0",
    step: "1",
    id,
    class: "rbf-sweep-budget",
    "aria-describedby": why,
  });
  const spend = {
    el: made(
      "span",
      { class: "rbf-sweep-pair" },
      made("label", { for: id, text: "Spend at most" }),
      input,
      made("span", { class: "rbf-caption", text: "credits now" }),
    ),
    isOwn: false,
    /** What stands there; null where no amount is typed. */
    typed: () => sweepWhole(input),
    /** The same, and no more than the account has. */
    limit: (balance: number | null) => {
      const most = sweepWhole(input);
      return most === null ? null : Math.min(most, balance ?? most);
    },
    /** What stays, also on a page that comes back. */
    take: (amount: number) => {
      spend.isOwn = true;
      input.value = String(amount);
    },
    propose: (amount: number | null) => {
      if (!spend.isOwn) input.value = amount === null ? "" : String(amount);
    },
  };
  input.addEventListener("input", () => {
    spend.isOwn = true;
    changed(false);
  });
  // Left empty it is what is proposed.
  input.addEventListener("change", () => {
    spend.isOwn = input.value.trim() !== "";
    changed(true);
  });
  return spend;
}
