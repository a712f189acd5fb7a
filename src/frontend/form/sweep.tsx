/** The sweep of a form: which fields vary, what all combinations cost, and what may be spent; the kernel plans and prices. */

import { render } from "preact";
import { copyText } from "../page/copy.ts";
import { made } from "../page/element.ts";
import { Drawn, Quiet } from "./card.tsx";
import { quietButton } from "./quiet.ts";
import { makeSpeaker } from "./speaker.ts";

type Row = { id: number; name: string; typed?: any };
type Axis = { name: string; typed: any; told: string; words: string; empty: boolean };

const SWEEP_PAUSE = 150; // Long enough for the next letter of a number; a plan takes longer than a price.
const SWEEP_MAKING = "Planning …";
const SWEEP_FEW = 24; // So many choices stand beside one another.
const SWEEP_NO_AMOUNT = "Spend a whole number of credits, or 0.";
const HINTS: Record<string, string> = {
  whole: "9, 49, 97 or 0-7 or 9 to 97 step 8",
  text: "One per line",
  choice: "One per line",
  image: "One URL per line",
}; // fmt
HINTS.real = HINTS.whole;

const canVary = (node: any) => !(node.kind === "constant" || (node.kind === "choice" && node.choices.length < 2));
const isNumber = (node: any) => node.kind === "whole" || node.kind === "real";
const hasChips = (node: any) => node.kind === "check" || (node.kind === "choice" && node.choices.length <= SWEEP_FEW);
const parseWhole = (text: string) => (/^\d{1,15}$/.test(text.trim()) ? Number(text) : null);
const YES_NO = [
  { value: false, label: "no" },
  { value: true, label: "yes" },
];

/** The values of a field: chips where it has few, else typed in a line or one below the other. */
function Values({
  node,
  id,
  row,
  wrong,
  change,
}: {
  node: any;
  id: string;
  row: Row;
  wrong: boolean;
  change: (typed: any) => void;
}) {
  const label = `Values of ${node.label}`;
  if (hasChips(node)) {
    const chosen = new Set((Array.isArray(row.typed) ? row.typed : []).map((value: any) => JSON.stringify(value)));
    const choices: { value: any; label: string }[] = node.kind === "check" ? YES_NO : node.choices;
    const toggle = (value: any) => {
      const text = JSON.stringify(value);
      if (!chosen.delete(text)) chosen.add(text);
      change(choices.filter((choice) => chosen.has(JSON.stringify(choice.value))).map((choice) => choice.value));
    };
    return (
      <div class={`rbf-segments ${wrong ? "rbf-sweep-wrong" : ""}`} role="group" aria-label={label}>
        {choices.map(({ value, label }) => (
          <label key={label} class="rbf-segment rbf-sweep-chip">
            <input type="checkbox" checked={chosen.has(JSON.stringify(value))} onChange={() => toggle(value)} />
            <span>{label}</span>
          </label>
        ))}
      </div>
    );
  }
  const shared = {
    id,
    "aria-label": label,
    "aria-invalid": wrong ? ("true" as const) : undefined,
    "aria-describedby": `${id}-told ${id}-problem`,
    placeholder: HINTS[node.kind] ?? "One value per line, as JSON",
    autocomplete: "off",
    spellcheck: node.kind === "text",
    value: typeof row.typed === "string" ? row.typed : "",
    onInput: (event: any) => change(event.currentTarget.value),
  };
  if (isNumber(node)) return <input {...shared} class="rbf-text" />;
  const lines = shared.value.split("\n").length + 1;
  return <textarea {...shared} class="rbf-text rbf-sweep-lines" dir="auto" rows={Math.min(8, Math.max(2, lines))} />;
}

/** An amount of credits: what is proposed until somebody types another. */
function Amount({
  id,
  label,
  value,
  why,
  type,
  leave,
}: {
  id: string;
  label: string;
  value: string;
  why?: string;
  type: (text: string) => void;
  leave?: () => void;
}) {
  return (
    <span class="rbf-sweep-pair">
      <label for={id}>{label}</label>
      <input
        type="number"
        min="0"
        step="1"
        id={id}
        class="rbf-sweep-budget"
        aria-describedby={why}
        value={value}
        onInput={(event) => type(event.currentTarget.value)}
        onChange={leave}
      />
      {leave ? <span class="rbf-caption">credits now</span> : null}
    </span>
  );
}

/** The section, the button that opens it, and a function on the link by which others open it. */
export function makeSweep(link: any, name: string) {
  const { model } = link;
  const nodes: any[] = model.get("sheet").fields.filter(canVary);
  const speaker = makeSpeaker();
  const view = made("div", { class: "rbf-sweep-body" });
  const el = made(
    "section",
    { class: "rbf-sweep", id: `${name}-sweep`, "aria-label": "Sweep", hidden: true },
    view,
    speaker.el,
  );
  const button = quietButton("Sweep…", () => (isOpen ? toggle(false) : link.openSweep()), {
    title: "Run many variations of this form",
    "aria-expanded": "false",
    "aria-controls": el.id,
  });
  let rows: Row[] = [];
  let rowsMade = 0,
    number = 0,
    awaited = 0,
    timer = 0,
    pressed = 0;
  let isOpen = false,
    isBestOpen = false;
  let later: (() => void) | null = null;
  let said = "",
    html = "",
    heard = "";
  /** What was typed; null where what the kernel proposes stands. */
  const amounts: { spend: string | null; best: string | null; price: string } = { spend: null, best: null, price: "" };
  let by = "";

  const plan = () => model.get("sweeps");
  const isCurrent = () => !timer && !awaited && link.isHeard && !link.hasEnded && !!plan().number;
  const amount = (which: "spend" | "best") => (amounts[which] === null ? null : parseWhole(amounts[which] as string));
  const money = () => (plan().isUnpriced ? { price: parseWhole(amounts.price) } : {});

  const flush = () => {
    clearTimeout(timer);
    timer = 0;
    const axes = isOpen
      ? rows.filter((row) => row.name).map(({ name, typed }) => (typed === undefined ? { name } : { name, typed }))
      : [];
    const wish = { spend: amount("spend"), best: amount("best"), price: parseWhole(amounts.price), by };
    link.ask({ do: "sweep", view: link.view, n: number, axes, ...wish });
  };
  const changed = () => {
    awaited = number += 1;
    later = null;
    said = "";
    clearTimeout(timer);
    timer = window.setTimeout(flush, SWEEP_PAUSE);
    draw();
  };
  /** What is pressed is done once the kernel has answered to what was typed, at the price that stood there. */
  const send = (what: "sweep_run" | "sweep_code", isBest: boolean) => {
    link.flush();
    if (timer) flush();
    if (awaited && !link.hasEnded) {
      const cost = isBest ? plan().best?.spend : plan().cost;
      later = () => cost === (isBest ? plan().best?.spend : plan().cost) && send(what, isBest);
      return;
    }
    const { number: shown, spend, cost, best } = plan();
    if (!isCurrent() || pressed === shown || !(isBest ? best : plan()).ready) return draw();
    const wish = isBest ? { spend: best.spend, by: best.by } : { spend, cost };
    if (what === "sweep_run") {
      pressed = shown;
      link.awaitResult?.();
    }
    link.ask({ do: what, plan: shown, ...wish, ...money() });
    draw();
  };
  const focus = (row?: Row) => {
    const box = row && view.querySelector(`[data-row="${row.id}"]`);
    const target = box
      ? box.querySelector(row.name ? "input, textarea" : "select")
      : view.querySelector("[data-do=add]");
    (target as HTMLElement | null)?.focus();
  };
  const add = (name = "") => {
    const row: Row = { id: ++rowsMade, name };
    rows = [...rows, row];
    return row;
  };
  const take = (row: Row, field: string) => {
    Object.assign(row, { name: field, typed: undefined });
    changed();
  };
  const remove = (row: Row) => {
    const place = rows.indexOf(row);
    rows = rows.filter((other) => other !== row);
    changed();
    focus(rows[place] ?? rows[place - 1]);
  };
  const toggle = (opens: boolean) => {
    if (isOpen === opens) return;
    isOpen = opens;
    el.hidden = !opens;
    button.setAttribute("aria-expanded", String(opens));
    // What is closed costs nothing: no plan is made for it.
    if (rows.some((row) => row.name)) changed();
    if (!opens) button.focus();
  };
  /** Open the section, with this field if one is given. */
  link.openSweep = (field?: string) => {
    toggle(true);
    const row =
      (field && rows.find((row) => row.name === field)) ||
      rows.find((row) => !row.name) ||
      (field || !rows.length ? add() : rows[0]);
    if (field) take(row, field);
    draw();
    focus(row);
    el.scrollIntoView({ block: "nearest" });
  };

  const drawRow = (row: Row) => {
    const node = nodes.find((one) => one.name === row.name);
    const axis: Axis | undefined =
      timer || awaited ? undefined : plan().axes?.find((one: Axis) => one.name === row.name);
    const wrong = axis && !axis.empty ? axis.words : "";
    const id = `${name}-axis${row.id}`;
    const taken = new Set(rows.filter((other) => other !== row).map((other) => other.name));
    const change = (typed: any) => {
      row.typed = typed;
      changed();
    };
    return (
      <div key={row.id} class="rbf-sweep-axis" role="group" aria-label={node?.label ?? "A field"} data-row={row.id}>
        <select
          class="rbf-sweep-field"
          aria-label="Field to vary"
          value={row.name}
          onChange={(event) => take(row, event.currentTarget.value)}
        >
          <option value="">Choose a field …</option>
          {nodes
            .filter((one) => !taken.has(one.name))
            .map((one) => (
              <option key={one.name} value={one.name}>
                {one.label}
              </option>
            ))}
        </select>
        <div class="rbf-sweep-values">
          {node ? <Values node={node} id={id} row={row} wrong={!!wrong} change={change} /> : null}
        </div>
        <Quiet label="Remove" aria-label={`Remove ${node?.label ?? "this field"}`} act={() => remove(row)} />
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
  };

  const drawBest = (best: any, isReady: boolean) => {
    const isTyped = amounts.best !== null && amount("best") === null;
    return (
      <div class="rbf-sweep-best" id={`${name}-best`} role="group" aria-label="Find the best">
        <p class="rbf-caption">{best.about}</p>
        <div class="rbf-sweep-pair">
          <label for={`${name}-by`}>Judged by</label>
          <select
            id={`${name}-by`}
            class="rbf-sweep-by"
            value={best.by}
            onChange={(event) => {
              by = event.currentTarget.value;
              changed();
            }}
          >
            {best.measures.map((one: any) => (
              <option key={one.value} value={one.value}>
                {one.label}
              </option>
            ))}
          </select>
        </div>
        <p class="rbf-caption">{best.meaning}</p>
        <div class="rbf-row">
          {drawPay("best", best, isReady && best.ready && !isTyped, "Copy code that finds the best")}
        </div>
        <p class="rbf-caption" id={`${name}-best-why`}>
          {isTyped ? SWEEP_NO_AMOUNT : best.why}
        </p>
      </div>
    );
  };

  /** An amount, the button that spends it, and the code for the same. */
  const drawPay = (which: "spend" | "best", offer: any, isReady: boolean, copies: string) => {
    const why = which === "best" ? `${name}-best-why` : `${name}-sweep-why`;
    const type = (text: string) => {
      amounts[which] = text;
      changed();
    };
    // Left empty it is what is proposed.
    const leave = () => {
      if (amounts[which]?.trim() !== "") return;
      amounts[which] = null;
      changed();
    };
    const isBest = which === "best";
    return (
      <>
        <Amount
          id={`${name}-${which}-amount`}
          label="Spend at most"
          value={amounts[which] ?? String(offer.spend ?? "")}
          why={why}
          type={type}
          leave={leave}
        />
        <button
          type="button"
          class="rbf-primary"
          aria-describedby={why}
          aria-disabled={!isReady}
          onClick={() => send("sweep_run", isBest)}
        >
          {offer.label ?? "Run"}
        </button>
        {isBest || !offer.best?.measures ? null : (
          <button
            type="button"
            title="Decide which setting is the best, with fewer runs"
            aria-expanded={isBestOpen}
            aria-controls={`${name}-best`}
            onClick={() => {
              isBestOpen = !isBestOpen;
              draw();
              if (isBestOpen) view.querySelector<HTMLElement>(".rbf-sweep-by")?.focus();
            }}
          >
            Find the best…
          </button>
        )}
        <Quiet
          label="Copy code"
          title={copies}
          data-copies={which}
          aria-disabled={!isReady}
          act={() => send("sweep_code", isBest)}
        />
      </>
    );
  };

  const draw = () => {
    const now = plan();
    const isMaking = !link.hasEnded && (!!timer || !!awaited || now.why === SWEEP_MAKING || !link.isHeard);
    // For the moment in which another plan is made, what is there only pales: nothing jumps at every key.
    if (link.hasEnded) html = "";
    else if (now.number) html = now.html;
    else if (!isMaking) html = "";
    const isTyped = amounts.spend !== null && amount("spend") === null;
    const isReady = isCurrent() && pressed !== now.number;
    const why = link.hasEnded ? "" : said || (isMaking ? SWEEP_MAKING : isTyped ? SWEEP_NO_AMOUNT : now.why);
    const offer = now.number || isMaking ? now : {};
    render(
      <>
        <div class="rbf-sweep-head">
          <b>Sweep</b>
          <span class="rbf-caption">One run for every combination of the values.</span>
          <Quiet label="Close" aria-label="Close the sweep" act={() => toggle(false)} />
        </div>
        <div>
          <div class="rbf-sweep-axes">{rows.map(drawRow)}</div>
          {rows.length < nodes.length ? (
            <Quiet
              label="Add a field"
              data-do="add"
              act={() => {
                const row = add();
                draw();
                focus(row);
              }}
            />
          ) : null}
        </div>
        <div class={isReady ? "rbf-sweep-plan" : "rbf-sweep-plan rbf-sweep-old"}>
          <div class="rbf-sweep-line" hidden={!html}>
            {html ? <Drawn html={html} /> : null}
          </div>
          {html || now.number ? (
            <div class="rbf-row rbf-sweep-pay">
              {now.isUnpriced ? (
                <Amount
                  id={`${name}-price`}
                  label="At most per run"
                  value={amounts.price}
                  type={(text) => {
                    amounts.price = text;
                    changed();
                  }}
                />
              ) : null}
              {drawPay(
                "spend",
                isTyped ? { ...offer, label: "Run" } : offer,
                isReady && now.ready && !isTyped,
                "Python code for the same sweep",
              )}
            </div>
          ) : null}
          <p class="rbf-caption rbf-sweep-why" id={`${name}-sweep-why`}>
            {why}
          </p>
          {isBestOpen && now.best?.measures ? drawBest(now.best, isReady) : null}
        </div>
      </>,
      view,
    );
    const words = isMaking || link.hasEnded ? "" : [now.number ? now.label : "", why].filter(Boolean).join(". ");
    if (words && words !== heard && isOpen) speaker.say("", (heard = words));
  };

  const show = () => {
    const now = plan();
    const isOwn = now.view === link.view;
    if (isOwn && now.n === number) awaited = 0;
    if (isOwn && !timer && !awaited)
      for (const row of rows) row.typed ??= now.axes?.find((axis: Axis) => axis.name === row.name)?.typed;
    // A page that has come back, or another view of the same form: what it shows is what the kernel plans.
    else if (!isOwn && !timer && !awaited && now.axes?.length) {
      isOpen = true;
      el.hidden = false;
      button.setAttribute("aria-expanded", "true");
      amounts.spend = typeof now.typed === "number" ? String(now.typed) : null;
      rows = now.axes.map(({ name, typed }: Axis) => ({ id: ++rowsMade, name, typed }));
    }
    draw();
    if (awaited || now.why === SWEEP_MAKING) return;
    later?.();
    later = null;
  };
  model.on("change:sweeps", show);
  const offs = [
    link.on("sweep_said", (content: any) => {
      said = content.sweep_said;
      pressed = 0;
      draw();
    }),
    link.on("sweep_code", (content: any) => {
      const copy = view.querySelector<HTMLElement>(`[data-copies=${content.by ? "best" : "spend"}]`);
      if (content.sweep_code && copy) copyText(copy, content.sweep_code);
      said = content.why ?? "";
      draw();
    }),
    link.on("state", draw),
    link.on("ended", draw),
    link.on("draft", draw),
  ];
  show();
  return {
    el,
    button,
    dispose: () => {
      clearTimeout(timer);
      model.off("change:sweeps", show);
      for (const off of offs) off();
      render(null, view);
      speaker.dispose();
    },
  };
}
