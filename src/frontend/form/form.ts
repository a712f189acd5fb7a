/** A form: its head, its fields, what it costs and does, and its runs. */

import { copyText } from "../page/copy.ts";
import { made } from "../page/element.ts";
import { makeRunButton } from "./button.ts";
import { FieldPlaces, makeField } from "./fields.ts";
import { KERNEL_ENDED } from "./kernel.ts";
import { FormLink } from "./link.ts";
import { quietButton } from "./quiet.ts";
import { hideTwin, staleTwin, widgetRoot } from "./root.ts";
import { makeRuns } from "./runs.ts";
import { makeSweep } from "./sweep.ts";

export function renderForm({ model, el }: { model: any; el: HTMLElement }) {
  const sheet = model.get("sheet");
  const link = new FormLink(model) as any;
  const places = new FieldPlaces();
  link.register = places.register.bind(places);
  // Not counted: each kind of form is a script of its own, and all of them share the names of one page.
  const name = `rbf-${link.view}`;
  // Before the fields: some of them offer to be swept.
  const sweep = makeSweep(link, name);
  const drawn = sheet.fields.map((node: any, number: number) => {
    const id = `${name}-${number}`;
    const place = {
      node,
      path: [node.name],
      link,
      id,
      labelledBy: `${id}-label`,
      change: (value: any) => {
        link.edit(node.name, value);
        field.touch(value);
      },
    };
    const field = { ...makeField(place), node };
    return field;
  });
  const open = drawn.filter((field: any) => !field.node.folded);
  const rest = drawn.filter((field: any) => field.node.folded);
  const fold = formFold(rest);
  const runs = makeRuns(link);
  const foot = formFoot(link, name, { sweep: sweep.button, said: runs.said, pressed: runs.awaited });
  const stale = staleTwin(model, el);
  const results = formResults(sweep, runs, stale.el);
  const trouble = made("p", { class: "rbf-problem", role: "alert", hidden: true });
  const others = made("p", { class: "rbf-caption", hidden: true });
  const root = widgetRoot(
    STYLE,
    { class: "rbf-form", role: "form", "aria-label": sheet.title },
    made(
      "div",
      { class: "rbf-body" },
      made(
        "div",
        { class: "rbf-inputs" },
        formHead(sheet),
        made("div", { class: "rbf-fields" }, ...open.map((field: any) => field.el)),
        fold?.el,
        others,
        trouble,
        foot.el,
        sweep.el,
      ),
      results.el,
    ),
  );
  formCatches(root);
  // Whatever is pressed next, here or elsewhere, is about what was typed.
  root.addEventListener("focusout", () => link.flush());

  const rendered: Record<string, string> = {};
  const show = () => {
    for (const field of drawn) {
      const text = JSON.stringify(link.draft[field.node.name]) ?? "";
      if (rendered[field.node.name] !== text) {
        rendered[field.node.name] = text;
        field.show(link.draft[field.node.name]);
      }
    }
    const known = new Set(drawn.map((field: any) => field.node.name));
    const extra = Object.keys(link.draft).filter((key) => !known.has(key));
    others.hidden = !extra.length;
    others.textContent = extra.length ? `Also set: ${extra.join(", ")}` : "";
    update();
  };
  const update = () => {
    const { problems } = link.state;
    const unplaced = places.mark(problems.filter((one: any) => !link.isQuiet(one)));
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
    drawn.forEach((field: any) => field.dispose());
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

function formHead(sheet: any) {
  return made(
    "div",
    { class: "rbf-head" },
    made("div", {}, made("b", { text: sheet.title }), made("span", { class: "rbf-caption", text: ` ${sheet.model}` })),
    sheet.purpose ? made("div", { class: "rbf-caption", text: sheet.purpose }) : null,
  );
}

/** Advanced fields, folded. */
function formFold(fields: any[]) {
  if (!fields.length) return null;
  const count = made("span", { class: "rbf-caption" });
  const el = made(
    "details",
    { class: "rbf-fold" },
    made("summary", {}, made("span", { text: "More settings" }), count),
    made("div", { class: "rbf-fields" }, ...fields.map((field) => field.el)),
  ) as HTMLDetailsElement;
  const names = new Set(fields.map((field) => field.node.name));
  let wrong = 0;
  return {
    el,
    update(problems: any[], draft: Record<string, any>) {
      const now = problems.filter(({ at }) => names.has(at[0])).length;
      const changed = fields.filter(
        (field) =>
          field.node.name in draft && JSON.stringify(draft[field.node.name]) !== JSON.stringify(field.node.default),
      ).length;
      count.textContent = [` ${fields.length}`, changed ? `${changed} changed` : "", now ? `${now} to correct` : ""]
        .filter(Boolean)
        .join(" · ");
      // Open it, because a hidden problem cannot be corrected.
      if (now && !wrong) el.open = true;
      wrong = now;
    },
  };
}

/** What was made, beside the inputs where there is room: the sweeps and the runs, what was started last first. */
function formResults(sweep: any, runs: any, note: HTMLElement) {
  const empty = made("p", { class: "rbf-empty rbf-caption", text: "Results appear here." });
  const el = made("div", { class: "rbf-results" }, note, empty, sweep.results, runs.el);
  const show = () => {
    empty.hidden = !sweep.results.hidden || !runs.el.hidden;
  };
  const seen = new MutationObserver(show);
  for (const part of [sweep.results, runs.el]) seen.observe(part, { attributeFilter: ["hidden"] });
  const first = (part: HTMLElement) => {
    if (empty.nextSibling !== part) empty.after(part);
  };
  runs.onNew(() => first(runs.el));
  sweep.onNew(() => first(sweep.results));
  show();
  return { el, dispose: () => seen.disconnect() };
}

/** What it costs, and what can be done. */
function formFoot(
  link: any,
  name: string,
  { sweep, said, pressed }: { sweep: HTMLElement; said: HTMLElement; pressed: () => void },
) {
  const why = made("span", { class: "rbf-why", id: `${name}-why`, role: "status" });
  const lines = made("table", { class: "rbf-lines" });
  const source = made("summary", {});
  const price = made("details", { class: "rbf-price" }, source, lines);
  const copy = quietButton("Copy code", () => {
    isCopying = true;
    link.flush();
    link.ask({ do: "code" });
  });
  const uncopied = made("span", { class: "rbf-caption", role: "status" });
  const button = makeRunButton(link, why, press),
    run = button.el;
  const el = made(
    "div",
    { class: "rbf-foot" },
    made("div", { class: "rbf-row" }, run, sweep, copy, uncopied),
    made("div", { class: "rbf-answer" }, why, said),
    price,
  );
  /** What the button said when it was pressed. */
  let seen = { draft: "", credits: null as number | null, again: {} };
  const foot = { el, update, dispose };

  function update(unplaced: any[]) {
    const { state } = link;
    button.update();
    const words =
      state.ready || link.hasEnded
        ? ""
        : [state.why, ...unplaced.map((one) => one.words).filter((one) => one !== state.why)].join(" ");
    if (why.textContent !== words) why.textContent = words;
    source.textContent = state.price.source || state.price.told;
    lines.replaceChildren(
      ...state.price.lines.map(([label, value]: [string, string]) =>
        made("tr", {}, made("td", { text: label }), made("td", { text: value })),
      ),
    );
    price.title = state.price.lines.map((line: string[]) => line.join(" ")).join(", ");
    if (button.isWaiting && link.isHeard) begin();
  }
  // Only what stands in the form is run, at the price that stands on the button: what overtakes the press must not be paid for.
  function begin() {
    const { ready, price } = link.state;
    button.wait(false);
    link.wasTried = true;
    if (ready && price.credits !== seen.credits)
      link.announce(`Your last change makes it ${price.told}, so nothing was sent yet. Press Run to continue.`);
    else if (ready && JSON.stringify(link.draft) !== seen.draft)
      link.announce(
        "The form has changed since Run was pressed, so nothing was sent. Look at it again, then press Run.",
      );
    else if (ready) link.ask({ do: "run", change: link.state.change, ...seen.again });
    update([]);
  }
  function press() {
    link.flush();
    if (run.getAttribute("aria-disabled") === "true") return;
    seen = { draft: JSON.stringify(link.draft), credits: link.state.price.credits, again: button.take() };
    // The result is awaited from here on, also before the kernel has received the last edits.
    if (!link.isHeard || link.state.ready) pressed();
    if (link.isHeard) begin();
    else {
      button.wait(true);
      // A kernel that has ended never receives the edits; waiting would not end.
      link.ask({ do: "here", view: link.view }).then((isSent: boolean) => isSent || rest());
    }
  }
  const rest = () => {
    button.wait(false);
    update([]);
  };
  /** Whether the code is awaited here; runs receive theirs by messages of the same name. */
  let isCopying = false;
  // Why there is no code refers to earlier inputs.
  const offEdits = link.on("draft", () => {
    uncopied.textContent = "";
  });
  const off = link.on("code", (said: any) => {
    if (said.facts !== undefined || !isCopying) return;
    isCopying = false;
    if (said.code) copyText(copy, said.code);
    else uncopied.textContent = said.why;
  });
  function dispose() {
    off();
    offEdits();
    button.dispose();
  }
  return foot;
}

/** Files that miss the place for a picture: the page around it would open them, and the notebook would be gone. */
function formCatches(root: HTMLElement) {
  const wells = () => [...root.querySelectorAll(".rbf-image, .rbf-tl")].filter((one) => one.getClientRects().length);
  const caught = (event: DragEvent) => {
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
const FORM_OUTPUT =
  ".jp-CodeCell:not(.jp-mod-outputsScrolled) :is(.jp-OutputArea, .jp-OutputArea-child, .jp-OutputArea-output):has(.rbf-form) { overflow: clip visible !important; }";
