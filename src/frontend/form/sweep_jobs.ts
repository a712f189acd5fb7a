/** The sweeps that were started: the panel of one, what can be done with it, its contact sheet and code; the others a line each. */
import { made } from "../page/element.ts";
import { quietButton } from "./quiet.ts";
import { runsState } from "./run.ts";
import { runsReveal, runsWaited } from "./runs.ts";
import { whenSeen } from "./seen.ts";
import { sweepCodeBox } from "./sweep_code.ts";
import { sweepFilm } from "./sweep_film.ts";
import { sweepWinner } from "./sweep_winner.ts";

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
  sheet: number;
  spoken?: string;
  kind?: string;
  best?: string;
};

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
const SWEEP_SHEET_RUNS = 24;

/** What it is called. */
const sweepNoun = (job: SweepJob) => (job.kind === "race" ? "race" : "sweep");

/** A sweep whose kernel is gone: its state is no longer updated. */
export function sweepLost(job: SweepJob): SweepJob {
  return { ...job, can: [], ...(job.over ? {} : { state: "uncertain", mark: "?" }) };
}

/** The contact sheet of a sweep, requested when it scrolls into view. */
function sweepSheet(link: any, job: SweepJob) {
  const caption = made("p", { class: "rbf-caption", text: "Drawing the contact sheet …" });
  const image = made("img", { class: "rbf-sweep-picture", alt: `Contact sheet of ${job.sheet} runs`, hidden: true });
  const save = made("a", {
    class: "rbf-sweep-save",
    download: "contact-sheet.jpg",
    text: "Save the sheet",
    hidden: true,
  });
  const dark = made("img", { class: "rbf-sweep-picture rbf-in-dark", alt: image.alt });
  const el = made("div", { class: "rbf-sweep-sheet" }, image, caption, save);
  let address = "",
    darkAddress = "";
  const off = link.on("sweep_sheet", (content: any, buffers: any[]) => {
    if (content.sweep_sheet !== job.key || address) return;
    const rest =
      job.sheet > SWEEP_SHEET_RUNS
        ? ` The first ${SWEEP_SHEET_RUNS} of ${job.sheet.toLocaleString("en")}; ${job.table}.reel.sheet() has more.`
        : "";
    caption.textContent = content.words ?? `Time runs across, one row for each run.${rest}`;
    if (!buffers.length) return;
    address = URL.createObjectURL(new Blob([buffers[0]], { type: "image/jpeg" }));
    image.src = address;
    if (buffers[1]) {
      dark.src = darkAddress = URL.createObjectURL(new Blob([buffers[1]], { type: "image/jpeg" }));
      image.classList.add("rbf-in-light");
      image.after(dark);
    }
    save.setAttribute("href", address);
    image.hidden = save.hidden = false;
  });
  const forget = whenSeen(el, () => {
    link.ask({ do: "sweep_sheet", job: job.key }).then((isSent: boolean) => {
      caption.hidden = !isSent;
    });
  });
  return {
    el,
    dispose: () => {
      forget();
      off();
      for (const one of [address, darkAddress]) if (one) URL.revokeObjectURL(one);
    },
  };
}

/** One sweep, large; what changes is changed in place, so that the focus stays. */
function sweepLarge(link: any, first: SweepJob) {
  const state = made("p", { class: "rbf-sweep-state" });
  const panel = made("div", { class: "rbf-sweep-panel" });
  const judge = made("div", { class: "rbf-sweep-judge" });
  const problem = made("p", { class: "rbf-problem", hidden: true });
  const actions = made("div", { class: "rbf-row", role: "group", "aria-label": `this ${sweepNoun(first)}` });
  const place = made("div", {});
  const code = sweepCodeBox();
  const where = made("p", { class: "rbf-caption", hidden: true });
  const el = made(
    "section",
    { class: "rbf-sweep-job", "aria-label": `${sweepNoun(first)} ${first.key}` },
    state,
    panel,
    judge,
    problem,
    actions,
    place,
    where,
    code.el,
  );
  let sheet: ReturnType<typeof sweepSheet> | null = null;
  let film: ReturnType<typeof sweepFilm> | null = null;
  let winner: ReturnType<typeof sweepWinner> | null = null;
  let job = first,
    buttons = "";
  const offs = [
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
      // Once: it is drawn anew when the kernel has done it.
      for (const one of actions.querySelectorAll("[data-do]")) one.setAttribute("aria-disabled", "true");
      if (button.dataset.pressed) return;
      button.dataset.pressed = "yes";
      link.ask({ do: "sweep_do", job: first.key, what });
    });
    return button;
  };
  const copy = quietButton("Copy code", () => code.show(job.code), { title: "Python code for the same sweep" });

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
    if (next.best && !winner) {
      winner = sweepWinner(link, next.key, next.best, next.state === "decided");
      panel.before(winner.el);
    }
    if (next.sheet && !film) {
      film = sweepFilm(link, next.key);
      panel.after(film.el);
    }
    if (next.sheet && !sheet) {
      sheet = sweepSheet(link, next);
      place.append(sheet.el);
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
      winner?.dispose();
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
                "aria-label": `Show ${sweepNoun(one)} ${one.key}`,
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
