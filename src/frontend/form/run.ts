/** One run of a form, large: its state, files, log and actions. */

import { copyText } from "../page/copy.ts";
import { dotted, made } from "../page/element.ts";
import { type ClipFile, type ClipShelf, clipBox, clipReserve, makeClip } from "./clip.ts";
import type { FormLink } from "./link.ts";
import { quietButton } from "./quiet.ts";

export type RunEntry = {
  key: string;
  status: string;
  mark: string;
  sending?: true;
  change?: number;
  line?: string;
  fraction?: number;
  since?: number;
  log?: string;
  lines?: number;
  lead?: string;
  facts?: string[];
  whole?: string;
  expanded?: string;
  files?: ClipFile[];
  shapes?: number[][];
  said?: string;
  error?: string;
  blamed?: string[][];
  advice?: string;
  code?: string;
  can: string[];
  older?: number;
};

export const runsIsLive = (entry: { status: string }) => ["waiting", "running"].includes(entry.status);

/** A run whose kernel is gone: its state is no longer updated, and it has no actions. */
export function runsLost<E extends RunEntry>(entry: E): E {
  const lost = { status: "uncertain", mark: "?", line: `it was ${entry.status}`, fraction: 0 };
  return { ...entry, log: "", can: [], ...(runsIsLive(entry) ? lost : {}) };
}

/** A time as one says it. */
export function runsDuration(seconds: number) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return whole < 600 && whole % 60 ? `${minutes} min ${whole % 60} s` : `${minutes} min`;
  return minutes % 60 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${minutes / 60} h`;
}

/** A sign and its word. */
export function runsState(entry: { status: string; mark: string }) {
  return [
    made("span", { class: "rbf-run-mark", "aria-hidden": "true", "data-state": entry.status, text: entry.mark }),
    made("b", { text: entry.status }),
  ];
}

/** Prompt and facts of a run. */
function runsCaption(entry: RunEntry) {
  const facts = entry.facts ?? [];
  // A prompt may be written from right to left; <bdi> keeps that from turning the facts around.
  const words = [...(entry.lead ? [made("bdi", { text: entry.lead })] : []), ...facts];
  return dotted(words, {
    class: "rbf-caption rbf-run-caption",
    title: entry.whole ?? [entry.lead, ...facts].filter(Boolean).join(" · "),
  });
}

/** Names and values. */
function runsTable(caption: string, facts: string[][]) {
  const rows = facts.map(([name, value]) =>
    made(
      "tr",
      {},
      made("th", { scope: "row" }, made("bdi", { text: name })),
      made("td", {}, made("bdi", { text: value })),
    ),
  );
  return made("table", { class: "rbf-run-facts" }, made("caption", { text: caption }), made("tbody", {}, ...rows));
}

/** Inputs, outputs and the log of a run, fetched when they are opened; and its code. */
function runsDetails(link: FormLink, key: string) {
  const tables = made("div", {});
  const log = made("pre", { class: "rbf-run-log", tabindex: "0", role: "region", "aria-label": "Log", hidden: true });
  const el = made("details", { class: "rbf-run-details" }, made("summary", { text: "Details" }), tables, log);
  let had = 0,
    isCopying = false;
  const off = link.on("facts", (content) => {
    if (content.facts !== key) return;
    if (isCopying) copyText(copy, content.code);
    isCopying = false;
    const all = [
      ["Inputs", content.asked],
      ["Outputs", content.answered],
    ].filter(([, facts]) => facts.length);
    tables.replaceChildren(...all.map(([name, facts]) => runsTable(name, facts)));
    const isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 24;
    log.hidden = !content.log;
    log.textContent = content.log;
    if (isAtEnd) log.scrollTop = log.scrollHeight;
  });
  const ask = () => link.ask({ do: "facts", run: key });
  el.addEventListener("toggle", () => {
    if (el.open) ask();
  });
  const copy = quietButton(
    "Copy code",
    () => {
      isCopying = true;
      ask();
    },
    { title: "The code for the same run" },
  );
  return {
    el,
    copy,
    off,
    /** @param count How many lines the log has. */
    news: (count: number) => {
      if (el.open && count > had) ask();
      had = count;
    },
  };
}

/**
 * One run, large. Made once for each; what changes is changed in place, so that a player goes on playing and the focus stays.
 * @param how `used` is what is said when the form has the inputs of this run.
 */
export function runsLarge(
  link: FormLink,
  shelf: ClipShelf,
  first: RunEntry,
  { isNewest, shape, now, used = "" }: { isNewest: boolean; shape: number[]; now: () => number; used?: string },
) {
  const key = first.key;
  const state = made("div", { class: "rbf-run-state" });
  const time = made("span", {});
  const media = made("div", { class: "rbf-run-media" });
  const last = made("div", { class: "rbf-caption rbf-run-last" });
  const words = made("div", { class: "rbf-run-words" });
  const actions = made("div", { class: "rbf-row rbf-run-actions", role: "group", "aria-label": "this run" });
  const status = made("p", { class: "rbf-caption", role: "status" });
  const details = runsDetails(link, key);
  const bar = made("progress", { max: "1", "aria-label": "progress", class: "rbf-run-bar" });
  const el = made(
    "section",
    { class: "rbf-run", "aria-label": `run ${key}` },
    media,
    state,
    bar,
    last,
    words,
    actions,
    status,
    details.el,
  );
  let clips: ReturnType<typeof makeClip>[] = [];
  let entry = first,
    drawn = "",
    buttons = "";

  const tick = () => {
    time.textContent = runsIsLive(entry) && entry.since ? ` · ${runsDuration(now() - entry.since)}` : "";
  };

  const place = () => {
    const shapes = entry.shapes?.length ? entry.shapes : [shape];
    const frames = shapes.map(([width, height]) => {
      const frame = made("div", { class: "rbf-clip-frame rbf-run-empty" });
      const isAlone = shapes.length === 1;
      clipReserve(frame, clipBox(width, height, { isVideo: true, isAlone }));
      return isAlone
        ? frame
        : made(
            "div",
            { class: "rbf-clip" },
            frame,
            made("div", { class: "rbf-caption rbf-clip-words", text: `${width}×${height}` }),
          );
    });
    media.replaceChildren(...frames);
  };

  const files = () => {
    const found = entry.files ?? [],
      isAlone = found.length === 1;
    clips = found.map((file, number) => {
      const text = [entry.lead || `run ${key}`, ...(isAlone ? [] : [`file ${number + 1}`])].join(", ");
      return makeClip(shelf, key, number, file, { isAlone, isNewest, text });
    });
    media.replaceChildren(...clips.map((clip) => clip.el));
  };

  const say = () => {
    const parts: HTMLElement[] = [];
    if (entry.error) parts.push(made("p", { class: "rbf-problem rbf-run-error", text: entry.error }));
    for (const [name, value] of entry.blamed ?? [])
      parts.push(
        made("p", { class: "rbf-caption" }, made("code", { text: name }), " was ", made("bdi", { text: value })),
      );
    if (entry.advice) parts.push(made("p", { text: entry.advice }));
    if (entry.code) parts.push(made("pre", {}, made("code", { text: entry.code })));
    if (entry.facts?.length || entry.lead) parts.push(runsCaption(entry));
    if (entry.expanded)
      parts.push(
        made(
          "p",
          { class: "rbf-caption rbf-run-expanded", title: entry.expanded },
          "Expanded prompt: ",
          made("bdi", { text: entry.expanded }),
        ),
      );
    if (entry.said) parts.push(made("p", { class: "rbf-caption", text: entry.said }));
    words.replaceChildren(...parts);
  };

  const use = async () => {
    status.textContent = "";
    const isSent = await link.ask({ do: "use", run: key });
    if (isSent) status.textContent = used;
    return isSent;
  };

  const act = () => {
    const can = new Set(entry.can),
      found = [];
    if (can.has("cancel"))
      found.push(
        quietButton("Cancel", () => link.ask({ do: "cancel", run: key }), { title: "Ask the service to stop it" }),
      );
    if (can.has("use"))
      found.push(quietButton("Use these inputs", use, { title: "Put the inputs of this run into the form" }));
    if (can.has("code")) found.push(details.copy);
    const sweep = (link as any).openSweep;
    if (sweep && entry.files && can.has("use"))
      found.push(
        quietButton(
          "Sweep a field…",
          async () => {
            if (await use()) sweep.call(link);
          },
          { title: "Put the inputs of this run into the form, and vary one field" },
        ),
      );
    if (clips.length)
      found.push(
        quietButton(clips.length > 1 ? "Save all" : "Save", () => clips.forEach((clip) => clip.save()), {
          title: "Save to this computer",
        }),
      );
    // Restore the focus to the same button, or to the next if it was removed.
    const focused = actions.contains(document.activeElement) ? document.activeElement : null;
    actions.replaceChildren(...found);
    if (focused) (found.find((button) => button.textContent === focused.textContent) ?? found[0])?.focus();
    // What was fetched before the kernel ended can be read on.
    details.el.hidden = !can.has("facts") && !(link.hasEnded && details.el.open);
  };

  // The message no longer applies once the inputs of the form change.
  const off = link.on("draft", () => {
    status.textContent = "";
  });

  const update = (now: RunEntry) => {
    entry = now;
    const { fraction, log: line, lines, since, line: where, ...rest } = now;
    state.replaceChildren(...runsState(now), ...(where ? [` · ${where}`] : []), time);
    tick();
    last.textContent = line ?? "";
    last.title = line ?? "";
    last.hidden = bar.hidden = !runsIsLive(now);
    if (fraction) bar.value = fraction;
    else bar.removeAttribute("value");
    details.news(lines ?? 0);
    // The rest changes seldom, and is not touched without need.
    const seldom = JSON.stringify(rest);
    if (seldom === drawn) return;
    if (runsIsLive(now)) {
      if (!drawn) place();
    } else if (!clips.length) files();
    drawn = seldom;
    say();
    const wanted = JSON.stringify([now.can, clips.length, Boolean((link as any).openSweep)]);
    if (wanted !== buttons) act();
    buttons = wanted;
  };

  update(first);
  return {
    el,
    key,
    update,
    tick,
    dispose: () => {
      clips.forEach((clip) => clip.dispose());
      off();
      details.off();
      el.remove();
    },
  };
}
