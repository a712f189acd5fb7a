/** A form: its head, its fields, what it costs and does, and its runs. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { copyText } from "../page/copy.ts";
import { Field } from "./fields.tsx";
import { KERNEL_ENDED, useNews } from "./kernel.ts";
import { FormLink } from "./link.ts";
import { drawWidget, StaleNote, useHiddenTwin } from "./root.tsx";
import { type Entry, Runs } from "./runs.tsx";
import { type Opening, Sweep } from "./sweep.tsx";
import { classes, Primary, Quiet } from "./ui.tsx";
import { isSame, type Node, problemsAt } from "./values.ts";

const OFFER = 8000; // Milliseconds for which another press starts another run.
// What cuts off an output may not be what the results stick to: they would scroll away with it.
const FORM_OUTPUT =
  ".jp-CodeCell:not(.jp-mod-outputsScrolled) :is(.jp-OutputArea, .jp-OutputArea-child, .jp-OutputArea-output):has(.rbf-form) { overflow: clip visible !important; }";

export function renderForm({ model, el }: { model: any; el: HTMLElement }) {
  const link = new FormLink(model);
  const facts = { class: "rbf-form", role: "form", "aria-label": model.get("sheet").title };
  const remove = drawWidget(el, facts, <Form link={link} name={`rbf-${link.view}`} />);
  const root = el.lastElementChild as HTMLElement;
  root.append(link.voice);
  catchFiles(root);
  // Whatever is pressed next, here or elsewhere, is about what was typed.
  root.addEventListener("focusout", () => link.flush());
  link.here();
  return () => {
    remove();
    link.dispose();
  };
}

function Form({ link, name }: { link: FormLink; name: string }) {
  const { model } = link;
  const { title, model: id, purpose, fields } = model.get("sheet");
  const [swept, sweep] = useState<Opening | null>(null);
  const sweeper = useRef<HTMLButtonElement>(null);
  link.openSweep = (field) => sweep({ field });
  useHiddenTwin(model, FORM_OUTPUT);
  const isEmpty = !model.get("records")?.length;
  useNews(link, ["change:records"]);
  return (
    <div class="rbf-body">
      <div class="rbf-inputs">
        <div class="rbf-head">
          <div>
            <b>{title}</b> <span class="rbf-caption">{id}</span>
          </div>
          {purpose && <div class="rbf-caption">{purpose}</div>}
        </div>
        <div class="rbf-all-fields">
          <Fields nodes={fields} link={link} name={name} />
        </div>
        <Foot link={link} name={name}>
          <Quiet
            title="Run many variations of this form"
            aria-expanded={!!swept}
            aria-controls={`${name}-sweep`}
            buttonRef={sweeper}
            act={() => sweep(swept ? null : {})}
          >
            Sweep…
          </Quiet>
        </Foot>
        <Sweep
          link={link}
          name={name}
          opened={swept}
          open={(opened) => {
            sweep(opened);
            if (!opened) sweeper.current?.focus();
          }}
        />
      </div>
      {/* What was made, beside the inputs where there is room. */}
      <div class="rbf-results">
        <StaleNote model={model} />
        <p class="rbf-empty rbf-caption" hidden={!isEmpty}>
          Results appear here.
        </p>
        <Runs link={link} />
      </div>
    </div>
  );
}

/** All fields, those that few need folded away, and what is to be said about them together. */
export function Fields({ nodes, link, name }: { nodes: Node[]; link: FormLink; name: string }) {
  useNews(link, ["state", "draft", "ended"]);
  useLayoutEffect(() => {
    // Nobody can type what can only be one thing, so what must be there is put there.
    for (const node of nodes)
      if (node.kind === "constant" && node.required && node.default === undefined && !(node.name in link.draft))
        link.edit(node.name, node.value);
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

/** What it costs, and what can be done: Run says how far the run under way is, and whether another press starts another. */
function Foot({ link, name, children }: { link: FormLink; name: string; children: any }) {
  const { state } = link;
  const { price } = state;
  const copy = useRef<HTMLButtonElement>(null);
  const [said, say] = useState("");
  const [isPressed, press] = useState(false);
  /** The number with which a press starts another run; 0 where none is offered. */
  const [again, offer] = useState(0);
  const records: Entry[] = link.hasEnded ? [] : (link.model.get("records") ?? []);
  const runs = records.filter(({ kind }) => kind === "run");
  const [uncopied, complain] = useState("");
  const newest = records[0] && `${records[0].key} ${records[0].status}`;
  useEffect(() => say(""), [newest]);
  useEffect(() => {
    const timer = again && setTimeout(() => offer(0), OFFER);
    return () => clearTimeout(timer);
  }, [again]);
  useNews(link, ["ended", "state"], {
    "change:records": () => press(false),
    trouble: () => press(false),
    // What was said, and what is offered, is about earlier inputs.
    draft: () => {
      offer(0);
      say("");
      complain("");
    },
    said: (content) => {
      press(false);
      say(content.said);
      offer(content.again ?? 0);
      link.say(content.said);
    },
  });
  const going = runs.find(({ isOver }) => !isOver);
  const isGoing = going?.change === state.change && link.isHeard && !again;
  const isSending = runs.some((run) => run.isSending);
  const busy = isPressed ? "Waiting for the kernel …" : isSending ? "Sending …" : isGoing ? going?.button : "";
  const label = `${again ? "Run another" : "Run"}${price.credits === null ? "" : ` · ${price.told}`}`;
  const run = async () => {
    link.await();
    press(true);
    offer(0);
    say("");
    // A kernel that has ended never answers.
    if (!(await link.press(again))) press(false);
  };
  const copyCode = async () => {
    link.flush();
    const answer = await link.request({ do: "code" });
    if (answer.code && copy.current) copyText(copy.current, answer.code);
    else if (!link.hasEnded) complain(answer.error);
  };
  // Those that no field shows.
  const unplaced = state.problems.filter(({ at }) => !at.length || !link.node(String(at[0])));
  const reasons = [...new Set([state.why, ...unplaced.map((problem) => problem.words)])];
  return (
    <div class="rbf-foot">
      <div class="rbf-row">
        <Primary
          class={classes("rbf-run-button", busy && "rbf-run-busy")}
          isOff={!state.ready || isSending || isPressed}
          aria-describedby={`${name}-why`}
          act={run}
        >
          <span class="rbf-run-label">{busy || label}</span>
          <span
            class="rbf-run-fill"
            hidden={!going}
            style={{ width: `${Math.round(100 * (going?.fraction ?? 0))}%` }}
          />
        </Primary>
        {children}
        <Quiet act={copyCode} buttonRef={copy}>
          Copy code
        </Quiet>
        <span class="rbf-caption" role="status">
          {uncopied}
        </span>
      </div>
      <div class="rbf-answer">
        <span class="rbf-why" id={`${name}-why`} role="status">
          {state.ready || link.hasEnded ? "" : reasons.join(" ")}
        </span>
        <p class="rbf-caption rbf-run-said">{said}</p>
      </div>
      <details class="rbf-price" title={price.lines.map((line) => line.join(" ")).join(", ")}>
        <summary>{price.source || price.told}</summary>
        <table class="rbf-lines">
          {price.lines.map(([what, value]) => (
            <tr key={what}>
              <td>{what}</td>
              <td>{value}</td>
            </tr>
          ))}
        </table>
      </details>
    </div>
  );
}

/** Files that miss the place for a picture: the page around it would open them, and the notebook would be gone. */
function catchFiles(root: HTMLElement) {
  const wells = () => [...root.querySelectorAll(".rbf-image, .rbf-tl")].filter((well) => well.getClientRects().length);
  const caught = (event: DragEvent) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    event.stopPropagation();
    event.dataTransfer.dropEffect = wells().length === 1 ? "copy" : "none";
    // Where there is one place for them, no other can be meant.
    if (event.type === "drop" && wells().length === 1)
      wells()[0].dispatchEvent(new DragEvent("drop", { dataTransfer: event.dataTransfer }));
  };
  root.addEventListener("dragover", caught);
  root.addEventListener("drop", caught);
}
