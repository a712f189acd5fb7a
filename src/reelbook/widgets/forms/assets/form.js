// @ts-check
/** A form: its head, its fields, what it costs and does, and its runs. */
import { makeRunButton } from "./form_button.js";
import { made } from "../../../display/assets/table_element.js";
import { FieldPlaces, makeField } from "./form_fields.js";
import { canInsertCell, insertCell } from "./form_insert.js";
import { KERNEL_ENDED } from "./form_kernel.js";
import { FormLink } from "./form_link.js";
import { hideTwin, staleTwin, widgetRoot } from "./form_root.js";
import { makeRuns } from "./form_runs.js";
import { makeSweep } from "./form_sweep.js";
import { quietButton } from "./form_quiet.js";

/** @param {{model: any, el: HTMLElement}} view */
function renderForm({ model, el }) {
  const sheet = model.get("sheet");
  const link = /** @type {any} */ (new FormLink(model));
  const places = new FieldPlaces();
  link.register = places.register.bind(places);
  // Not counted: each kind of form is a script of its own, and all of them share the names of one page.
  const name = `rbf-${link.view}`;
  // Before the fields: some of them offer to be swept.
  const sweep = makeSweep(link, name);
  const drawn = sheet.fields.map((/** @type {any} */ node, /** @type {number} */ number) => {
    const id = `${name}-${number}`;
    const place = { node, path: [node.name], link, id, labelledBy: `${id}-label`, change: (/** @type {any} */ value) => {
      link.edit(node.name, value);
      field.touch(value);
    } };
    const field = { ...makeField(place), node };
    return field;
  });
  const open = drawn.filter((/** @type {any} */ field) => !field.node.folded);
  const rest = drawn.filter((/** @type {any} */ field) => field.node.folded);
  const fold = formFold(rest);
  const runs = makeRuns(link);
  const foot = formFoot(link, name, { sweep: sweep.button, said: runs.said, pressed: runs.awaited });
  const stale = staleTwin(model, el);
  const results = formResults(sweep, runs, stale.el);
  const trouble = made("p", { class: "rbf-problem", role: "alert", hidden: true });
  const others = made("p", { class: "rbf-caption", hidden: true });
  const root = widgetRoot(FORM_STYLE, { class: "rbf-form", role: "form", "aria-label": sheet.title },
    made("div", { class: "rbf-body" },
      made("div", { class: "rbf-inputs" },
        formHead(sheet),
        made("div", { class: "rbf-fields" }, ...open.map((/** @type {any} */ field) => field.el)),
        fold?.el, others, trouble, foot.el, sweep.el),
      results.el));
  formCatches(root);
  // Whatever is pressed next, here or elsewhere, is about what was typed.
  root.addEventListener("focusout", () => link.flush());

  /** @type {Record<string, string>} */
  const rendered = {};
  const show = () => {
    for (const field of drawn) {
      const text = JSON.stringify(link.draft[field.node.name]) ?? "";
      if (rendered[field.node.name] !== text) {
        rendered[field.node.name] = text;
        field.show(link.draft[field.node.name]);
      }
    }
    const known = new Set(drawn.map((/** @type {any} */ field) => field.node.name));
    const extra = Object.keys(link.draft).filter((key) => !known.has(key));
    others.hidden = !extra.length;
    others.textContent = extra.length ? `Also set: ${extra.join(", ")}` : "";
    update();
  };
  const update = () => {
    const { problems } = link.state;
    const unplaced = places.mark(problems.filter((/** @type {any} */ one) => !link.isQuiet(one)));
    fold?.update(problems, link.draft);
    foot.update(unplaced);
  };
  const offs = [
    link.on("state", show),
    link.on("draft", () => {
      for (const field of drawn) rendered[field.node.name] = JSON.stringify(link.draft[field.node.name]) ?? "";
      foot.update([]);
    }),
    link.on("ended", () => {
      trouble.textContent = link.hasEnded ? KERNEL_ENDED : "";
      trouble.hidden = !link.hasEnded;
      update();
    }),
  ];
  show();
  const unhide = hideTwin(model.get("twin"), FORM_OUTPUT);
  el.append(root);
  link.ask({ do: "here", view: link.view });
  return () => {
    offs.forEach((off) => off());
    drawn.forEach((/** @type {any} */ field) => field.dispose());
    foot.dispose();
    results.dispose();
    stale.dispose();
    sweep.dispose();
    runs.dispose();
    link.dispose();
    unhide();
    root.remove();
  };
}

/** @param {any} sheet */
function formHead(sheet) {
  return made("div", { class: "rbf-head" },
    made("div", {}, made("b", { text: sheet.title }), made("span", { class: "rbf-caption", text: ` ${sheet.model}` })),
    sheet.purpose ? made("div", { class: "rbf-caption", text: sheet.purpose }) : null);
}

/** Advanced fields, folded. @param {any[]} fields */
function formFold(fields) {
  if (!fields.length) return null;
  const count = made("span", { class: "rbf-caption" });
  const el = /** @type {HTMLDetailsElement} */ (made("details", { class: "rbf-fold" },
    made("summary", {}, made("span", { text: "More settings" }), count),
    made("div", { class: "rbf-fields" }, ...fields.map((field) => field.el))));
  const names = new Set(fields.map((field) => field.node.name));
  let wrong = 0;
  return { el, update(/** @type {any[]} */ problems, /** @type {Record<string, any>} */ draft) {
    const now = problems.filter(({ at }) => names.has(at[0])).length;
    const changed = fields.filter((field) => field.node.name in draft && JSON.stringify(draft[field.node.name]) !== JSON.stringify(field.node.default)).length;
    count.textContent = [` ${fields.length}`, changed ? `${changed} changed` : "", now ? `${now} to correct` : ""].filter(Boolean).join(" · ");
    // Open it, because a hidden problem cannot be corrected.
    if (now && !wrong) el.open = true;
    wrong = now;
  } };
}

/** What was made, beside the inputs where there is room: the sweeps and the runs, what was started last first. @param {any} sweep @param {any} runs @param {HTMLElement} note */
function formResults(sweep, runs, note) {
  const empty = made("p", { class: "rbf-empty rbf-caption", text: "Results appear here." });
  const el = made("div", { class: "rbf-results" }, note, empty, sweep.results, runs.el);
  const show = () => { empty.hidden = !sweep.results.hidden || !runs.el.hidden; };
  const seen = new MutationObserver(show);
  for (const part of [sweep.results, runs.el]) seen.observe(part, { attributeFilter: ["hidden"] });
  const first = (/** @type {HTMLElement} */ part) => { if (empty.nextSibling !== part) empty.after(part); };
  runs.onNew(() => first(runs.el));
  sweep.onNew(() => first(sweep.results));
  show();
  return { el, dispose: () => seen.disconnect() };
}

/**
 * What it costs, and what can be done.
 * @param {any} link @param {string} name @param {{sweep: HTMLElement, said: HTMLElement, pressed: () => void}} parts
 */
function formFoot(link, name, { sweep, said, pressed }) {
  const why = made("span", { class: "rbf-why", id: `${name}-why`, role: "status" });
  const lines = made("table", { class: "rbf-lines" });
  const source = made("summary", {});
  const price = made("details", { class: "rbf-price" }, source, lines);
  const copy = quietButton("Copy code", () => ask("copy"));
  const insert = quietButton("Insert cell", () => ask("insert"), { title: "A new cell below with this code", hidden: !canInsertCell(link.model) });
  const copied = made("span", { class: "rbf-caption", role: "status" });
  const code = /** @type {HTMLTextAreaElement} */ (made("textarea", { class: "rbf-code", readonly: true, rows: "3", "aria-label": "Code", hidden: true }));
  const button = makeRunButton(link, why, press), run = button.el;
  const el = made("div", { class: "rbf-foot" }, made("div", { class: "rbf-row" }, run, sweep, copy, insert, copied), made("div", { class: "rbf-answer" }, why, said), price, code);
  /** What the button said when it was pressed. */
  let seen = { change: 0, credits: /** @type {number | null} */ (null), again: {} };
  const foot = { el, update, dispose };

  /** @param {any[]} unplaced */
  function update(unplaced) {
    const { state } = link;
    button.update();
    const words = state.ready || link.hasEnded ? "" : [state.why, ...unplaced.map((one) => one.words).filter((one) => one !== state.why)].join(" ");
    if (why.textContent !== words) why.textContent = words;
    source.textContent = state.price.source || state.price.told;
    lines.replaceChildren(...state.price.lines.map(([label, value]) => made("tr", {}, made("td", { text: label }), made("td", { text: value }))));
    price.title = state.price.lines.map((/** @type {string[]} */ line) => line.join(" ")).join(", ");
    if (button.isWaiting && link.isHeard) begin();
  }
  // Only what stands in the form is run, at the price that stands on the button: what overtakes the press must not be paid for.
  function begin() {
    const { ready, price } = link.state;
    button.wait(false);
    link.wasTried = true;
    if (ready && price.credits !== seen.credits) link.announce(`What was typed last makes it ${price.told}, so nothing was sent yet. Press Run to go on.`);
    else if (ready) link.ask({ do: "run", view: link.view, edits: link.edits, seen: seen.change, ...seen.again });
    update([]);
  }
  function press() {
    link.flush();
    if (run.getAttribute("aria-disabled") === "true") return;
    seen = { change: link.state.change, credits: link.state.price.credits, again: button.take() };
    // The result is awaited from here on, also before the kernel has received the last edits.
    if (!link.isHeard || link.state.ready) pressed();
    if (link.isHeard) begin();
    else {
      button.wait(true);
      // A kernel that has ended never receives the edits; waiting would not end.
      link.ask({ do: "here", view: link.view }).then((/** @type {boolean} */ isSent) => isSent || rest());
    }
  }
  const rest = () => {
    button.wait(false);
    update([]);
  };
  /** What to do with the code when it arrives; runs receive theirs by messages of the same name. */
  let wanted = "";
  const ask = (/** @type {string} */ use) => {
    wanted = use;
    link.flush();
    link.ask({ do: "code" });
  };
  // The message about the code refers to earlier inputs.
  const offEdits = link.on("draft", () => { copied.textContent = ""; });
  const off = link.on("code", async (/** @type {any} */ said) => {
    const use = said.facts === undefined ? wanted : "";
    if (!use) return undefined;
    wanted = "";
    code.hidden = true;
    if (!said.code) return (copied.textContent = said.why);
    if (use === "insert") {
      insertCell(link.model, el, said.code);
      return (copied.textContent = "Inserted below");
    }
    try {
      await navigator.clipboard.writeText(said.code);
      copied.textContent = "Copied";
    } catch {
      // No clipboard on pages without TLS: it can be taken by hand.
      code.value = said.code;
      code.hidden = false;
      code.select();
      copied.textContent = "";
    }
    return undefined;
  });
  function dispose() {
    off();
    offEdits();
    button.dispose();
  }
  return foot;
}

/** Files that miss the place for a picture: the page around it would open them, and the notebook would be gone. @param {HTMLElement} root */
function formCatches(root) {
  const wells = () => [...root.querySelectorAll(".rbf-image, .rbf-tl")].filter((one) => one.getClientRects().length);
  const caught = (/** @type {DragEvent} */ event) => {
    if (!event.dataTransfer?.types.includes("Files")) return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  };
  root.addEventListener("dragover", (event) => {
    if (caught(event) && event.dataTransfer) event.dataTransfer.dropEffect = wells().length === 1 ? "copy" : "none";
  });
  // Where there is one place for them, no other can be meant.
  root.addEventListener("drop", (event) => {
    const places = caught(event) ? wells() : [];
    if (places.length === 1) places[0].dispatchEvent(new DragEvent("drop", { dataTransfer: event.dataTransfer }));
  });
}

// What cuts off an output may not be what the results stick to: they would scroll away with it.
const FORM_OUTPUT = ".jp-CodeCell:not(.jp-mod-outputsScrolled) :is(.jp-OutputArea, .jp-OutputArea-child, .jp-OutputArea-output):has(.rbf-form) { overflow: clip visible !important; }";
