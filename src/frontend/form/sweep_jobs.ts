/** The sweeps that were started: the panel of one, what can be done with it, its contact sheet and code; the others a line each. */
import { copyText } from "../page/copy.ts";
import { made } from "../page/element.ts";
import { makeCards } from "./cards.ts";
import { ClipShelf } from "./clip.ts";
import { quietButton } from "./quiet.ts";
import { type RunEntry, runsLarge, runsState } from "./run.ts";
import { RUNS_USED, runsReveal, runsWaited } from "./runs.ts";
import { whenSeen } from "./seen.ts";

export type SweepJob = {
  key: string;
  state: string;
  mark: string;
  over: boolean;
  runs: number;
  error: string;
  code: string;
  table: string;
  can: string[];
  line: string;
  spoken: string;
  kind: "sweep" | "race";
  /** The runs that its contact sheet could have; 0 while it goes on. */
  sheet: number;
  /** The best setting of a race, in words. */
  best?: string;
};
type SweepShot = RunEntry & { label: string };

const SWEEP_DO: Record<string, string> = {
  pause: "Pause",
  resume: "Resume",
  cancel: "Cancel",
  stop: "Stop what is running",
};
const SWEEP_DO_TITLES: Record<string, string> = {
  pause: "Send nothing more for now; runs already sent continue",
  resume: "Go on sending",
  cancel: "Send nothing more; runs already sent continue",
  stop: "Send nothing more, and ask the service to cancel what it has",
};
const SWEEP_FIRST = 12; // Results displayed at first; a button displays the rest.

/** A sweep whose kernel is gone: its state is no longer updated. */
export function sweepLost(job: SweepJob): SweepJob {
  return { ...job, can: [], ...(job.over ? {} : { state: "uncertain", mark: "?" }) };
}

/** What a sweep has made: a small picture for each run, labelled by what varies, and one of them large. */
function sweepFilm(link: any, job: string, isFirstOpen: boolean) {
  const shelf = new ClipShelf(link);
  const large = made("div", { class: "rbf-runs rbf-sweep-large" });
  const row = made("div", { class: "rbf-sweep-film", role: "group", "aria-label": "results of this sweep" });
  const count = made("span", {});
  const all = quietButton("Show all", () => {
    most = shots.length;
    draw();
  });
  const el = made("div", { hidden: true }, row, made("p", { class: "rbf-caption" }, count, " ", all), large);
  let shots: SweepShot[] = [];
  let total = 0,
    most = SWEEP_FIRST,
    opened = "";
  let run: ReturnType<typeof runsLarge> | null = null;

  const close = () => {
    run?.dispose();
    run = null;
    large.replaceChildren();
    opened = "";
  };
  const open = (shot: SweepShot, plays: boolean = true) => {
    const was = opened;
    close();
    if (was !== shot.key) {
      opened = shot.key;
      const [file] = shot.files ?? [];
      run = runsLarge(link, shelf, shot, {
        isNewest: false,
        shape: [file?.width ?? 16, file?.height ?? 9],
        now: () => 0,
        used: RUNS_USED,
      });
      large.append(made("b", { text: shot.label }), run.el);
      // Whoever opens a clip wants to see it move.
      const play = run.el.querySelectorAll<HTMLElement>(".rbf-clip-play");
      if (plays && play.length === 1) play[0].click();
    }
    draw();
  };
  const cards = makeCards<SweepShot>(row, shelf, {
    classes: ["rbf-run-cell", "rbf-run-thumb"],
    sign: () => "",
    hasFile: () => true,
    title: ({ label }) => label,
    words: ({ label }) => [made("span", { class: "rbf-run-cell-state", text: label })],
    open,
  });
  const draw = () => {
    const visible = shots.slice(0, most);
    cards.update(visible, opened);
    el.hidden = !shots.length;
    const of = visible.length < total ? `${visible.length} of ` : "";
    count.textContent = `${of}${total.toLocaleString("en")} result${total === 1 ? "" : "s"}`;
    all.hidden = visible.length >= shots.length;
  };

  const off = link.on("sweep_film", (content: any) => {
    if (content.sweep_film !== job || shots.length) return;
    ({ shots, of: total } = content);
    draw();
    if (isFirstOpen && shots.length) open(shots[0], false);
  });
  link.ask({ do: "sweep_film", job });
  return {
    el,
    dispose: () => {
      off();
      close();
      cards.dispose();
      shelf.dispose();
    },
  };
}

/** The contact sheet of a sweep, requested when it scrolls into view. */
function sweepSheet(link: any, job: SweepJob) {
  const picture = made("div", { class: "rbf-sweep-picture" });
  const caption = made("p", { class: "rbf-caption", text: "Drawing the contact sheet …" });
  const save = made("a", { class: "rbf-sweep-save", download: "contact-sheet.jpg", text: "Save the sheet" });
  const el = made("div", {}, picture, caption);
  const off = link.on("sweep_sheet", (content: any) => {
    if (content.sweep_sheet !== job.key || !content.html) return;
    // The kernel has made it from escaped words (display/sheets), like the panel.
    picture.innerHTML = content.html;
    save.href = picture.querySelector("img")?.src ?? "";
    const first = `The first ${content.runs} of ${job.sheet.toLocaleString("en")}; ${job.table}.reel.sheet() has more.`;
    caption.textContent = [content.words, content.runs < job.sheet ? first : ""].join(" ").trim();
    el.append(save);
  });
  const forget = whenSeen(el, async () => {
    caption.hidden = !(await link.ask({ do: "sweep_sheet", job: job.key }));
  });
  return {
    el,
    dispose: () => {
      forget();
      off();
    },
  };
}

/** One sweep, large; what changes is changed in place, so that the focus stays. */
function sweepLarge(link: any, first: SweepJob) {
  const state = made("p", { class: "rbf-sweep-state" });
  const panel = made("div", { class: "rbf-sweep-panel" });
  const judge = made("div", { class: "rbf-sweep-judge" });
  const problem = made("p", { class: "rbf-problem", hidden: true });
  const actions = made("div", { class: "rbf-row", role: "group", "aria-label": `this ${first.kind}` });
  const winner = made("p", { class: "rbf-sweep-winner", hidden: true });
  const usedWords = made("span", { class: "rbf-caption", role: "status" });
  const use = made("button", {
    type: "button",
    text: "Use these values",
    title: "Fill the form with the inputs of the best run",
    onclick: () => {
      usedWords.textContent = "";
      link.ask({ do: "sweep_use", job: first.key });
    },
  });
  const place = made("div", {});
  const sheetPlace = made("div", {});
  const where = made("p", { class: "rbf-caption", hidden: true });
  const el = made(
    "section",
    { class: "rbf-sweep-job", "aria-label": `${first.kind} ${first.key}` },
    state,
    winner,
    place,
    panel,
    judge,
    problem,
    actions,
    sheetPlace,
    where,
  );
  let film: ReturnType<typeof sweepFilm> | null = null;
  let sheet: ReturnType<typeof sweepSheet> | null = null;
  let job = first,
    buttons = "";
  const offs = [
    link.on("sweep_used", (content: any) => {
      if (content.sweep_used === first.key) usedWords.textContent = content.why || "The form has these values now.";
    }),
    link.on("sweep_panel", (content: any) => {
      // The kernel has made it from escaped words (display/sweep_panel.py); nothing of a person or a service stands in it as markup.
      if (content.sweep_panel === first.key) panel.innerHTML = content.html;
    }),
    link.on("sweep_judge", (content: any) => {
      if (content.sweep_judge !== first.key) return;
      // Made by the kernel like the panel (display/judge_panel.py). A script that comes as markup does not run by itself.
      judge.innerHTML = content.html;
      for (const script of judge.querySelectorAll("script")) {
        const other = document.createElement("script");
        for (const { name, value } of script.attributes) other.setAttribute(name, value);
        other.textContent = script.textContent;
        script.replaceWith(other);
      }
    }),
  ];

  const action = (what: string) => {
    const button = made("button", {
      type: "button",
      text: SWEEP_DO[what],
      title: SWEEP_DO_TITLES[what],
      "data-do": what,
    });
    button.addEventListener("click", () => {
      // Once: it is drawn again when the kernel has done it.
      for (const one of actions.querySelectorAll("[data-do]")) one.setAttribute("aria-disabled", "true");
      if (button.dataset.pressed) return;
      button.dataset.pressed = "yes";
      link.ask({ do: "sweep_do", job: first.key, what });
    });
    return button;
  };
  const copy = quietButton("Copy code", () => copyText(copy, job.code), { title: "Python code for the same sweep" });

  const update = (next: SweepJob) => {
    job = next;
    state.replaceChildren(
      ...runsState({ status: next.state, mark: next.mark }),
      next.kind === "race" ? " · race" : "",
      ` · ${next.runs.toLocaleString("en")} run${next.runs === 1 ? "" : "s"}`,
    );
    problem.textContent = next.error;
    problem.hidden = !next.error;
    where.hidden = !next.over || !!next.error;
    where.replaceChildren("In code: ", made("code", { text: next.table }));
    const wanted = JSON.stringify([next.can, next.state]);
    if (wanted !== buttons) {
      buttons = wanted;
      const focused = actions.contains(document.activeElement);
      actions.replaceChildren(...next.can.map(action), copy);
      if (focused) actions.querySelector("button")?.focus();
    }
    use.disabled = link.hasEnded;
    if (next.best && winner.hidden) {
      winner.hidden = false;
      const lead = next.state === "decided" ? "Best: " : "Leads so far: ";
      winner.append(lead, made("b", {}, made("bdi", { text: next.best })), " ", use, " ", usedWords);
    }
    if (next.over && !next.error && !film) {
      film = sweepFilm(link, next.key, !!next.best);
      place.append(film.el);
    }
    if (next.sheet && !sheet) {
      sheet = sweepSheet(link, next);
      sheetPlace.append(sheet.el);
    }
  };
  update(first);
  return {
    el,
    key: first.key,
    update,
    dispose: () => {
      offs.forEach((off) => off());
      film?.dispose();
      sheet?.dispose();
      el.remove();
    },
  };
}

/** All sweeps of the form. */
export function makeSweepJobs(link: any, say: (words: string) => void) {
  const slot = made("div", {});
  const older = made("ul", { class: "rbf-sweep-older", "aria-label": "Earlier sweeps" });
  const el = made("div", { class: "rbf-sweep-jobs", hidden: true }, slot, older);
  let large: ReturnType<typeof sweepLarge> | null = null;
  let states = "",
    lines = "",
    newest = "";
  const waited = runsWaited();
  let onNew = () => {};
  return {
    el,
    awaited: waited.begin,
    /** @param listener Called when another sweep was started. */
    onNew: (listener: () => void) => {
      onNew = listener;
    },
    /** @param jobs The newest first. */
    update(jobs: SweepJob[], selected: string) {
      el.hidden = !jobs.length;
      const job = jobs.find((one) => one.key === selected) ?? jobs[0];
      if (!job) return;
      if (large && large.key !== job.key) {
        large.dispose();
        large = null;
      }
      if (large) large.update(job);
      else {
        large = sweepLarge(link, job);
        slot.append(large.el);
        // The panel itself is not saved with the page.
        link.ask({ do: "sweep_show", job: job.key });
      }
      const others = jobs.filter((one) => one !== job);
      const now = JSON.stringify(others.map((one) => [one.key, one.state, one.line, one.error]));
      if (now !== lines) {
        lines = now;
        const focused =
          document.activeElement?.closest(".rbf-sweep-older") === older
            ? (document.activeElement as HTMLElement).dataset.job
            : null;
        older.replaceChildren(
          ...others.map((one) =>
            made(
              "li",
              { class: "rbf-caption" },
              made("span", {
                text: `${one.mark} ${one.runs.toLocaleString("en")} run${one.runs === 1 ? "" : "s"} · ${one.state} · ${one.error || one.line} `,
              }),
              made("button", {
                type: "button",
                class: "rbf-quiet",
                text: "Show",
                "data-job": one.key,
                "aria-label": `Show ${one.kind} ${one.key}`,
                onclick: () => link.ask({ do: "sweep_show", job: one.key }),
              }),
            ),
          ),
        );
        older.hidden = !others.length;
        ((focused ? older.querySelector(`[data-job="${CSS.escape(focused)}"]`) : null) as HTMLElement | null)?.focus();
      }
      const spoken = jobs.map((one) => one.error || one.spoken?.replace(/, .*/, "") || one.state).join();
      if (states && spoken !== states) say(jobs.map((one) => one.error || one.spoken).find(Boolean) ?? "");
      states = spoken;
      if (jobs[0].key === newest) return;
      newest = jobs[0].key;
      onNew();
      if (waited.end()) runsReveal(large.el);
    },
    dispose: () => {
      waited.dispose();
      large?.dispose();
    },
  };
}
