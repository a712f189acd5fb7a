/** Find the best: the settings of a plan raced by a measure, for a part of what all runs cost. */
import { made } from "../page/element.ts";
import { sweepCodeBox } from "./sweep_code.ts";
import { sweepCredits, sweepWhole } from "./sweep_money.ts";

export type SweepRace = {
  settings: number;
  repeats: number;
  least: number;
  fair: number;
  measures: { value: string; label: string; meaning: string; fact: boolean }[];
};

const SWEEP_SHARE = 0.4;

/** The button that opens the row, and the row. */
export function makeSweepBest(
  link: any,
  name: string,
  to: {
    plan: () => any;
    stops: (plan: any) => string;
    due: (plan: any) => number;
    price: () => Record<string, number | null>;
    start: (plan: any) => void;
  },
) {
  const by = made("select", { id: `${name}-by`, class: "rbf-sweep-by", "aria-describedby": `${name}-by-meaning` });
  const spend = made("input", {
    type: "number",
    min: "0",
    step: "1",
    id: `${name}-best-spend`,
    class: "rbf-sweep-budget",
    "aria-describedby": `${name}-best-why`,
  });
  const start = made("button", { type: "button", class: "rbf-primary", "aria-describedby": `${name}-best-why` });
  const copy = made("button", {
    type: "button",
    class: "rbf-quiet",
    text: "Copy code",
    title: "Python code for the same race",
    "aria-label": "Copy code that finds the best",
  });
  const meaning = made("p", { class: "rbf-caption", id: `${name}-by-meaning` });
  const facts = made("p", { class: "rbf-caption" });
  const why = made("p", { class: "rbf-caption", id: `${name}-best-why` });
  const code = sweepCodeBox();
  const el = made(
    "div",
    { class: "rbf-sweep-best", id: `${name}-best`, role: "group", "aria-label": "Find the best", hidden: true },
    facts,
    made(
      "div",
      { class: "rbf-row" },
      made("span", { class: "rbf-sweep-pair" }, made("label", { for: by.id, text: "Judged by" }), by),
    ),
    meaning,
    made(
      "div",
      { class: "rbf-row" },
      made(
        "span",
        { class: "rbf-sweep-pair" },
        made("label", { for: spend.id, text: "Spend at most" }),
        spend,
        made("span", { class: "rbf-caption", text: "credits now" }),
      ),
      start,
      copy,
    ),
    why,
    code.el,
  );
  const button = made("button", {
    type: "button",
    text: "Find the best…",
    title: "Decide which setting is the best, with fewer runs",
    "aria-expanded": "false",
    "aria-controls": el.id,
    hidden: true,
  });
  let isOpen = false,
    isOwn = false,
    listed = "";

  const money = () => ({ by: by.value, spend: limit(), ...to.price() });
  /** What may be spent: what was typed or proposed, and no more than the account has; null where no amount is typed. */
  const limit = () => {
    const most = sweepWhole(spend);
    return most === null ? null : Math.min(most, to.plan()?.balance ?? most);
  };
  const least = (plan: any) => plan.race.least + (plan.unpriced ? 2 * (to.price().price ?? 0) : 0);
  const fair = (plan: any) => plan.race.fair + (plan.unpriced ? 2 * plan.race.settings * (to.price().price ?? 0) : 0);
  const proposed = (plan: any) =>
    Math.min(Math.max(Math.round(SWEEP_SHARE * to.due(plan)), fair(plan)), to.due(plan), plan.balance ?? Infinity);

  /** Why it cannot start now; empty where it can. */
  const reason = (plan: any) => {
    const stops = to.stops(plan);
    if (stops) return stops;
    const most = limit();
    if (most === null) return "Spend a whole number of credits, or 0.";
    if (most < least(plan) && most === plan.balance)
      return `Your account has ${sweepCredits(most)}; one run of two settings costs ${sweepCredits(least(plan))}.`;
    return most < least(plan) ? `One run of two settings costs ${sweepCredits(least(plan))}; spend at least that.` : "";
  };
  /** What an amount comes to. */
  const remark = (plan: any, most: number) => {
    const all = to.due(plan);
    if (most < fair(plan))
      return `This pays for fewer than two runs of each setting, which can hardly decide: ${sweepCredits(fair(plan))} would.`;
    return all
      ? `Costs at most ${most.toLocaleString("en")} of ${sweepCredits(all)}. Stops when it is 95% sure.`
      : "All of its runs are in the library: paid earlier, nothing now.";
  };
  const list = (race: SweepRace) => {
    const key = JSON.stringify(race.measures);
    if (key === listed) return;
    listed = key;
    const was = by.value;
    const options = (isFact: boolean) =>
      race.measures
        .filter((one) => one.fact === isFact && one.value !== "eye")
        .map((one) => made("option", { value: one.value, text: one.label }));
    by.replaceChildren(
      made("optgroup", { label: "Measured in the pictures" }, ...options(false)),
      made("optgroup", { label: "Facts of the file" }, ...options(true)),
      ...race.measures
        .filter((one) => one.value === "eye")
        .map((one) => made("option", { value: one.value, text: one.label })),
    );
    if (race.measures.some((one) => one.value === was)) by.value = was;
  };

  const update = () => {
    const plan = to.plan();
    const race = (plan?.race?.settings ? plan.race : null) as SweepRace | null;
    // While another plan is made, what is there stays.
    if (plan) button.hidden = !race;
    el.hidden = !isOpen || button.hidden;
    button.setAttribute("aria-expanded", String(!el.hidden));
    if (race && !isOwn) spend.value = String(proposed(plan));
    start.setAttribute("aria-disabled", String(!race || !!reason(plan) || link.hasEnded));
    copy.disabled = !race || link.hasEnded;
    if (!race) return;
    list(race);
    const once = race.repeats < 2 ? " With one run of each, luck cannot be told from merit: add a few seeds." : "";
    const words = `${race.settings.toLocaleString("en")} settings are compared, each with several seeds and prompts where the plan has them.${once}`;
    if (facts.textContent !== words) facts.textContent = words;
    const gauge = race.measures.find((one) => one.value === by.value)?.meaning ?? "";
    if (meaning.textContent !== gauge) meaning.textContent = gauge;
    const most = limit();
    const label = most === null ? "Start" : `Start · at most ${sweepCredits(most)}`;
    if (start.textContent !== label) start.textContent = label;
    const remarks = link.hasEnded ? "" : reason(plan) || remark(plan, most ?? 0);
    if (why.textContent !== remarks) why.textContent = remarks;
  };

  button.addEventListener("click", () => {
    isOpen = !isOpen;
    update();
    if (isOpen) by.focus();
  });
  by.addEventListener("change", update);
  spend.addEventListener("input", () => {
    isOwn = true;
    update();
  });
  // Left empty it is what is proposed.
  spend.addEventListener("change", () => {
    isOwn = spend.value.trim() !== "";
    update();
  });
  start.addEventListener("click", () => {
    link.flush();
    const plan = to.plan();
    // Only the plan that is in view: what was typed since makes another one.
    if (!plan?.race?.settings || link.hasEnded || reason(plan)) return update();
    to.start(plan);
    link.ask({ do: "sweep_run", plan: plan.number, ...money() });
    return update();
  });
  copy.addEventListener("click", () => {
    link.flush();
    const plan = to.plan();
    if (plan) link.ask({ do: "sweep_code", plan: plan.number, ...money() });
  });
  return { el, button, update, showCode: code.show };
}
