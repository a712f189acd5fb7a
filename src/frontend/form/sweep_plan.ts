/** The plan of a sweep: how many runs, what they cost, what cannot run; what it may spend now, and the button that runs it. */
import { copyText } from "../page/copy.ts";
import { made } from "../page/element.ts";
import { makeSweepBest, type SweepRace } from "./sweep_best.ts";
import { makeSweepSpend, sweepAffordable, sweepCredits, sweepWhole } from "./sweep_spend.ts";

export type SweepPlan = {
  number: number;
  line: string;
  runs: number;
  possible: number;
  due: number;
  about: boolean;
  unpriced: number;
  costs: [number, number | null, number][];
  balance: number | null;
  impossible: string[];
  notes: string[];
  head: string[];
  numbers: boolean[];
  rows: { cells: string[]; credits: string; why?: string }[];
  more: number;
  race: SweepRace | Record<string, never>;
};

// The kernel says it in the same words.
const SWEEP_MAKING = "Planning …";

/** The first runs, with what each costs. */
function sweepTable(link: any, plan: SweepPlan) {
  const labels = plan.head.map((name) => link.node(name)?.label ?? name);
  const side = (place: number) => (plan.numbers[place] ? "rbf-sweep-number" : null);
  const head = made(
    "tr",
    {},
    made("th", { scope: "col", class: "rbf-sweep-number", text: "run" }),
    ...labels.map((text, place) => made("th", { scope: "col", class: side(place), text })),
    made("th", { scope: "col", class: "rbf-sweep-number", text: "credits" }),
  );
  const rows = plan.rows.map((row, place) =>
    made(
      "tr",
      {},
      made("td", { class: "rbf-sweep-number", text: String(place) }),
      ...row.cells.map((text, at) => made("td", { class: side(at) }, made("bdi", { text }))),
      made("td", { class: "rbf-sweep-number", text: row.credits, title: row.why ?? null }),
    ),
  );
  return made("table", { class: "rbf-sweep-table" }, made("thead", {}, head), made("tbody", {}, ...rows));
}

export function makeSweepPlan(
  link: any,
  name: string,
  { isSettled, say, pressed: started }: { isSettled: () => boolean; say: (words: string) => void; pressed: () => void },
) {
  const model = link.model;
  const line = made("p", { class: "rbf-sweep-line" });
  const notes = made("ul", { class: "rbf-sweep-notes" });
  const summary = made("summary", {});
  const table = made("div", { class: "rbf-sweep-scroll", tabindex: "0", role: "region", "aria-label": "First runs" });
  const first = made("details", { class: "rbf-sweep-first" }, summary, table);
  const spend = makeSweepSpend(`${name}-spend`, `${name}-sweep-why`, (isDone) => {
    if (isDone) link.ask({ do: "sweep_limit", limit: spend.typed() });
    update();
  });
  const price = made("input", { type: "number", min: "0", step: "1", id: `${name}-price`, class: "rbf-sweep-budget" });
  const priced = made(
    "span",
    { class: "rbf-sweep-pair" },
    made("label", { for: price.id, text: "At most per run" }),
    price,
  );
  const run = made("button", { type: "button", class: "rbf-primary", "aria-describedby": `${name}-sweep-why` });
  const copy = made("button", {
    type: "button",
    class: "rbf-quiet",
    text: "Copy code",
    title: "Python code for the same sweep",
  });
  const why = made("p", { class: "rbf-caption rbf-sweep-why", id: `${name}-sweep-why` });
  const best = makeSweepBest(link, name, {
    plan: () => currentPlan(),
    stops: (plan) => blocked(plan),
    due: (plan) => due(plan),
    price: () => money(),
    start: (message) => start(message),
  });
  const pay = made("div", { class: "rbf-row" }, priced, spend.el, run, best.button, copy);
  const el = made("div", { class: "rbf-sweep-plan" }, line, notes, first, pay, why, best.el);
  let drawn = "",
    said = "",
    pressed = 0,
    asked = "";
  const kept = model.get("sweeps").limit ?? null;
  if (kept !== null) spend.take(kept);
  line.hidden = notes.hidden = first.hidden = pay.hidden = true;

  const currentPlan = (): SweepPlan | null => {
    const { plan } = model.get("sweeps");
    return plan?.number ? plan : null;
  };
  const isCurrent = () => isSettled() && link.isHeard && !link.hasEnded;
  /** The most that one run may cost, where its price is unknown. */
  const money = (): { price?: number | null } => (priced.hidden ? {} : { price: sweepWhole(price) });
  const start = (message: any) => {
    pressed = message.plan;
    said = "";
    started();
    link.ask(message);
    update();
  };

  /** Why nothing can be started now, for whatever amount. */
  const blocked = (plan: SweepPlan | null) => {
    const sweeps = model.get("sweeps");
    if (!isSettled()) return SWEEP_MAKING;
    if (!plan) return sweeps.why ?? "Choose a field and its values.";
    if (!link.isHeard) return "The form has changed; planning …";
    if (sweeps.started || pressed === plan.number || !plan.possible) return sweeps.why || "Starting …";
    if (!priced.hidden && sweepWhole(price) === null)
      return "The price of these runs is unknown. Set the most that one run may cost.";
    return "";
  };

  /** Why it cannot be run now; empty where it can. */
  const reason = (plan: SweepPlan | null) => {
    const stops = blocked(plan);
    if (stops || !plan) return stops;
    const most = limit();
    if (most === null) return "Spend a whole number of credits, or 0.";
    if (!plan.runs || plan.runs < plan.possible || affordable(plan, most).runs) return "";
    if (isBeyond(plan))
      return `Your account has ${sweepCredits(plan.balance ?? 0)}: enough for none of these runs. All of them need ${sweepCredits(due(plan))}.`;
    // The kernel says it in the same words.
    return `With ${sweepCredits(most)} none of these runs can be paid for. All of them need ${sweepCredits(due(plan))}.`;
  };

  const limit = () => spend.limit(currentPlan()?.balance ?? null);
  const affordable = (plan: SweepPlan, most: number) => sweepAffordable(plan, most, sweepWhole(price) ?? 0);
  /** Whether more is wanted than the account has. */
  const isBeyond = (plan: SweepPlan) =>
    plan.balance !== null && plan.balance < Math.min(due(plan), spend.isOwn ? (spend.typed() ?? 0) : Infinity);

  /** What the runs cost that the library lacks. */
  const due = (plan: SweepPlan) => plan.due + plan.unpriced * (sweepWhole(price) ?? 0);

  /** What an amount comes to. */
  const remark = (plan: SweepPlan, most: number) => {
    const all = due(plan),
      found = plan.possible - plan.runs,
      pays = affordable(plan, most).runs;
    if (!plan.runs)
      return `All ${plan.possible === 1 ? "of it is" : `${plan.possible.toLocaleString("en")} runs are`} in the library: paid earlier, nothing now.`;
    const part = `${pays ? pays.toLocaleString("en") : "none"} of ${plan.runs.toLocaleString("en")} runs`;
    if (isBeyond(plan))
      return `Your account has ${sweepCredits(plan.balance ?? 0)}: enough for ${part}.${asked === question(plan) ? " Press again to run that." : ""}`;
    if (!pays)
      return `With ${sweepCredits(most)} only the ${found.toLocaleString("en")} in the library are shown. The others need ${sweepCredits(all)}.`;
    if (pays < plan.runs) return `Enough for ${part}. All of them need ${sweepCredits(all)}; run it again to continue.`;
    return "No more than this is spent.";
  };

  /** What a press is asked about once. */
  const question = (plan: SweepPlan) => `${plan.number} ${limit()}`;

  /** All figures of a plan; without one no figure of an earlier one stays. */
  const figure = (plan: SweepPlan | null) => {
    for (const part of [line, notes]) part.hidden = !plan;
    first.hidden = !plan?.rows.length;
    pay.hidden = !drawn;
    spend.propose(plan && Math.min(due(plan), plan.balance ?? Infinity));
    const label = plan ? labelled(plan, limit()) : "Run";
    if (run.textContent !== label) run.textContent = label;
  };

  /** What the button does and costs. */
  const labelled = (plan: SweepPlan, most: number | null) => {
    const found = plan.possible - plan.runs,
      all = plan.runs.toLocaleString("en");
    if (most === null) return `Run ${all}`;
    const { runs, cost } = affordable(plan, most);
    if (found && !runs) return `Show ${found.toLocaleString("en")} from the library`;
    if (!runs) return `Run none of ${all}`;
    const does = runs < plan.runs ? `Run ${runs.toLocaleString("en")} of ${all}` : `Run ${all}`;
    return `${does} · ${plan.about && !plan.unpriced ? "≈ " : ""}${sweepCredits(cost)}`;
  };

  const update = () => {
    const plan = currentPlan();
    const text = JSON.stringify(plan);
    if (plan && text !== drawn) draw(plan);
    if (plan) drawn = text;
    el.classList.toggle("rbf-sweep-old", !plan || !isCurrent());
    const isMaking = !link.hasEnded && (!isSettled() || model.get("sweeps").why === SWEEP_MAKING);
    // For the moment in which another plan is made, what is there only pales: nothing jumps at every key.
    if (!isMaking) figure(link.hasEnded ? null : plan);
    const stops = reason(plan);
    run.setAttribute("aria-disabled", String(!!stops || link.hasEnded));
    copy.disabled = !plan || !isCurrent();
    best.update();
    const words = [said, stops || (plan ? remark(plan, limit() ?? 0) : "")]
      .filter((one, place, all) => one && all.indexOf(one) === place)
      .join(" ");
    // That the kernel has ended is said above, once for all of the form.
    if (link.hasEnded) why.textContent = "";
    else if (why.textContent !== words) why.textContent = words;
    if (!link.hasEnded) say(plan ? (stops && !said ? `${plan.line}. ${stops}` : plan.line) : words);
  };

  const draw = (plan: SweepPlan) => {
    line.textContent = plan.line;
    notes.replaceChildren(
      ...plan.impossible.map((text) => made("li", { class: "rbf-problem", text })),
      ...plan.notes.map((text) => made("li", { class: "rbf-caption", text: `Note: ${text}` })),
    );
    summary.textContent = plan.more
      ? `First ${plan.rows.length} runs, ${plan.more.toLocaleString("en")} more`
      : plan.rows.length === 1
        ? "The run"
        : `All ${plan.rows.length} runs`;
    table.replaceChildren(sweepTable(link, plan));
    priced.hidden = !plan.unpriced;
  };

  price.addEventListener("input", () => update());
  run.addEventListener("click", () => {
    link.flush();
    const plan = currentPlan();
    // Only the plan that is in view: what was typed since makes another one.
    if (!plan || link.hasEnded || reason(plan)) return update();
    if (isBeyond(plan) && affordable(plan, limit() ?? 0).runs && asked !== question(plan)) {
      asked = question(plan);
      say(remark(plan, limit() ?? 0));
      return update();
    }
    return start({ do: "sweep_run", plan: plan.number, spend: limit(), ...money() });
  });
  copy.addEventListener("click", () => {
    link.flush();
    const plan = currentPlan();
    if (plan) link.ask({ do: "sweep_code", plan: plan.number, spend: limit(), ...money() });
  });
  const off = link.on("sweep_code", (content: any) => {
    if (content.sweep_code) copyText(content.by ? best.copy : copy, content.sweep_code);
    else setMessage(content.why);
  });

  /** Words that stay until somebody does something. */
  const setMessage = (words: string) => {
    said = words;
    pressed = 0;
    update();
  };
  /** Something was typed: what was said of the plan before is over. */
  const changed = () => {
    said = "";
    update();
  };
  return { el, update, changed, say: setMessage, dispose: off };
}
