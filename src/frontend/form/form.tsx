/** A form: its head, its fields, what it costs and does, and its runs. */

import { render } from "preact";
import { useEffect, useLayoutEffect, useReducer, useRef } from "preact/hooks";
import { copyText } from "../page/copy.ts";
import { made } from "../page/element.ts";
import { makeRunButton } from "./button.ts";
import { Field } from "./fields.tsx";
import { KERNEL_ENDED } from "./kernel.ts";
import { FormLink } from "./link.ts";
import { quietButton } from "./quiet.ts";
import { hideTwin, staleTwin, widgetRoot } from "./root.ts";
import { makeRuns } from "./runs.tsx";
import { makeSweep } from "./sweep.tsx";
import { isSame, type Node, type Problem, problemsAt } from "./values.ts";

// What cuts off an output may not be what the results stick to: they would scroll away with it.
const FORM_OUTPUT =
  ".jp-CodeCell:not(.jp-mod-outputsScrolled) :is(.jp-OutputArea, .jp-OutputArea-child, .jp-OutputArea-output):has(.rbf-form) { overflow: clip visible !important; }";

export function renderForm({ model, el }: { model: any; el: HTMLElement }) {
  const sheet = model.get("sheet");
  const link = new FormLink(model);
  // Not counted: each kind of form is a script of its own, and all of them share the names of one page.
  const name = `rbf-${link.view}`;
  // Before the fields: some of them offer to be swept.
  const sweep = makeSweep(link as any, name);
  const runs = makeRuns(link);
  const foot = makeFoot(link, name, { sweep: sweep.button, said: runs.said, pressed: runs.awaited });
  const stale = staleTwin(model, el);
  const results = makeResults(runs, stale.el);
  const fields = made("div", { class: "rbf-all-fields" });
  const root = widgetRoot(
    STYLE,
    { class: "rbf-form", role: "form", "aria-label": sheet.title },
    made(
      "div",
      { class: "rbf-body" },
      made("div", { class: "rbf-inputs" }, makeHead(sheet), fields, foot.el, sweep.el),
      results.el,
    ),
  );
  catchFiles(root);
  // Whatever is pressed next, here or elsewhere, is about what was typed.
  root.addEventListener("focusout", () => link.flush());
  render(<Fields nodes={sheet.fields} link={link} name={name} />, fields);
  const unhide = hideTwin(model.get("twin"), FORM_OUTPUT);
  el.append(root);
  link.ask({ do: "here", view: link.view });
  return () => {
    render(null, fields);
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

/** All fields, those that few need folded away, and what is to be said about them together. */
export function Fields({ nodes, link, name }: { nodes: Node[]; link: FormLink; name: string }) {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  useLayoutEffect(() => {
    const offs = ["state", "draft", "ended"].map((key) => link.on(key, () => draw(0)));
    // Nobody can type what can only be one thing, so what must be there is put there.
    for (const node of nodes)
      if (node.kind === "constant" && node.required && node.default === undefined && !(node.name in link.draft))
        link.edit(node.name, node.value);
    return () => offs.forEach((off) => off());
  }, []);
  const problems = link.state.problems.filter((problem) => !link.isQuiet(problem));
  const drawn = (node: Node) => (
    <Field
      key={node.name}
      node={node}
      path={[node.name]}
      link={link}
      id={`${name}-${nodes.indexOf(node)}`}
      value={link.draft[node.name]}
      problems={problemsAt(problems, node.name)}
      change={(value) => link.edit(node.name, value)}
    />
  );
  const folded = nodes.filter((node) => node.folded);
  const extra = Object.keys(link.draft).filter((key) => !nodes.some((node) => node.name === key));
  return (
    <>
      <div class="rbf-fields">{nodes.filter((node) => !node.folded).map(drawn)}</div>
      {folded.length > 0 && (
        <Fold nodes={folded} link={link}>
          {folded.map(drawn)}
        </Fold>
      )}
      <p class="rbf-caption" hidden={!extra.length}>
        Also set: {extra.join(", ")}
      </p>
      <p class="rbf-problem" role="alert" hidden={!link.hasEnded}>
        {link.hasEnded && KERNEL_ENDED}
      </p>
    </>
  );
}

function Fold({ nodes, link, children }: { nodes: Node[]; link: FormLink; children: any }) {
  const fold = useRef<HTMLDetailsElement>(null);
  const wrong = link.state.problems.filter(({ at }) => nodes.some(({ name }) => name === at[0])).length;
  const changed = nodes.filter(
    ({ name, default: usual }) => name in link.draft && !isSame(link.draft[name], usual),
  ).length;
  // Opened, because a hidden problem cannot be corrected.
  useEffect(() => {
    if (wrong && fold.current) fold.current.open = true;
  }, [wrong > 0]);
  const words = [` ${nodes.length}`, changed && `${changed} changed`, wrong && `${wrong} to correct`];
  return (
    <details class="rbf-fold" ref={fold}>
      <summary>
        <span>More settings</span>
        <span class="rbf-caption">{words.filter(Boolean).join(" · ")}</span>
      </summary>
      <div class="rbf-fields">{children}</div>
    </details>
  );
}

function makeHead(sheet: any) {
  return made(
    "div",
    { class: "rbf-head" },
    made("div", {}, made("b", { text: sheet.title }), made("span", { class: "rbf-caption", text: ` ${sheet.model}` })),
    sheet.purpose ? made("div", { class: "rbf-caption", text: sheet.purpose }) : null,
  );
}

/** What was made, beside the inputs where there is room. */
function makeResults(runs: any, note: HTMLElement) {
  const empty = made("p", { class: "rbf-empty rbf-caption", text: "Results appear here." });
  const el = made("div", { class: "rbf-results" }, note, empty, runs.el);
  const show = () => {
    empty.hidden = !runs.el.hidden;
  };
  const seen = new MutationObserver(show);
  seen.observe(runs.el, { attributeFilter: ["hidden"] });
  show();
  return { el, dispose: () => seen.disconnect() };
}

/** What it costs, and what can be done. */
function makeFoot(
  link: FormLink,
  name: string,
  { sweep, said, pressed }: { sweep: HTMLElement; said: HTMLElement; pressed: () => void },
) {
  const why = made("span", { class: "rbf-why", id: `${name}-why`, role: "status" });
  const lines = made("table", { class: "rbf-lines" });
  const source = made("summary", {});
  const price = made("details", { class: "rbf-price" }, source, lines);
  const copy = quietButton("Copy code", async () => {
    link.flush();
    const answer = await link.request({ do: "code" });
    if (answer.code) copyText(copy, answer.code);
    else if (!link.hasEnded) uncopied.textContent = answer.error;
  });
  const uncopied = made("span", { class: "rbf-caption", role: "status" });
  const button = makeRunButton(link as any, why, press);
  const el = made(
    "div",
    { class: "rbf-foot" },
    made("div", { class: "rbf-row" }, button.el, sweep, copy, uncopied),
    made("div", { class: "rbf-answer" }, why, said),
    price,
  );
  /** What the button said when it was pressed. */
  let seen = { draft: "", credits: null as number | null, again: {} };

  /** @param hasEdits What is wrong refers to earlier inputs. */
  function update(hasEdits = false) {
    const { state } = link;
    const unplaced = hasEdits
      ? []
      : state.problems.filter(({ at }: Problem) => !at.length || !link.node(String(at[0])));
    button.update();
    const reasons = [...new Set([state.why, ...unplaced.map((problem) => problem.words)])];
    const words = state.ready || link.hasEnded ? "" : reasons.join(" ");
    if (why.textContent !== words) why.textContent = words;
    source.textContent = state.price.source || state.price.told;
    lines.replaceChildren(
      ...state.price.lines.map(([label, value]) =>
        made("tr", {}, made("td", { text: label }), made("td", { text: value })),
      ),
    );
    price.title = state.price.lines.map((line) => line.join(" ")).join(", ");
    if (button.isWaiting && link.isHeard) begin();
  }
  // Only what stands in the form is run, at the price that stands on the button: what overtakes the press must not be paid for.
  function begin() {
    const { ready, price: now, change } = link.state;
    button.wait(false);
    link.wasTried = true;
    if (ready && now.credits !== seen.credits)
      link.announce(`Your last change makes it ${now.told}, so nothing was sent yet. Press Run to continue.`);
    else if (ready && JSON.stringify(link.draft) !== seen.draft)
      link.announce(
        "The form has changed since Run was pressed, so nothing was sent. Look at it again, then press Run.",
      );
    else if (ready) link.ask({ do: "run", change, ...seen.again });
    update();
  }
  function press() {
    link.flush();
    if (button.el.getAttribute("aria-disabled") === "true") return;
    seen = { draft: JSON.stringify(link.draft), credits: link.state.price.credits, again: button.take() };
    // The result is awaited from here on, also before the kernel has received the last edits.
    if (!link.isHeard || link.state.ready) pressed();
    if (link.isHeard) return begin();
    button.wait(true);
    // A kernel that has ended never receives the edits; waiting would not end.
    link.ask({ do: "here", view: link.view }).then((isSent) => {
      if (isSent) return;
      button.wait(false);
      update();
    });
  }
  const offs = [
    link.on("state", () => update()),
    link.on("ended", () => update()),
    link.on("draft", () => {
      // Why there is no code refers to earlier inputs, too.
      uncopied.textContent = "";
      update(true);
    }),
  ];
  update();
  const dispose = () => {
    offs.forEach((off) => off());
    button.dispose();
  };
  return { el, dispose };
}

/** Files that miss the place for a picture: the page around it would open them, and the notebook would be gone. */
function catchFiles(root: HTMLElement) {
  const wells = () => [...root.querySelectorAll(".rbf-image, .rbf-tl")].filter((well) => well.getClientRects().length);
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
