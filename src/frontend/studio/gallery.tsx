/** The shelf of a studio: all runs of the library as cards, one of them large, some of them chosen. */

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Card, Drawn, Poster, State, UseIn } from "../form/card.tsx";
import { KERNEL_ENDED, type KernelLink, useNews } from "../form/link.ts";
import { Quiet } from "../form/ui.tsx";
import { serveFiles } from "../page/kernel_link.ts";

type Run = {
  key: string;
  status: string;
  mark: string;
  title: string;
  name: string;
  facts: string[];
  error: string;
  file?: number;
  star: boolean;
  hidden: boolean;
};

const PAGE = 24;
const MOST = 12; // Runs that can be compared at once.
const PAUSE = 250; // Milliseconds after the last letter before it is looked for.
const ONLY = { "": "All runs", starred: "Starred", hidden: "Hidden" };

export function Gallery({ link }: { link: KernelLink }) {
  const { model } = link;
  const { cards: runs, total, of = 0, models, words, uses, turn: found }: any = model.get("shelf");
  const [wish, look] = useState({ text: "", model: "", only: "", count: PAGE });
  const turn = useRef(0);
  const [asked, note] = useState(0);
  const [opened, setOpened] = useState("");
  const [picked, pick] = useState<string[]>([]);
  /** The viewer of `rb.compare`; empty until the kernel has drawn it. */
  const [compared, compare] = useState<string | null>(null);
  const [said, say] = useState("");
  /** What deleting would cost, until somebody says yes or no. */
  const [asks, ask] = useState("");
  const drawn = useRef<Record<string, string>>({}).current;
  const root = useRef<HTMLDivElement>(null);

  const find = () => {
    turn.current += 1;
    note(turn.current);
    link.ask({ do: "find", turn: turn.current, ...wish });
  };
  const act = (what: string, keys: string[], more: any = {}) => {
    ask("");
    say(what === "compare" || what === "save" ? "…" : "");
    link.ask({ do: "act", what, runs: keys, ...more });
  };
  /** Show this run large, or none. */
  const open = (key: string) => {
    say("");
    ask("");
    compare(null);
    if (!key) root.current?.querySelector<HTMLElement>(`[data-run="${opened}"]`)?.focus();
    else if (!(key in drawn)) link.ask({ do: "show", run: key });
    setOpened(key);
  };
  useNews(link, ["ended"], {
    card: ({ card, html }) => {
      drawn[card] = html;
    },
    acted: ({ acted, what, words, ask: question, used, html }) => {
      if (html && compared !== null) compare(html);
      ask(question ?? "");
      say(words ?? "");
      if (what === "delete" && !question) pick(picked.filter((key) => !acted.includes(key)));
      // Go to the form, which has been filled.
      const head = used ? root.current?.closest(".widget-vbox")?.querySelector<HTMLElement>(".rbs-model") : null;
      head?.scrollIntoView({ block: "nearest" });
      head?.focus({ preventScroll: true });
    },
    trouble: ({ trouble }) => say(trouble),
    "change:shelf": () => {
      // A run whose state has changed has another card.
      for (const { key, status } of model.get("shelf").cards)
        if (!/completed|failed|cancelled/.test(status)) delete drawn[key];
    },
    // Of a kernel that is restarted the host knows at once.
    comm_live_update: find,
  });
  useEffect(() => serveFiles({ model }), []);
  useEffect(() => {
    const timer = setTimeout(find, turn.current ? PAUSE : 0);
    return () => clearTimeout(timer);
  }, [wish]);

  const run: Run | undefined = runs.find(({ key }: Run) => key === opened);
  const at = runs.indexOf(run);
  const newer = runs[at - 1]?.key;
  const older = run && runs[at + 1]?.key;
  const onKeyDown = (event: any) => {
    const next = { ArrowUp: newer, ArrowDown: older }[event.key as string];
    if (!next || /^(SELECT|INPUT)$/.test(event.target.tagName)) return;
    event.preventDefault();
    open(next);
  };
  const use = (message: any) => act(message.what, [opened], message);
  /** What can be done with one run, or with several. */
  const tools = (chosen: Run[]) => {
    const keys = chosen.map(({ key }) => key);
    const hasStars = chosen.every(({ star }) => star);
    const isHidden = chosen.every(({ hidden }) => hidden);
    if (asks)
      return (
        <span role="alert">
          {asks}{" "}
          <button type="button" onClick={() => act("delete", keys, { sure: true })}>
            Delete
          </button>{" "}
          <Quiet act={() => ask("")}>Keep</Quiet>
        </span>
      );
    return (
      <>
        <Quiet aria-pressed={hasStars} act={() => act(hasStars ? "unmark" : "star", keys)}>
          {hasStars ? "★ Starred" : "☆ Star"}
        </Quiet>
        <Quiet act={() => act(isHidden ? "unmark" : "hide", keys)}>{isHidden ? "Show again" : "Hide"}</Quiet>
        <Quiet title="Next to the notebook, under readable names" act={() => act("save", keys)}>
          Save to a folder
        </Quiet>
        <Quiet act={() => act("delete", keys)}>Delete…</Quiet>
      </>
    );
  };

  const isLooking = !asked || found < asked;
  const matching = total < of ? `${total.toLocaleString("en")} of ` : "";
  const amount = of ? `${matching}${of.toLocaleString("en")} run${of === 1 ? "" : "s"}` : "";
  const isMany = picked.length > 1 && picked.length <= MOST;
  return (
    <div class="rbs-gallery" ref={root}>
      <div class="rbs-bar">
        <b>Gallery</b>
        <span class="rbf-caption" role="status">
          {link.hasEnded ? KERNEL_ENDED : (words ?? (isLooking ? "Looking" : amount))}
        </span>
      </div>
      <div class="rbs-tools">
        <input
          type="search"
          placeholder="Search"
          aria-label="Search in prompts, models and errors"
          value={wish.text}
          onInput={({ currentTarget: { value } }) => look({ ...wish, text: value, count: PAGE })}
        />
        <select
          aria-label="Model"
          value={wish.model}
          onChange={({ currentTarget: { value } }) => look({ ...wish, model: value, count: PAGE })}
        >
          <option value="">All models</option>
          {models.map((name: string) => (
            <option key={name} value={name}>
              {name.split("/").pop()}
            </option>
          ))}
        </select>
        <select
          aria-label="Which runs"
          value={wish.only}
          onChange={({ currentTarget: { value } }) => look({ ...wish, only: value, count: PAGE })}
        >
          {Object.entries(ONLY).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </div>
      {picked.length > 0 && (
        <div class="rbf-row rbs-picked">
          <button
            type="button"
            disabled={!isMany}
            onClick={() => {
              setOpened("");
              compare("");
              act("compare", picked);
            }}
          >
            Compare
          </button>
          {!opened && tools(runs.filter(({ key }: Run) => picked.includes(key)))}
          <Quiet act={() => pick([])}>Clear</Quiet>
          <span class="rbf-caption" role="status">
            {`${picked.length} chosen${picked.length > MOST ? `; ${MOST} can be compared` : ""}`} {!opened && said}
          </span>
        </div>
      )}
      {opened && (
        <Large
          key={opened}
          kind="rbf-runs rbs-large"
          label={run?.title ?? `run ${opened}`}
          close={() => open("")}
          onKeyDown={onKeyDown}
          bar={
            <>
              <span class="rbf-caption">{run && `${run.name} · run ${run.key}`}</span>
              <span />
              <Quiet title="↑" isOff={!newer} act={() => open(newer)}>
                ‹ Newer
              </Quiet>
              <Quiet title="↓" isOff={!older} act={() => open(older)}>
                Older ›
              </Quiet>
            </>
          }
        >
          <Card label={`run ${opened}`} html={drawn[opened]} said={said}>
            <Quiet act={() => use({ what: "use" })}>Use these inputs</Quiet>
            {run?.file !== undefined && <UseIn uses={uses} act={use} />}
            {run && tools([run])}
          </Card>
        </Large>
      )}
      {compared !== null && (
        <Large
          key={compared}
          kind="rbs-compare"
          label="Runs compared"
          close={() => open("")}
          bar={
            <>
              <b>Comparison</b>
              <span class="rbf-caption" role="status">
                {compared ? "" : "Loading"}
              </span>
            </>
          }
        >
          {compared && <Drawn html={compared} hasScripts />}
        </Large>
      )}
      {!runs.length && !isLooking && (
        <p class="rbf-caption">{of ? "No run in the library matches." : "Your runs appear here."}</p>
      )}
      <ul class="rbs-cards" aria-label="runs of the library, newest first">
        {runs.map((run: Run) => (
          <Small
            key={run.key}
            run={run}
            fileKey={model.get("key")}
            isOpen={run.key === opened}
            open={() => open(run.key === opened ? "" : run.key)}
            isPicked={picked.includes(run.key)}
            pick={(is) => pick(is ? [...picked, run.key] : picked.filter((key) => key !== run.key))}
          />
        ))}
      </ul>
      {runs.length < total && (
        <div class="rbf-row">
          <button type="button" disabled={isLooking} onClick={() => look({ ...wish, count: wish.count + PAGE })}>
            Show more
          </button>
        </div>
      )}
    </div>
  );
}

interface LargeProps {
  kind: string;
  label: string;
  /** What stands above it, beside the button that closes it. */
  bar: ComponentChildren;
  children: ComponentChildren;
  close: () => void;
  onKeyDown?: (event: KeyboardEvent) => void;
}

/** What was opened, in view and with the focus; Escape closes it. */
function Large({ kind, label, bar, children, close, onKeyDown }: LargeProps) {
  const box = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const el = box.current;
    el?.focus({ preventScroll: true });
    el?.scrollIntoView({ block: "nearest" });
    // The clips of a comparison are let go with it.
    return () => (el?.querySelector("[data-rb-compare]") as any)?.compare?.close();
  }, []);
  const press = (event: KeyboardEvent) => (event.key === "Escape" ? close() : onKeyDown?.(event));
  return (
    <section ref={box} class={kind} tabIndex={-1} aria-label={label} onKeyDown={press}>
      <div class="rbs-bar">
        {bar}
        <Quiet act={close}>Close</Quiet>
      </div>
      {children}
    </section>
  );
}

interface SmallProps {
  run: Run;
  fileKey: string;
  isOpen: boolean;
  open: () => void;
  isPicked: boolean;
  pick: (is: boolean) => void;
}

function Small({ run, fileKey, isOpen, open, isPicked, pick }: SmallProps) {
  const { key, status, mark, title, facts, error, file, star } = run;
  return (
    <li>
      <button
        type="button"
        class="rbs-card"
        data-run={key}
        aria-pressed={isOpen}
        title={[error, title, ...facts].filter(Boolean).join("\n")}
        onClick={open}
      >
        <Poster fileKey={fileKey} file={file} sign={mark} />
        <span class="rbs-state">
          <span>
            <State mark={mark} status={status} />
          </span>
          {star && <span title="Starred">★</span>}
        </span>
        <span class="rbs-words">
          {error && <span class="rbs-error">{error}</span>}
          <bdi class="rbs-lead">{title}</bdi>
          <span>{facts.join(" · ")}</span>
        </span>
      </button>
      <label class="rbs-tick">
        <input
          type="checkbox"
          checked={isPicked}
          aria-label={`Choose run ${key}, ${title}`}
          onChange={(event) => pick(event.currentTarget.checked)}
        />
        <span>Choose</span>
      </label>
    </li>
  );
}
