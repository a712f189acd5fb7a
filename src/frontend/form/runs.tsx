/** What was started from a form: the newest large, the others as a strip of small pictures. */

import { render } from "preact";
import { copyText } from "../page/copy.ts";
import { made } from "../page/element.ts";
import { serveFiles } from "../page/kernel_link.ts";
import { Card, Drawn, Poster, Quiet, State, UseIn } from "./card.tsx";
import type { FormLink } from "./link.ts";
import { makeSpeaker } from "./speaker.ts";

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
type Drawing = { isAsked?: boolean; html?: string; judge?: string; sheet?: string; said?: string };

const RUNS_IN_VIEW = 0.7; // So much of a result is enough to be seen.
const RUNS_SAID = 4000; // What Run was answered stands so long at least.

/** Brings something into view unless most of it is there already. */
function reveal(el: Element) {
  const observer = new IntersectionObserver(([{ intersectionRatio }]) => {
    observer.disconnect();
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (intersectionRatio < RUNS_IN_VIEW) el.scrollIntoView({ block: "nearest", behavior: isCalm ? "auto" : "smooth" });
  });
  observer.observe(el);
}

/** Whether somebody waits for what a press starts: from the press until it has started, or until they do something else. */
function makeWaiting() {
  const KINDS = ["wheel", "touchmove", "pointerdown", "keydown"];
  let is = false;
  const gone = (event: Event) => {
    if (!(event as any).repeat) end();
  };
  const end = () => {
    const was = is;
    is = false;
    for (const kind of KINDS) document.removeEventListener(kind, gone, true);
    return was;
  };
  const begin = () => {
    is = true;
    for (const kind of KINDS) document.addEventListener(kind, gone, { capture: true, passive: true });
  };
  return { begin, end };
}

function Strip({
  link,
  entries,
  shown,
  choose,
}: {
  link: FormLink;
  entries: Entry[];
  shown: Entry;
  choose: (key: string) => void;
}) {
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
              fileKey={link.model.get("key")}
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
      {older ? (
        <span class="rbf-caption rbf-run-older">{`${older.toLocaleString("en")} older in rb.library()`}</span>
      ) : null}
    </div>
  );
}

function Sheet({ html }: { html: string }) {
  const save = (event: any) => {
    event.currentTarget.href = event.currentTarget.previousSibling.querySelector("img").src;
  };
  return (
    <div class="rbf-sweep-picture">
      <Drawn html={html} />
      {/* biome-ignore lint/a11y/useValidAnchor: Its address is that of the picture, which is known when it is pressed. */}
      <a class="rbf-sweep-save" href="#" download="contact-sheet.jpg" onClick={save}>
        Save the sheet
      </a>
    </div>
  );
}

/** What was started from a form. `said` stands beside the button, and is what a press was answered. */
export function makeRuns(link: FormLink) {
  const { model } = link;
  const speaker = makeSpeaker();
  const unserve = serveFiles({ model });
  const said = made("p", { class: "rbf-caption rbf-run-said" });
  const view = made("div", { class: "rbf-runs-view" });
  const el = made("div", { class: "rbf-runs" }, view, speaker.el);
  const drawings: Map<string, Drawing> = new Map();
  const waiting = makeWaiting();
  /** What was chosen to be seen; null is the newest. */
  let chosen: string | null = null;
  let newest = "",
    answered = 0;
  let states: Map<string, string> | null = null;

  // A sweep is awaited in the same way.
  (link as any).awaitResult = waiting.begin;

  const drawing = (key: string) => {
    const found = drawings.get(key) ?? {};
    drawings.set(key, found);
    return found;
  };
  const act = (entry: Entry, message: any) => {
    drawing(entry.key).said = "";
    link.ask({ do: "act", run: entry.key, ...message });
  };
  const choose = (key: string) => {
    chosen = key === newest ? null : key;
    draw();
  };

  const draw = () => {
    const entries: Entry[] = model.get("records") ?? [];
    el.hidden = !entries.length;
    if (!entries.length) return render(null, view);
    // Whoever presses Run wants to see what comes of it.
    const isNew = entries[0].key !== newest;
    if (isNew) chosen = null;
    newest = entries[0].key;
    const shown = entries.find(({ key }) => key === chosen) ?? entries[0];
    const found = drawing(shown.key);
    const { html, judge, sheet, said: words } = found;
    if (html === undefined && !found.isAsked) link.ask({ do: "show", run: shown.key });
    found.isAsked = true;
    // Nobody tells how it goes on.
    const isLost = link.hasEnded && !shown.isOver;
    const state = isLost ? { mark: "?", status: "uncertain", more: ` · it was ${shown.status}` } : shown;
    // A card of a run under way or failed says so itself.
    const isSaid = !isLost && !/completed|library|decided/.test(shown.status);
    const below = (
      <>
        {judge ? <Drawn html={judge} hasScripts /> : null}
        {sheet ? <Sheet html={sheet} /> : null}
      </>
    );
    render(
      <>
        <Card
          key={shown.key}
          label={`${shown.kind} ${shown.key.replace("s", "")}`}
          html={html ?? ""}
          said={words || shown.said || ""}
          state={
            <div class={`rbf-run-state ${isSaid ? "rb-hidden" : ""}`}>
              <State mark={state.mark} status={state.status} more={"more" in state ? state.more : ""} />
            </div>
          }
          below={below}
        >
          {link.hasEnded
            ? null
            : shown.actions
                ?.filter(([what]) => what !== "use_in")
                .map(([what, label, title]) => (
                  <Quiet key={what} label={label} title={title} data-do={what} act={() => act(shown, { what })} />
                ))}
          {link.hasEnded ? null : <UseIn uses={shown.uses ?? []} use={(message) => act(shown, message)} />}
        </Card>
        <Strip link={link} entries={entries} shown={shown} choose={choose} />
      </>,
      view,
    );
    if (!isNew) return;
    if (waiting.end()) reveal(view);
  };

  const changed = () => {
    const entries: Entry[] = model.get("records") ?? [];
    const now = new Map(entries.map(({ key, status }) => [key, status]));
    if (entries[0]?.key !== newest || states?.get(newest) !== entries[0]?.status) said.textContent = "";
    for (const { key, kind, status } of entries)
      if (states && states.get(key) !== status) speaker.say(key, `${kind} ${key.replace("s", "")} ${status}`);
    states = now;
    draw();
  };

  const offs = [
    link.on("card", ({ card, html }) => {
      drawing(card).html = html;
      draw();
    }),
    link.on("judge", ({ judge, html }) => {
      drawing(judge).judge = html;
      draw();
    }),
    link.on("acted", ({ acted, words, copy, sheet, sweep }) => {
      const found = drawing(acted);
      if (words !== undefined) found.said = words;
      if (sheet) found.sheet = sheet;
      const button = view.querySelector<HTMLElement>("[data-do=copy]");
      if (copy && button) copyText(button, copy);
      if (sweep) (link as any).openSweep?.();
      draw();
    }),
    link.on("ended", draw),
    link.on("said", (content) => {
      said.textContent = content.said;
      answered = Date.now();
      speaker.say("", content.said);
    }),
    // An edit of the form means that the message was read.
    link.on("state", () => {
      if (Date.now() - answered > RUNS_SAID) said.textContent = "";
    }),
  ];
  model.on("change:records", changed);
  changed();

  return {
    el,
    said,
    awaited: waiting.begin,
    dispose: () => {
      waiting.end();
      model.off("change:records", changed);
      for (const off of offs) off();
      render(null, view);
      unserve();
      speaker.dispose();
    },
  };
}
