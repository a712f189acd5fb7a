/** What was started from a form: the newest large, the others as a strip of small pictures. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { serveFiles } from "../page/kernel_link.ts";
import { Card, Drawn, Poster, State, UseIn } from "./card.tsx";
import { useNews } from "./kernel.ts";
import type { FormLink } from "./link.ts";
import { classes, Quiet } from "./ui.tsx";

/** A run, a sweep or a race, as the kernel tells of it. */
export type Entry = {
  key: string;
  kind: "run" | "sweep" | "race";
  status: string;
  mark: string;
  line: string;
  isOver: boolean;
  actions?: [string, string, string][];
  title?: string;
  said?: string;
  /** What the button says while it goes on. */
  button?: string;
  fraction?: number;
  change?: number;
  isSending?: boolean;
  /** Which file has its poster. */
  file?: number;
  uses?: [string, string][];
  older?: number;
};
/** What came of an entry in messages. */
type Drawing = { isAsked?: boolean; html?: string; judge?: string; said?: string };

const IN_VIEW = 0.7; // So much of a result is enough to be seen.

const nameOf = ({ kind, key }: Entry) => `${kind} ${key.replace("s", "")}`;

/** Brings something into view unless most of it is there already. */
function reveal(el: Element) {
  const observer = new IntersectionObserver(([{ intersectionRatio }]) => {
    observer.disconnect();
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (intersectionRatio < IN_VIEW) el.scrollIntoView({ block: "nearest", behavior: isCalm ? "auto" : "smooth" });
  });
  observer.observe(el);
}

export function Runs({ link }: { link: FormLink }) {
  const { model } = link;
  const entries: Entry[] = model.get("records") ?? [];
  const view = useRef<HTMLDivElement>(null);
  const drawings = useRef<Record<string, Drawing>>({}).current;
  const states = useRef<Record<string, string> | null>(null);
  /** What was chosen to be seen, until something newer is there. */
  const [{ chosen, since }, choose] = useState({ chosen: "", since: "" });
  const newest = entries[0]?.key ?? "";
  const shown = (since === newest && entries.find(({ key }) => key === chosen)) || entries[0];
  const put = (key: string, news: Drawing) => Object.assign((drawings[key] ??= {}), news);
  const act = (entry: Entry, message: any) => {
    put(entry.key, { said: "" });
    link.ask({ do: "act", run: entry.key, ...message });
  };
  useNews(link, ["change:records", "ended"], {
    card: ({ card, html }) => put(card, { html }),
    judge: ({ judge, html }) => put(judge, { judge: html }),
    acted: ({ acted, words, sweep }) => {
      if (words !== undefined) put(acted, { said: words });
      if (sweep) link.openSweep?.();
    },
  });
  useEffect(() => serveFiles({ model }), []);
  useEffect(() => {
    const before = states.current;
    const news = before ? entries.filter(({ key, status }) => before[key] !== status) : [];
    if (news.length) link.say(news.map((entry) => `${nameOf(entry)} ${entry.status}`).join(". "));
    states.current = Object.fromEntries(entries.map(({ key, status }) => [key, status]));
  });
  useEffect(() => {
    if (link.takeAwaited() && view.current) reveal(view.current);
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
    <div class="rbf-runs">
      <div class="rbf-runs-view" ref={view}>
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
            <Quiet key={what} title={title} data-do={what} act={() => act(shown, { what })}>
              {label}
            </Quiet>
          ))}
          {!link.hasEnded && <UseIn uses={shown.uses} act={(message) => act(shown, message)} />}
        </Card>
        <Strip
          fileKey={model.get("key")}
          entries={entries}
          shown={shown}
          choose={(key) => choose({ chosen: key, since: newest })}
        />
      </div>
    </div>
  );
}

interface StripProps {
  fileKey: string;
  entries: Entry[];
  shown: Entry;
  choose: (key: string) => void;
}

function Strip({ fileKey, entries, shown, choose }: StripProps) {
  const move = (event: any) => {
    const all = [...event.currentTarget.children] as HTMLElement[];
    const at = all.indexOf(event.target);
    const to: Record<string, number> = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: all.length - 1 };
    const next = all[to[event.key] ?? -1];
    if (at < 0 || !next) return;
    event.preventDefault();
    next.focus();
  };
  const older = entries[entries.length - 1].older;
  return (
    <div class="rbf-run-history" hidden={entries.length < 2}>
      <div class="rbf-run-strip" role="toolbar" aria-label="started here, newest first" onKeyDown={move}>
        {entries.map((entry) => (
          <button
            key={entry.key}
            type="button"
            class="rbf-run-cell"
            data-run={entry.key}
            title={entry.line}
            tabIndex={entry === shown ? 0 : -1}
            aria-pressed={entry === shown}
            onClick={() => choose(entry.key)}
          >
            <Poster
              fileKey={fileKey}
              file={entry.file}
              sign={entry.fraction ? `${Math.round(100 * entry.fraction)}%` : entry.mark}
            />
            <span class="rbf-run-cell-state">
              <State mark={entry.mark} status={entry.status} kind={entry.kind === "run" ? "" : `${entry.kind} `} />
              <span class="rb-hidden">, {entry.title || entry.line}</span>
            </span>
          </button>
        ))}
      </div>
      {older && <span class="rbf-caption rbf-run-older">{`${older.toLocaleString("en")} older in rb.library()`}</span>}
    </div>
  );
}
