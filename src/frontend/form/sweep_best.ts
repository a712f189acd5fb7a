/** Find the best: the settings of a plan raced by a measure, for a part of what all runs cost. */
import { made } from "../page/element.ts";
import { quietButton } from "./quiet.ts";
import { makeSweepSpend, sweepCredits } from "./sweep_spend.ts";

export type SweepRace = {
  settings: number;
  repeats: number;
  least: number;
  fair: number;
  measures: { value: string; label: string; meaning: string }[];
};

const SWEEP_SHARE = 0.4;

/** The button that opens the row, and the row. @param to What the plan says, and what starts it. */
export function makeSweepBest(
  link: any,
  name: string,
  to: {
    plan: () => any;
    stops: (plan: any) => string;
    due: (plan: any) => number;
    price: () => { price?: number | null };
    start: (message: any) => void;
  },
) {
  const [by, whyId] = [made("select", { id: `${name}-by`, class: "rbf-sweep-by" }), `${name}-best-why`];
  const spend = makeSweepSpend(`${name}-best-spend`, whyId, () => update());
  const start = made("button", { type: "button", class: "rbf-primary", "aria-describedby": whyId });
  const copy = quietButton("Copy code", () => send("sweep_code"), { "aria-label": "Copy code that finds the best" });
  const [facts, meaning] = [made("p", { class: "rbf-caption" }), made("p", { class: "rbf-caption" })];
  const why = made("p", { class: "rbf-caption", id: whyId });
  const el = made(
    "div",
    { class: "rbf-sweep-best", id: `${name}-best`, role: "group", "aria-label": "Find the best", hidden: true },
    facts,
    made("div", { class: "rbf-sweep-pair" }, made("label", { for: by.id, text: "Judged by" }), by),
    meaning,
    made("div", { class: "rbf-row" }, spend.el, start, copy),
    why,
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
    listed = "";

  const find = () => {
    const plan = to.plan();
    return plan?.race?.settings ? plan : null;
  };
  const each = (plan: any) => (plan.unpriced ? 2 * (to.price().price ?? 0) : 0);
  const least = (plan: any) => plan.race.least + each(plan);
  const fair = (plan: any) => plan.race.fair + each(plan) * plan.race.settings;

  /** Why it cannot start now; empty where it can. */
  const reason = (plan: any) => {
    const stops = to.stops(plan),
      most = spend.limit(plan.balance);
    if (stops) return stops;
    if (most === null) return "Spend a whole number of credits, or 0.";
    return most < least(plan)
      ? `One run of two settings costs ${sweepCredits(least(plan))}; this pays for ${sweepCredits(most)}.`
      : "";
  };
  /** What an amount comes to. */
  const remark = (plan: any) => {
    const [all, most] = [to.due(plan), spend.limit(plan.balance) ?? 0];
    if (most < fair(plan))
      return `This pays for fewer than two runs of each setting, which can hardly decide: ${sweepCredits(fair(plan))} would.`;
    return all
      ? `Costs at most ${most.toLocaleString("en")} of ${sweepCredits(all)}. Stops when it is 95% sure.`
      : "All of its runs are in the library: paid earlier, nothing now.";
  };
  const list = (race: SweepRace) => {
    const key = JSON.stringify(race.measures),
      was = by.value;
    if (key === listed) return;
    listed = key;
    by.replaceChildren(...race.measures.map(({ value, label }) => made("option", { value, text: label })));
    if (race.measures.some((one) => one.value === was)) by.value = was;
  };

  const update = () => {
    const plan = find();
    // While another plan is made, what is there stays.
    if (to.plan()) button.hidden = !plan;
    el.hidden = !isOpen || button.hidden;
    button.setAttribute("aria-expanded", String(!el.hidden));
    if (plan)
      spend.propose(
        Math.min(
          Math.max(Math.round(SWEEP_SHARE * to.due(plan)), fair(plan)),
          to.due(plan),
          plan.balance ?? Number.POSITIVE_INFINITY,
        ),
      );
    start.setAttribute("aria-disabled", String(!plan || !!reason(plan) || link.hasEnded));
    copy.setAttribute("aria-disabled", String(!plan || link.hasEnded));
    if (!plan) return;
    const race: SweepRace = plan.race;
    list(race);
    const once = race.repeats < 2 ? " With one run of each, luck cannot be told from merit: add a few seeds." : "";
    const most = spend.limit(plan.balance);
    facts.textContent = `${race.settings.toLocaleString("en")} settings are compared, each with several seeds and prompts where the plan has them.${once}`;
    meaning.textContent = race.measures.find((one) => one.value === by.value)?.meaning ?? "";
    start.textContent = most === null ? "Start" : `Start · at most ${sweepCredits(most)}`;
    why.textContent = link.hasEnded ? "" : reason(plan) || remark(plan);
  };

  const send = (what: "sweep_run" | "sweep_code") => {
    link.flush();
    const plan = find();
    // Only the plan that is in view: what was typed since makes another one.
    if (!plan || link.hasEnded || reason(plan)) return update();
    const message = {
      do: what,
      plan: plan.number,
      by: by.value,
      spend: spend.limit(plan.balance),
      ...to.price(),
    };
    if (what === "sweep_run") to.start(message);
    else link.ask(message);
    return update();
  };
  button.addEventListener("click", () => {
    isOpen = !isOpen;
    update();
    if (isOpen) by.focus();
  });
  by.addEventListener("change", update);
  start.addEventListener("click", () => send("sweep_run"));
  return { el, button, copy, update };
}
