/** The sweep of a form: which fields vary, what all combinations cost, and what may be spent; the kernel plans and prices. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Drawn } from "./card.tsx";
import type { FormLink } from "./link.ts";
import { useNews } from "./link.ts";
import { classes, Options, Primary, Quiet } from "./ui.tsx";
import type { Node } from "./values.ts";

type Row = { name: string; typed?: any };
type Axis = { name: string; typed: any; told: string; words: string; empty: boolean };

const PAUSE = 150; // Long enough for the next letter of a number; a plan takes longer than a price.
const MAKING = "Planning …";
const NO_AMOUNT = "Spend a whole number of credits, or 0.";
/** The kinds of fields that can vary, and how their values are typed. */
const HINTS: Record<string, string> = {
  whole: "9, 49, 97 or 0-7 or 9 to 97 step 8",
  real: "0.1, 0.5 or 0 to 1 step 0.25",
  text: "One per line",
  image: "One URL per line",
  choice: "",
  check: "",
};
const YES_NO = [
  { value: false, label: "no" },
  { value: true, label: "yes" },
];

const canVary = ({ kind, choices = [] }: Node) => kind in HINTS && (kind !== "choice" || choices.length > 1);
/** The amount that was typed; null where that is none, or nothing. */
const parseWhole = (text: string) => (/^\d{1,15}$/.test(text.trim()) ? Number(text) : null);

interface SweepProps {
  link: FormLink;
  name: string;
  isOpen: boolean;
  close: () => void;
}

export function Sweep({ link, name, isOpen, close }: SweepProps) {
  const { model } = link;
  const nodes: Node[] = model.get("sheet").fields.filter(canVary);
  // What another view of the same form has typed is planned there.
  const plan = model.get("sweeps").view === link.view ? model.get("sweeps") : {};
  const [rows, setRows] = useState<Row[]>([]);
  /** The amount that was typed: empty where what the kernel proposes holds. */
  const [spend, setSpend] = useState("");
  const [said, say] = useState("");
  /** The numbers of the last change here, of that to which the kernel has answered, and of the plan that was started. */
  const [number, count] = useState(0);
  const [answered, answer] = useState(0);
  const [pressed, press] = useState(0);
  const view = useRef<HTMLElement>(null);
  const measure = useRef<HTMLSelectElement>(null);
  /** What takes the focus once it is drawn. */
  const next = useRef("");
  const html = useRef("");

  const change = (now: Row[], amount = spend) => {
    setRows(now);
    setSpend(amount);
    say("");
    count(number + 1);
  };
  const add = (now: Row[]) => {
    change([...now, { name: "" }]);
    next.current = `[data-row="${now.length}"] select`;
  };
  useLayoutEffect(() => {
    // What is closed costs nothing: no plan is made for it.
    if (!isOpen) return rows.length ? change(rows) : undefined;
    const chosen = rows.filter((row) => row.name);
    if (chosen.length) change(chosen);
    else add([]);
    view.current?.scrollIntoView({ block: "nearest" });
  }, [isOpen]);
  useEffect(() => {
    if (!number) return;
    const timer = setTimeout(() => {
      const axes = isOpen ? rows.filter((row) => row.name) : [];
      link.ask({ do: "sweep", view: link.view, n: number, axes, spend: parseWhole(spend) });
    }, PAUSE);
    return () => clearTimeout(timer);
  }, [number]);
  useLayoutEffect(() => {
    const el = next.current && view.current?.querySelector<HTMLElement>(next.current);
    if (!el) return;
    el.focus();
    next.current = "";
  });
  useNews(link, ["state", "ended", "draft"], {
    "change:sweeps": () => {
      const { axes = [], view: by, n } = model.get("sweeps");
      if (by !== link.view) return;
      answer(n);
      const propose = (row: Row) => axes.find((axis: Axis) => axis.name === row.name)?.typed;
      if (n === number) setRows(rows.map((row) => ({ ...row, typed: row.typed ?? propose(row) })));
    },
    sweep_said: (content) => {
      say(content.sweep_said);
      press(0);
    },
  });

  const isMaking = !link.hasEnded && (answered < number || plan.why === MAKING || !link.isHeard);
  // For the moment in which another plan is made, what is there only pales: nothing jumps at every key.
  if (plan.number) html.current = plan.html;
  if (link.hasEnded || !(plan.number || isMaking)) html.current = "";
  const isWrong = !!spend.trim() && parseWhole(spend) === null;
  const isReady = !isMaking && !link.hasEnded && plan.ready && pressed !== plan.number && !isWrong;
  const why = link.hasEnded ? "" : said || (isMaking ? MAKING : isWrong ? NO_AMOUNT : plan.why);
  /** Run what is displayed, or find its best setting by a measure. */
  const run = (by?: string) => {
    press(plan.number);
    link.isAwaited = true;
    const shown = { plan: plan.number, spend: plan.spend, cost: plan.cost };
    link.ask({ do: "sweep_run", ...shown, ...(by ? { by } : {}) });
  };

  return (
    <section class="rbf-sweep" id={`${name}-sweep`} aria-label="Sweep" hidden={!isOpen} ref={view}>
      <div class="rbf-sweep-head">
        <b>Sweep: one run for every combination</b>
        <Quiet aria-label="Close the sweep" act={close}>
          Close
        </Quiet>
      </div>
      {rows.map((row, at) => (
        <AxisRow
          key={at}
          row={row}
          at={at}
          id={`${name}-axis${at}`}
          nodes={nodes.filter((node) => node.name === row.name || !rows.some((other) => other.name === node.name))}
          axis={answered < number ? undefined : plan.axes?.find((axis: Axis) => axis.name === row.name)}
          take={(now) => change(rows.map((old, index) => (index === at ? now : old)))}
          remove={() => {
            change(rows.filter((_, index) => index !== at));
            next.current = "[data-do=add]";
          }}
        />
      ))}
      {rows.length < nodes.length && (
        <div>
          <Quiet data-do="add" act={() => add(rows)}>
            Add a field
          </Quiet>
        </div>
      )}
      <div class={classes("rbf-sweep-line", !isReady && "rbf-sweep-old")} hidden={!html.current}>
        {html.current && <Drawn html={html.current} />}
      </div>
      {html.current && (
        <div class="rbf-row rbf-sweep-pay">
          <label for={`${name}-spend`}>Spend at most</label>
          <input
            type="text"
            inputmode="numeric"
            id={`${name}-spend`}
            class="rbf-sweep-budget"
            autocomplete="off"
            aria-describedby={`${name}-spend-why`}
            placeholder={String(plan.spend ?? "")}
            value={spend}
            onInput={({ currentTarget: { value } }) => change(rows, value)}
          />
          <span class="rbf-caption">credits now</span>
          <Primary isOff={!isReady} aria-describedby={`${name}-spend-why`} act={() => run()}>
            {plan.label ?? "Run"}
          </Primary>
        </div>
      )}
      <p class="rbf-caption" role="status" id={`${name}-spend-why`}>
        {why}
      </p>
      {html.current && plan.measures && (
        <div class="rbf-row rbf-sweep-best">
          <Quiet class="" isOff={!isReady} act={() => run(measure.current?.value)}>
            {plan.best}
          </Quiet>
          <label for={`${name}-by`}>judged by</label>
          <select id={`${name}-by`} ref={measure}>
            <Options all={plan.measures.map(({ value, label }: Record<string, string>) => [value, label])} />
          </select>
          <span class="rbf-caption">
            Makes runs only of settings that may still win, and stops when it is 95% sure.
          </span>
        </div>
      )}
    </section>
  );
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
        <Options all={nodes.map(({ name, label }) => [name, label])} />
      </select>
      <div class="rbf-sweep-values">
        {node && <Values node={node} id={id} row={row} isWrong={!!wrong} change={(typed) => take({ ...row, typed })} />}
      </div>
      <Quiet aria-label={`Remove ${node?.label ?? "this field"}`} act={remove}>
        Remove
      </Quiet>
      <div class="rbf-sweep-words">
        <p class={wrong ? "rbf-problem" : "rbf-caption"} id={`${id}-told`}>
          {axis?.words || (axis?.told ?? (node ? "…" : ""))}
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

/** The values of a field: chips where it has choices, else typed in a line or one below the other. */
function Values({ node, id, row, isWrong, change }: ValuesProps) {
  const label = `Values of ${node.label}`;
  const choices = node.kind === "check" ? YES_NO : node.kind === "choice" ? (node.choices ?? []) : [];
  if (choices.length) {
    const chosen: unknown[] = Array.isArray(row.typed) ? row.typed : [];
    const toggle = (value: unknown, is: boolean) =>
      change(choices.map((one) => one.value).filter((one) => (one === value ? is : chosen.includes(one))));
    return (
      <div class={classes("rbf-segments", isWrong && "rbf-sweep-wrong")} role="group" aria-label={label}>
        {choices.map(({ value, label }) => (
          <label key={label} class="rbf-segment rbf-sweep-chip">
            <input
              type="checkbox"
              checked={chosen.includes(value)}
              onChange={(event) => toggle(value, event.currentTarget.checked)}
            />
            <span>{label}</span>
          </label>
        ))}
      </div>
    );
  }
  const facts = {
    "aria-label": label,
    "aria-invalid": isWrong ? ("true" as const) : undefined,
    "aria-describedby": `${id}-told`,
    placeholder: HINTS[node.kind],
    autocomplete: "off" as const,
    spellcheck: node.kind === "text",
    value: typeof row.typed === "string" ? row.typed : "",
    onInput: (event: any) => change(event.currentTarget.value),
  };
  if (node.kind === "whole" || node.kind === "real") return <input {...facts} type="text" class="rbf-text" />;
  const lines = facts.value.split("\n").length + 1;
  return <textarea {...facts} class="rbf-text rbf-sweep-lines" dir="auto" rows={Math.min(8, Math.max(2, lines))} />;
}
