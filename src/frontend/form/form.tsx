/** A form: its head, its fields, what it costs and does, and what was started from it. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { copyText } from "../page/copy.ts";
import { serveFiles } from "../page/kernel_link.ts";
import { Card, Drawn, Poster, State, UseIn } from "./card.tsx";
import { Field } from "./fields.tsx";
import { FormLink, KERNEL_ENDED, useNews } from "./link.ts";
import { Sweep } from "./sweep.tsx";
import { classes, drawWidget, Primary, Quiet, useHiddenTwin } from "./ui.tsx";
import { type Node, problemsAt } from "./values.ts";

/** A run, a sweep or a race, as the kernel tells of it. */
type Entry = {
  key: string;
  kind: "run" | "sweep" | "race";
  status: string;
  mark: string;
  line: string;
  isOver: boolean;
  actions?: [string, string, string][];
  said?: string;
  /** What the button says while it goes on. */
  button?: string;
  fraction?: number;
  change?: number;
  isSending?: boolean;
  /** Which file has its poster. */
  file?: number;
  uses?: [string, string][];
};
/** What came of an entry in messages. */
type Drawing = { isAsked?: boolean; html?: string; judge?: string; said?: string };

// What cuts off an output may not be what the results stick to: they would scroll away with it.
const FORM_OUTPUT =
  ".jp-CodeCell:not(.jp-mod-outputsScrolled) :is(.jp-OutputArea, .jp-OutputArea-child, .jp-OutputArea-output):has(.rbf-form) { overflow: clip visible !important; }";

export function renderForm({ model, el }: { model: any; el: HTMLElement }) {
  const link = new FormLink(model);
  const facts = { class: "rbf-form", role: "form", "aria-label": model.get("sheet").title };
  const remove = drawWidget(el, facts, <Form link={link} name={`rbf-${link.view}`} />);
  const root = el.lastElementChild as HTMLElement;
  root.append(link.voice);
  // A file that misses the place for a picture: the page around it would open it, and the notebook would be gone.
  for (const kind of ["dragover", "drop"] as const)
    root.addEventListener(kind, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      event.stopPropagation();
      event.dataTransfer.dropEffect = "none";
    });
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
  const [isSwept, sweep] = useState(false);
  const sweeper = useRef<HTMLButtonElement>(null);
  useHiddenTwin(model, FORM_OUTPUT);
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
            aria-expanded={isSwept}
            aria-controls={`${name}-sweep`}
            buttonRef={sweeper}
            act={() => sweep(!isSwept)}
          >
            Sweep…
          </Quiet>
        </Foot>
        <Sweep
          link={link}
          name={name}
          isOpen={isSwept}
          close={() => {
            sweep(false);
            sweeper.current?.focus();
          }}
        />
      </div>
      {/* What was made, beside the inputs where there is room. */}
      <div class="rbf-results">
        <Runs link={link} />
      </div>
    </div>
  );
}

/** All fields, those that few need folded away, and what is to be said about them together. */
export function Fields({ nodes, link, name }: { nodes: Node[]; link: FormLink; name: string }) {
  useNews(link, ["state", "draft", "ended"]);
  const fold = useRef<HTMLDetailsElement>(null);
  // What is missing is told beside Run alone: whoever fills in a form knows that it is not filled in yet.
  const problems = link.state.problems.filter(({ kind }) => kind !== "missing");
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
  const wrong = link.state.problems.filter(({ at }) => folded.some((node) => node.name === at[0])).length;
  // Opened, because a hidden problem cannot be corrected.
  useEffect(() => {
    if (wrong && fold.current) fold.current.open = true;
  }, [wrong > 0]);
  return (
    <>
      <div class="rbf-fields">{nodes.filter((node) => !node.folded).map(drawn)}</div>
      {folded.length > 0 && (
        <details class="rbf-fold" ref={fold}>
          <summary>
            More settings <span class="rbf-caption">{wrong ? `${wrong} to correct` : folded.length}</span>
          </summary>
          <div class="rbf-fields">{folded.map(drawn)}</div>
        </details>
      )}
      <p class="rbf-problem" role="alert" hidden={!link.hasEnded}>
        {link.hasEnded && KERNEL_ENDED}
      </p>
    </>
  );
}

/** What it costs, and what can be done: Run says how far the run under way is, and whether another press starts another. */
function Foot({ link, name, children }: { link: FormLink; name: string; children: any }) {
  const { state } = link;
  const { price } = state;
  const copy = useRef<HTMLButtonElement>(null);
  /** What the kernel has answered, and the number with which a press starts another run; 0 where none is offered. */
  const [{ said, again }, answer] = useState({ said: "", again: 0 });
  const [isPressed, press] = useState(false);
  const records: Entry[] = link.hasEnded ? [] : (link.model.get("records") ?? []);
  const runs = records.filter(({ kind }) => kind === "run");
  const forget = () => answer({ said: "", again: 0 });
  const newest = records[0] && `${records[0].key} ${records[0].status}`;
  // What was said is about earlier inputs, or another run.
  useEffect(forget, [newest]);
  useNews(link, ["ended", "state"], {
    "change:records": () => press(false),
    trouble: () => press(false),
    draft: forget,
    said: (content) => {
      press(false);
      answer({ said: content.said, again: content.again ?? 0 });
      link.say(content.said);
    },
  });
  const going = runs.find(({ isOver }) => !isOver);
  const isGoing = going?.change === state.change && link.isHeard && !again;
  const isSending = runs.some((run) => run.isSending);
  const busy = isPressed ? "Waiting for the kernel …" : isSending ? "Sending …" : isGoing ? going?.button : "";
  const label = `${again ? "Run another" : "Run"}${price.credits === null ? "" : ` · ${price.told}`}`;
  const run = async () => {
    link.isAwaited = true;
    press(true);
    forget();
    // A kernel that has ended never answers.
    if (!(await link.press(again))) press(false);
  };
  const copyCode = async () => {
    link.flush();
    const { code, error } = await link.request({ do: "code" });
    if (code && copy.current) copyText(copy.current, code);
    else if (!link.hasEnded) answer({ said: error, again: 0 });
  };
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
      </div>
      <div class="rbf-answer">
        <span class="rbf-why" id={`${name}-why`} role="status">
          {state.ready || link.hasEnded ? "" : state.why}
        </span>
        <p class="rbf-caption rbf-run-said">{said}</p>
      </div>
      <span class="rbf-caption">{[...price.lines.map((line) => line.join(" ")), price.source].join(" · ")}</span>
    </div>
  );
}

const nameOf = ({ kind, key }: Entry) => `${kind} ${key.replace("s", "")}`;

/** What was started here: the newest large, or the one that was chosen, and all as a strip of small pictures. */
export function Runs({ link }: { link: FormLink }) {
  const { model } = link;
  const entries: Entry[] = model.get("records") ?? [];
  const view = useRef<HTMLDivElement>(null);
  const drawings = useRef<Record<string, Drawing>>({}).current;
  const states = useRef<Record<string, string> | null>(null);
  const [chosen, choose] = useState("");
  const newest = entries[0]?.key ?? "";
  const shown = entries.find(({ key }) => key === chosen) ?? entries[0];
  const put = (key: string, news: Drawing) => Object.assign((drawings[key] ??= {}), news);
  const act = (entry: Entry, message: any) => {
    put(entry.key, { said: "" });
    link.ask({ do: "act", run: entry.key, ...message });
  };
  useNews(link, ["change:records", "ended"], {
    card: ({ card, html }) => put(card, { html }),
    judge: ({ judge, html }) => put(judge, { judge: html }),
    acted: ({ acted, words = "" }) => put(acted, { said: words }),
  });
  useEffect(() => serveFiles({ model }), []);
  useEffect(() => {
    const before = states.current;
    const news = before ? entries.filter(({ key, status }) => before[key] !== status) : [];
    if (news.length) link.say(news.map((entry) => `${nameOf(entry)} ${entry.status}`).join(". "));
    states.current = Object.fromEntries(entries.map(({ key, status }) => [key, status]));
  });
  useLayoutEffect(() => {
    choose("");
    if (link.isAwaited) view.current?.scrollIntoView({ block: "nearest" });
    link.isAwaited = false;
  }, [newest]);
  useLayoutEffect(() => {
    if (!shown || drawings[shown.key]?.isAsked) return;
    if (drawings[shown.key]?.html === undefined) link.ask({ do: "show", run: shown.key });
    put(shown.key, { isAsked: true });
  });
  if (!shown) return null;
  const { html, judge, said } = drawings[shown.key] ?? {};
  // Nobody tells how it goes on.
  const isLost = link.hasEnded && !shown.isOver;
  // A card of a run under way or failed says so itself.
  const isSaid = !isLost && !/completed|library|decided/.test(shown.status);
  const actions = link.hasEnded ? [] : (shown.actions ?? []).filter(([what]) => what !== "use_in");
  return (
    <div class="rbf-runs" ref={view}>
      <Card
        key={shown.key}
        label={nameOf(shown)}
        html={html}
        said={said || shown.said}
        state={
          <div class={classes("rbf-run-state", isSaid && "rb-hidden")}>
            <State mark={isLost ? "?" : shown.mark} status={isLost ? "uncertain" : shown.status} />
            {isLost && ` · it was ${shown.status}`}
          </div>
        }
        below={judge && <Drawn html={judge} hasScripts />}
      >
        {actions.map(([what, label, title]) => (
          <Quiet key={what} title={title} act={() => act(shown, { what })}>
            {label}
          </Quiet>
        ))}
        {!link.hasEnded && <UseIn uses={shown.uses} act={(message) => act(shown, message)} />}
      </Card>
      <div class="rbf-run-strip" role="group" aria-label="started here, newest first" hidden={entries.length < 2}>
        {entries.map((entry) => (
          <button
            key={entry.key}
            type="button"
            class="rbf-run-cell"
            data-run={entry.key}
            title={entry.line}
            aria-pressed={entry === shown}
            onClick={() => choose(entry.key)}
          >
            <Poster
              fileKey={model.get("key")}
              file={entry.file}
              sign={entry.fraction ? `${Math.round(100 * entry.fraction)}%` : entry.mark}
            />
            <span class="rbf-run-cell-state">
              <State mark={entry.mark} status={entry.status} kind={entry.kind === "run" ? "" : `${entry.kind} `} />
              <span class="rb-hidden">, {entry.line}</span>
            </span>
          </button>
        ))}
      </div>
    </div>
  );
}
