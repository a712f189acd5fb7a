/** The sweep of a form: which fields vary, what all combinations cost, and what may be spent; the kernel plans and prices. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { copyText } from "../page/copy.ts";
import { Drawn } from "./card.tsx";
import { useNews } from "./kernel.ts";
import type { FormLink } from "./link.ts";
import { classes, Primary, Quiet } from "./ui.tsx";
import type { Node } from "./values.ts";

type Row = { name: string; typed?: any };
type Axis = { name: string; typed: any; told: string; words: string; empty: boolean };
/** What may be spent on a sweep or a race, and what the button says. */
type Offer = { spend?: number; cost?: number; label?: string; ready?: boolean; why?: string };

const PAUSE = 150; // Long enough for the next letter of a number; a plan takes longer than a price.
const MAKING = "Planning …";
const FEW = 24; // So many choices stand beside one another.
const NO_AMOUNT = "Spend a whole number of credits, or 0.";
const NUMBERS = "9, 49, 97 or 0-7 or 9 to 97 step 8";
const HINTS: Record<string, string> = {
  whole: NUMBERS,
  real: NUMBERS,
  text: "One per line",
  choice: "One per line",
  image: "One URL per line",
};
const YES_NO = [
  { value: false, label: "no" },
  { value: true, label: "yes" },
];

const canVary = ({ kind, choices = [] }: Node) => kind !== "constant" && (kind !== "choice" || choices.length > 1);
/** The amount that was typed; null where that is none, or nothing. */
const parseWhole = (text: string) => (/^\d{1,15}$/.test(text.trim()) ? Number(text) : null);

/** For which field it was opened; `isKept` where nobody did so here: it was open already. */
export type Opening = { field?: string; isKept?: boolean };

interface SweepProps {
  link: FormLink;
  name: string;
  opened: Opening | null;
  open: (opened: Opening | null) => void;
}

export function Sweep({ link, name, opened, open }: SweepProps) {
  const { model } = link;
  const nodes: Node[] = model.get("sheet").fields.filter(canVary);
  const plan = model.get("sweeps");
  const isOpen = !!opened;
  const [rows, setRows] = useState<Row[]>([]);
  /** What was typed: empty where what the kernel proposes holds. */
  const [typed, setTyped] = useState({ spend: "", best: "", price: "", by: "" });
  const [isBestOpen, openBest] = useState(false);
  const [said, say] = useState("");
  /** The numbers of the last change here, of that to which the kernel has answered, and of the plan that was started. */
  const [number, count] = useState(0);
  const [answered, answer] = useState(0);
  const [pressed, press] = useState(0);
  const view = useRef<HTMLElement>(null);
  /** What takes the focus once it is drawn. */
  const next = useRef("");
  const html = useRef("");

  const change = (now: Row[], amounts = typed) => {
    setRows(now);
    setTyped(amounts);
    say("");
    count(number + 1);
  };
  const take = (at: number, row: Row) => change(rows.map((old, index) => (index === at ? row : old)));
  const begin = (now: Row[], at: number) => {
    setRows(now);
    next.current = `[data-row="${at}"] ${now[at].name ? ":is(input, textarea)" : "select"}`;
  };
  const remove = (at: number) => {
    const left = rows.filter((_, index) => index !== at);
    change(left);
    next.current = left.length
      ? `[data-row="${Math.min(at, left.length - 1)}"] :is(input, textarea, select)`
      : "[data-do=add]";
  };
  useLayoutEffect(() => {
    const isNamed = rows.some((row) => row.name);
    // What is closed costs nothing: no plan is made for it.
    if (!opened) return isNamed ? change(rows) : undefined;
    const { field, isKept } = opened;
    if (isKept) return;
    const known = rows.findIndex((row) => row.name === field);
    const free = rows.findIndex((row) => !row.name);
    const at = field && known >= 0 ? known : free >= 0 ? free : field || !rows.length ? rows.length : 0;
    const now = at < rows.length ? [...rows] : [...rows, { name: "" }];
    if (field) now[at] = { name: field };
    if (field || isNamed) change(now);
    begin(now, at);
    view.current?.scrollIntoView({ block: "nearest" });
  }, [opened]);
  useEffect(() => {
    if (!number) return;
    const timer = setTimeout(() => {
      const axes = isOpen ? rows.filter((row) => row.name) : [];
      const [spend, best, price] = [typed.spend, typed.best, typed.price].map(parseWhole);
      link.ask({ do: "sweep", view: link.view, n: number, axes, spend, best, price, by: typed.by });
    }, PAUSE);
    return () => clearTimeout(timer);
  }, [number]);
  useLayoutEffect(() => {
    const el = next.current && view.current?.querySelector<HTMLElement>(next.current);
    if (!el) return;
    el.focus();
    next.current = "";
  });
  const planned = () => {
    const { axes = [], view: by, n, typed: spend } = model.get("sweeps");
    if (by === link.view) {
      answer(n);
      const propose = (row: Row) => axes.find((axis: Axis) => axis.name === row.name)?.typed;
      if (n === number) setRows(rows.map((row) => ({ ...row, typed: row.typed ?? propose(row) })));
    } else if (answered === number && axes.length) {
      // A page that has come back, or another view of the same form: what it shows is what the kernel plans.
      setRows(axes.map(({ name, typed }: Axis) => ({ name, typed })));
      setTyped({ ...typed, spend: typeof spend === "number" ? String(spend) : "" });
      if (!isOpen) open({ isKept: true });
    }
  };
  useLayoutEffect(planned, []);
  useNews(link, ["state", "ended", "draft"], {
    "change:sweeps": planned,
    sweep_said: (content) => {
      say(content.sweep_said);
      press(0);
    },
    sweep_code: (content) => {
      const copy = view.current?.querySelector<HTMLElement>(`[data-copies=${content.by ? "best" : "spend"}]`);
      if (content.sweep_code && copy) copyText(copy, content.sweep_code);
      say(content.why ?? "");
    },
  });

  const isMaking = !link.hasEnded && (answered < number || plan.why === MAKING || !link.isHeard);
  // For the moment in which another plan is made, what is there only pales: nothing jumps at every key.
  if (plan.number) html.current = plan.html;
  if (link.hasEnded || !(plan.number || isMaking)) html.current = "";
  const isReady = !isMaking && !link.hasEnded && !!plan.number && pressed !== plan.number;
  const why = link.hasEnded ? "" : said || (isMaking ? MAKING : isWrong(typed.spend) ? NO_AMOUNT : plan.why);
  const words = isMaking || link.hasEnded || !isOpen ? "" : [plan.number && plan.label, why].filter(Boolean).join(". ");
  useEffect(() => {
    if (words) link.say(words);
  }, [words]);
  /** Run what is displayed, or copy its code; `best` where its best setting is to be found. */
  const send = (what: "sweep_run" | "sweep_code", { spend, cost }: Offer, by?: string) => {
    if (what === "sweep_run") {
      press(plan.number);
      link.await();
    }
    link.ask({ do: what, plan: plan.number, spend, ...(by === undefined ? { cost } : { by }) });
  };

  const amount = (which: "spend" | "best" | "price", label: string, proposed?: number, describedBy?: string) => (
    <span class="rbf-sweep-pair">
      <label for={`${name}-${which}-amount`}>{label}</label>
      <input
        type="text"
        inputmode="numeric"
        id={`${name}-${which}-amount`}
        class="rbf-sweep-budget"
        autocomplete="off"
        aria-describedby={describedBy}
        placeholder={String(proposed ?? "")}
        value={typed[which]}
        onInput={({ currentTarget: { value } }) => change(rows, { ...typed, [which]: value })}
      />
      {which !== "price" && <span class="rbf-caption">credits now</span>}
    </span>
  );
  /** An amount, the button that spends it, and the code for the same. */
  const pay = (which: "spend" | "best", offer: Offer, by?: string) => {
    const isOff = !isReady || !offer.ready || isWrong(typed[which]);
    const label = (!isWrong(typed[which]) && offer.label) || "Run";
    const copies = which === "best" ? "Copy code that finds the best" : "Python code for the same sweep";
    return (
      <>
        {amount(which, "Spend at most", offer.spend, `${name}-${which}-why`)}
        <Primary isOff={isOff} aria-describedby={`${name}-${which}-why`} act={() => send("sweep_run", offer, by)}>
          {label}
        </Primary>
        {which === "spend" && plan.best?.measures && (
          <Quiet
            class=""
            title="Decide which setting is the best, with fewer runs"
            aria-expanded={isBestOpen}
            aria-controls={`${name}-best`}
            act={() => {
              openBest(!isBestOpen);
              next.current = isBestOpen ? "" : ".rbf-sweep-by";
            }}
          >
            Find the best…
          </Quiet>
        )}
        <Quiet title={copies} data-copies={which} isOff={isOff} act={() => send("sweep_code", offer, by)}>
          Copy code
        </Quiet>
      </>
    );
  };

  return (
    <section class="rbf-sweep" id={`${name}-sweep`} aria-label="Sweep" hidden={!isOpen} ref={view}>
      <div class="rbf-sweep-body">
        <div class="rbf-sweep-head">
          <b>Sweep</b>
          <span class="rbf-caption">One run for every combination of the values.</span>
          <Quiet aria-label="Close the sweep" act={() => open(null)}>
            Close
          </Quiet>
        </div>
        <div>
          <div class="rbf-sweep-axes">
            {rows.map((row, at) => (
              <AxisRow
                key={at}
                row={row}
                at={at}
                id={`${name}-axis${at}`}
                nodes={nodes.filter(
                  (node) => node.name === row.name || !rows.some((other) => other.name === node.name),
                )}
                axis={answered < number ? undefined : plan.axes?.find((axis: Axis) => axis.name === row.name)}
                take={(now) => take(at, now)}
                remove={() => remove(at)}
              />
            ))}
          </div>
          {rows.length < nodes.length && (
            <Quiet data-do="add" act={() => begin([...rows, { name: "" }], rows.length)}>
              Add a field
            </Quiet>
          )}
        </div>
        <div class={classes("rbf-sweep-plan", !isReady && "rbf-sweep-old")}>
          <div class="rbf-sweep-line" hidden={!html.current}>
            {html.current && <Drawn html={html.current} />}
          </div>
          {html.current && (
            <div class="rbf-row rbf-sweep-pay">
              {plan.isUnpriced && amount("price", "At most per run")}
              {pay("spend", plan)}
            </div>
          )}
          <p class="rbf-caption rbf-sweep-why" id={`${name}-spend-why`}>
            {why}
          </p>
          {isBestOpen && plan.best?.measures && (
            <div class="rbf-sweep-best" id={`${name}-best`} role="group" aria-label="Find the best">
              <p class="rbf-caption">{plan.best.about}</p>
              <div class="rbf-sweep-pair">
                <label for={`${name}-by`}>Judged by</label>
                <select
                  id={`${name}-by`}
                  class="rbf-sweep-by"
                  value={plan.best.by}
                  onChange={({ currentTarget: { value } }) => change(rows, { ...typed, by: value })}
                >
                  {plan.best.measures.map(({ value, label }: { value: string; label: string }) => (
                    <option key={value} value={value}>
                      {label}
                    </option>
                  ))}
                </select>
              </div>
              <p class="rbf-caption">{plan.best.meaning}</p>
              <div class="rbf-row">{pay("best", plan.best, plan.best.by)}</div>
              <p class="rbf-caption" id={`${name}-best-why`}>
                {isWrong(typed.best) ? NO_AMOUNT : plan.best.why}
              </p>
            </div>
          )}
        </div>
      </div>
    </section>
  );
}

/** Whether something was typed that is no amount. */
function isWrong(text: string) {
  return !!text.trim() && parseWhole(text) === null;
}

interface AxisProps {
  row: Row;
  at: number;
  id: string;
  /** The fields that it can vary. */
  nodes: Node[];
  /** What the kernel says of it. */
  axis?: Axis;
  take: (row: Row) => void;
  remove: () => void;
}

/** A field and its values. */
function AxisRow({ row, at, id, nodes, axis, take, remove }: AxisProps) {
  const node = nodes.find(({ name }) => name === row.name);
  const wrong = axis && !axis.empty ? axis.words : "";
  return (
    <div class="rbf-sweep-axis" role="group" aria-label={node?.label ?? "A field"} data-row={at}>
      <select
        class="rbf-sweep-field"
        aria-label="Field to vary"
        value={row.name}
        onChange={({ currentTarget: { value } }) => take({ name: value })}
      >
        <option value="">Choose a field …</option>
        {nodes.map(({ name, label }) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
      </select>
      <div class="rbf-sweep-values">
        {node && <Values node={node} id={id} row={row} isWrong={!!wrong} change={(typed) => take({ ...row, typed })} />}
      </div>
      <Quiet aria-label={`Remove ${node?.label ?? "this field"}`} act={remove}>
        Remove
      </Quiet>
      <div class="rbf-sweep-words">
        <p class="rbf-caption" id={`${id}-told`}>
          {axis?.empty ? axis.words : (axis?.told ?? (node ? "…" : ""))}
        </p>
        <p class="rbf-problem" id={`${id}-problem`} hidden={!wrong}>
          {wrong}
        </p>
      </div>
    </div>
  );
}

interface ValuesProps {
  node: Node;
  id: string;
  row: Row;
  isWrong: boolean;
  change: (typed: any) => void;
}

/** The values of a field: chips where it has few, else typed in a line or one below the other. */
function Values({ node, id, row, isWrong, change }: ValuesProps) {
  const label = `Values of ${node.label}`;
  const choices = node.kind === "check" ? YES_NO : (node.choices ?? []);
  if (choices.length && choices.length <= FEW) {
    const chosen = new Set((Array.isArray(row.typed) ? row.typed : []).map((value) => JSON.stringify(value)));
    const toggle = (value: unknown) => {
      const text = JSON.stringify(value);
      if (!chosen.delete(text)) chosen.add(text);
      change(choices.map((choice) => choice.value).filter((value) => chosen.has(JSON.stringify(value))));
    };
    return (
      <div class={classes("rbf-segments", isWrong && "rbf-sweep-wrong")} role="group" aria-label={label}>
        {choices.map(({ value, label }) => (
          <label key={label} class="rbf-segment rbf-sweep-chip">
            <input type="checkbox" checked={chosen.has(JSON.stringify(value))} onChange={() => toggle(value)} />
            <span>{label}</span>
          </label>
        ))}
      </div>
    );
  }
  const facts = {
    id,
    "aria-label": label,
    "aria-invalid": isWrong ? ("true" as const) : undefined,
    "aria-describedby": `${id}-told ${id}-problem`,
    placeholder: HINTS[node.kind] ?? "One value per line, as JSON",
    autocomplete: "off" as const,
    spellcheck: node.kind === "text",
    value: typeof row.typed === "string" ? row.typed : "",
    onInput: (event: any) => change(event.currentTarget.value),
  };
  if (node.kind === "whole" || node.kind === "real") return <input {...facts} type="text" class="rbf-text" />;
  const lines = facts.value.split("\n").length + 1;
  return <textarea {...facts} class="rbf-text rbf-sweep-lines" dir="auto" rows={Math.min(8, Math.max(2, lines))} />;
}
