/** The axes of a sweep: one row for each field that varies, with its values as one types them. */
import { made } from "../page/element.ts";
import { quietButton } from "./quiet.ts";

export type SweepAxis = { name: string; typed: any; count: number; told: string; words: string; empty: boolean };
export type SweepControl = {
  el: HTMLElement;
  show: (typed: any) => void;
  wrong: (is: boolean) => void;
  focus: () => void;
};

const SWEEP_FEW = 24;
const SWEEP_TALL = 8;
const SWEEP_HINTS = {
  numbers: "9, 49, 97 or 0-7 or 9 to 97 step 8",
  text: "One per line",
  json: "One value per line, as JSON",
  image: "One URL per line",
};

/** Whether a field has more than one value to choose from. */
const sweepCanVary = (node: any) => !(node.kind === "constant" || (node.kind === "choice" && node.choices.length < 2));

/** How the values of a field are typed. */
function sweepWay(node: any) {
  if (node.kind === "whole" || node.kind === "real") return "numbers";
  if (node.kind === "check" || (node.kind === "choice" && node.choices.length <= SWEEP_FEW)) return "chips";
  return "lines";
}

/** Values that can be chosen, each by a click. */
function sweepChips(node: any, id: string, label: string, change: (typed: any) => void): SweepControl {
  const choices =
    node.kind === "check"
      ? [
          { value: false, label: "no" },
          { value: true, label: "yes" },
        ]
      : node.choices;
  const boxes = choices.map((choice: any, place: number) => {
    const input = made("input", { type: "checkbox", id: place ? null : id });
    input.addEventListener("change", () =>
      change(boxes.filter((one: any) => one.input.checked).map((one: any) => one.value)),
    );
    return {
      input,
      value: choice.value,
      el: made("label", { class: "rbf-segment rbf-sweep-chip" }, input, made("span", { text: choice.label })),
    };
  });
  const el = made(
    "div",
    { class: "rbf-segments", role: "group", "aria-label": label },
    ...boxes.map((one: any) => one.el),
  );
  return {
    el,
    show: (typed) => {
      const chosen = new Set((Array.isArray(typed) ? typed : []).map((value) => JSON.stringify(value)));
      for (const one of boxes) one.input.checked = chosen.has(JSON.stringify(one.value));
    },
    wrong: (is) => el.classList.toggle("rbf-sweep-wrong", is),
    focus: () => boxes[0].input.focus(),
  };
}

/** Values that are typed, in a line or one below the other. */
function sweepText(node: any, id: string, label: string, change: (typed: any) => void): SweepControl {
  const isLine = sweepWay(node) === "numbers";
  const hint = isLine
    ? SWEEP_HINTS.numbers
    : (SWEEP_HINTS[node.kind as "text"] ?? (node.kind === "choice" ? SWEEP_HINTS.text : SWEEP_HINTS.json));
  const el = made(isLine ? "input" : "textarea", {
    id,
    class: `rbf-text${isLine ? "" : " rbf-sweep-lines"}`,
    "aria-label": label,
    dir: isLine ? null : "auto",
    placeholder: hint,
    autocomplete: "off",
    spellcheck: node.kind === "text" ? "true" : "false",
    "aria-describedby": `${id}-told ${id}-problem`,
  }) as HTMLTextAreaElement;
  const fit = () => {
    if (!isLine) el.rows = Math.min(SWEEP_TALL, Math.max(2, el.value.split("\n").length + 1));
  };
  el.addEventListener("input", () => {
    fit();
    change(el.value);
  });
  return {
    el,
    show: (typed) => {
      if (typeof typed === "string" && el.value !== typed) el.value = typed;
      fit();
    },
    wrong: (is) => (is ? el.setAttribute("aria-invalid", "true") : el.removeAttribute("aria-invalid")),
    focus: () => el.focus(),
  };
}

/** One row. */
function sweepRow(
  link: any,
  id: string,
  to: { changed: () => void; removed: (row: any) => void; taken: (row: any) => Set<string> },
) {
  const nodes = link.model.get("sheet").fields.filter(sweepCanVary);
  const select = made("select", { class: "rbf-sweep-field", "aria-label": "Field to vary" });
  const body = made("div", { class: "rbf-sweep-values" });
  const summary = made("p", { class: "rbf-caption rbf-sweep-told", id: `${id}-told` });
  const problem = made("p", { class: "rbf-problem", id: `${id}-problem`, hidden: true });
  const remove = quietButton("Remove", () => to.removed(row));
  const el = made(
    "div",
    { class: "rbf-sweep-axis", role: "group" },
    select,
    body,
    remove,
    made("div", { class: "rbf-sweep-words" }, summary, problem),
  );
  let control: SweepControl | null = null;
  let offered = "?";
  const row = {
    el,
    name: "",
    /** @type {any} */ typed: undefined,
    /** @param typed undefined for what the kernel proposes */
    take(name: string, typed: any) {
      const node = nodes.find((one: any) => one.name === name);
      if (!node) return;
      Object.assign(row, { name, typed });
      select.value = name;
      el.setAttribute("aria-label", node.label);
      remove.setAttribute("aria-label", `Remove ${node.label}`);
      const label = `Values of ${node.label}`;
      const make = sweepWay(node) === "chips" ? sweepChips : sweepText;
      control = make(node, id, label, (now: any) => {
        row.typed = now;
        to.changed();
      });
      control.show(typed);
      body.replaceChildren(control.el);
      summary.textContent = typed === undefined ? "…" : "";
      problem.hidden = true;
    },
    /** Only fields that no other row has. */
    offer() {
      const taken = to.taken(row);
      const free = nodes.filter((node: any) => !taken.has(node.name));
      const now = free.map((node: any) => node.name).join("\n");
      // Only when needed: someone who finds a field by its first letters is still typing.
      if (now !== offered) {
        offered = now;
        select.replaceChildren(
          made("option", { value: "", text: "Choose a field …" }),
          ...free.map((node: any) => made("option", { value: node.name, text: node.label })),
        );
      }
      if (select.value !== row.name) select.value = row.name;
    },
    /** No field is chosen here. */
    clear() {
      Object.assign(row, { name: "", typed: undefined });
      control = null;
      body.replaceChildren();
      summary.textContent = "";
      problem.hidden = true;
    },
    judge(axis: SweepAxis) {
      if (row.typed === undefined) {
        row.typed = axis.typed;
        control?.show(axis.typed);
      }
      const values = axis.count ? `${axis.count.toLocaleString("en")} value${axis.count === 1 ? "" : "s"}` : "";
      const words = [values, axis.told].filter(Boolean).join(": ");
      const said = axis.empty ? axis.words : words;
      if (summary.textContent !== said) summary.textContent = said;
      const wrong = axis.empty ? "" : axis.words;
      if (problem.textContent !== wrong) problem.textContent = wrong;
      problem.hidden = !wrong;
      control?.wrong(!!wrong);
    },
    focus: () => (control ? control.focus() : select.focus()),
  };
  select.addEventListener("change", () => {
    if (select.value) row.take(select.value, undefined);
    else row.clear();
    to.changed();
  });
  row.offer();
  return row;
}

/** All rows, and a button for another one. */
export function makeSweepAxes(link: any, name: string, changed: () => void) {
  let rows: ReturnType<typeof sweepRow>[] = [];
  let count = 0;
  const listed = made("div", { class: "rbf-sweep-axes" });
  const more = quietButton("Add a field", () => add().focus());
  const el = made("div", {}, listed, more);
  const offer = () => {
    rows.forEach((row) => row.offer());
    more.hidden = rows.length >= link.model.get("sheet").fields.filter(sweepCanVary).length;
  };
  const add = () => {
    count += 1;
    const row = sweepRow(link, `${name}-axis${count}`, {
      changed: () => {
        offer();
        changed();
      },
      removed: (gone: any) => {
        const place = rows.indexOf(gone);
        rows = rows.filter((one) => one !== gone);
        gone.el.remove();
        offer();
        (rows[place] ?? rows[place - 1] ?? { focus: () => more.focus() }).focus();
        if (gone.name) changed();
      },
      taken: (own: any) => new Set(rows.filter((one) => one !== own).map((one) => one.name)),
    });
    rows.push(row);
    listed.append(row.el);
    offer();
    return row;
  };
  return {
    el,
    /** What there is to plan. */
    typed: () =>
      rows
        .filter((row) => row.name)
        .map((row) => (row.typed === undefined ? { name: row.name } : { name: row.name, typed: row.typed })),
    /** Have a row for a field, with what the kernel proposes; one that is still empty is taken for it. */
    set(field: string) {
      const row = rows.find((one) => one.name === field) ?? rows.find((one) => !one.name) ?? add();
      row.take(field, undefined);
      offer();
    },
    /** Put the focus on a field's values, or where one begins. */
    focus(field?: string) {
      const row = field ? rows.find((one) => one.name === field) : (rows.find((one) => !one.name) ?? rows[0]);
      (row ?? add()).focus();
    },
    judge(axes: SweepAxis[]) {
      for (const axis of axes) rows.find((row) => row.name === axis.name)?.judge(axis);
    },
    /** Show what the kernel has. */
    adopt(axes: SweepAxis[]) {
      const own = JSON.stringify(rows.filter((row) => row.name).map((row) => [row.name, row.typed]));
      if (own !== JSON.stringify(axes.map((axis) => [axis.name, axis.typed]))) {
        rows.forEach((row) => row.el.remove());
        rows = [];
        for (const axis of axes) add().take(axis.name, axis.typed);
        offer();
      }
      this.judge(axes);
    },
  };
}
