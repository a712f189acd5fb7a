/** The runs of a form: the newest large, the others as a strip of small pictures. */

import { made } from "../page/element.ts";
import { makeCards } from "./cards.ts";
import { ClipShelf } from "./clip.ts";
import type { FormLink } from "./link.ts";
import { type RunEntry, runsIsLive, runsLarge, runsLost, runsState } from "./run.ts";
import { makeSpeaker } from "./speaker.ts";

export const RUNS_USED = "The form has the inputs of this run now.";
const RUNS_IN_VIEW = 0.7; // So much of a result is enough to be seen.
const RUNS_SAID = 4000; // What Run was answered stands so long at least.

/** The runs of this form, one small picture for each. */
function runsStrip(shelf: ClipShelf, choose: (key: string) => void) {
  const row = made("div", { class: "rbf-run-strip", role: "toolbar", "aria-label": "runs of this form, newest first" });
  const older = made("span", { class: "rbf-caption rbf-run-older" });
  const el = made("div", { class: "rbf-run-history" }, row, older);
  const buttons = () => [...row.children] as HTMLButtonElement[];
  const percent = (entry: RunEntry) =>
    entry.status === "running" && entry.fraction ? `${Math.round(100 * entry.fraction)}%` : "";
  const text = (entry: RunEntry) => [entry.lead, ...(entry.facts ?? [])].filter(Boolean).join(" · ");
  const cards = makeCards<RunEntry>(row, shelf, {
    classes: ["rbf-run-cell", "rbf-run-thumb"],
    from: (entry) => [entry.status, percent(entry), entry.files?.length, entry.lead],
    sign: (entry) => (entry.files?.length ? "" : percent(entry) || entry.mark),
    hasFile: (entry) => !!entry.files?.length,
    title: text,
    words: (entry) => [
      made("span", { class: "rbf-run-cell-state" }, runsState(entry)[0], entry.status),
      made("span", { class: "rb-hidden", text: `, ${text(entry) || `run ${entry.key}`}` }),
    ],
    open: ({ key }) => choose(key),
  });

  row.addEventListener("keydown", (event) => {
    const all = buttons(),
      at = all.indexOf(event.target as HTMLButtonElement);
    const to: Record<string, number | undefined> = {
      ArrowLeft: at - 1,
      ArrowRight: at + 1,
      Home: 0,
      End: all.length - 1,
    };
    const next = all[to[event.key] ?? -1];
    if (at < 0 || !next) return;
    event.preventDefault();
    all.forEach((one) => {
      one.tabIndex = one === next ? 0 : -1;
    });
    next.focus();
  });

  return {
    el,
    update: (entries: RunEntry[], selected: string) => {
      el.hidden = entries.length < 2;
      cards.update(entries, selected);
      if (!buttons().some((one) => one.matches(":focus"))) {
        for (const one of buttons()) one.tabIndex = one.dataset.run === selected ? 0 : -1;
      }
      const count = entries[entries.length - 1]?.older ?? 0;
      older.textContent = count ? `${count.toLocaleString("en")} older in rb.library()` : "";
    },
    dispose: cards.dispose,
  };
}

/** Brings something into view unless most of it is there already. */
export function runsReveal(el: HTMLElement) {
  const observer = new IntersectionObserver(([{ intersectionRatio }]) => {
    observer.disconnect();
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (intersectionRatio < RUNS_IN_VIEW) el.scrollIntoView({ block: "nearest", behavior: isCalm ? "auto" : "smooth" });
  });
  observer.observe(el);
}

/** Whether somebody waits for what a press starts: from the press until it has started, or until they do something else. */
export function runsWaited(): { begin: () => void; end: () => boolean; dispose: () => void } {
  const KINDS = ["wheel", "touchmove", "pointerdown", "keydown"];
  let is = false;
  const gone = (event: Event) => {
    if (!(event as any).repeat) end();
  };
  const end = () => {
    const was = is;
    is = false;
    KINDS.forEach((kind) => document.removeEventListener(kind, gone, true));
    return was;
  };
  return {
    begin: () => {
      is = true;
      KINDS.forEach((kind) => document.addEventListener(kind, gone, { capture: true, passive: true }));
    },
    end,
    dispose: end,
  };
}

/** The runs of a form. `said` stands beside the button, and is what a press was answered. */
export function makeRuns(link: FormLink) {
  const model = link.model;
  const shelf = new ClipShelf(link),
    speaker = makeSpeaker();
  const said = made("p", { class: "rbf-caption rbf-run-said" });
  const slot = made("div", {});
  /** What was chosen to be seen; null is the newest. */
  let chosen: string | null = null;
  let newest = "",
    skew = 0,
    answered = 0;
  let large: ReturnType<typeof runsLarge> | null = null;
  let states: Map<string, string> = new Map();
  const strip = runsStrip(shelf, (key) => {
    chosen = key === newest ? null : key;
    draw();
  });
  const el = made("div", { class: "rbf-runs" }, slot, strip.el, speaker.el);
  const waited = runsWaited();
  let onNew: () => void = () => {};

  const readEntries = (): RunEntry[] => {
    const entries = model.get("records") ?? [];
    return link.hasEnded ? entries.map(runsLost) : entries;
  };

  /** @param entries The shape of what came last is a good guess for what comes next. */
  const shape = (entries: RunEntry[]) => {
    const file = entries.find((entry) => entry.files?.length === 1)?.files?.[0];
    return file ? [file.width, file.height] : [16000, 9000];
  };

  const listen = (entries: RunEntry[]) => {
    const now = new Map(entries.map((entry) => [entry.key, entry.status]));
    for (const entry of entries) {
      const { key, status, line } = entry,
        isLive = runsIsLive(entry);
      if (states.get(key) !== status) speaker.say(key, `Run ${key} ${status}${line && !isLive ? `, ${line}` : ""}`);
    }
    states = now;
  };

  const draw = () => {
    const entries = readEntries();
    el.hidden = !entries.length;
    if (!entries.length) return;
    // Whoever presses Run wants to see what comes of it.
    const isNew = entries[0].key !== newest;
    if (isNew) chosen = null;
    newest = entries[0].key;
    const entry = entries.find((one) => one.key === chosen) ?? entries[0];
    if (large && large.key !== entry.key) {
      large.dispose();
      large = null;
    }
    if (large) large.update(entry);
    else {
      large = runsLarge(link, shelf, entry, {
        isNewest: entry.key === newest,
        shape: shape(entries),
        now: () => (Date.now() + skew) / 1000,
        used: RUNS_USED,
      });
      slot.append(large.el);
    }
    strip.update(entries, entry.key);
    if (!isNew) return;
    onNew();
    if (waited.end()) runsReveal(large.el);
  };

  const changed = () => {
    const entries = readEntries();
    if (entries[0]?.key !== newest || states.get(newest) !== entries[0].status) said.textContent = "";
    listen(entries);
    draw();
  };

  const offs = [
    link.on("ended", () => changed()),
    link.on("said", (content) => {
      said.textContent = content.said;
      answered = Date.now();
      speaker.say("", content.said);
    }),
    // An edit of the form means that the message was read.
    link.on("state", () => {
      if (Date.now() - answered > RUNS_SAID) said.textContent = "";
    }),
    link.on("clock", (content) => {
      skew = 1000 * content.clock - Date.now();
      large?.tick();
    }),
  ];
  const ticking = window.setInterval(() => large?.tick(), 1000);
  model.on("change:records", changed);
  states = new Map((model.get("records") ?? []).map((entry: RunEntry) => [entry.key, entry.status]));
  draw();
  link.ask({ do: "clock" });

  return {
    el,
    said,
    awaited: waited.begin,
    /** @param listener Called when there is another run. */
    onNew: (listener: () => void) => {
      onNew = listener;
    },
    dispose: () => {
      clearInterval(ticking);
      waited.dispose();
      model.off("change:records", changed);
      offs.forEach((off) => off());
      large?.dispose();
      strip.dispose();
      speaker.dispose();
      shelf.dispose();
    },
  };
}
