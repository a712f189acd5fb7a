/** The sweep of a form: which fields vary, what all combinations cost, and what comes of them. */
import { made } from "../page/element.ts";
import { makeSpeaker } from "./speaker.ts";
import { makeSweepAxes } from "./sweep_axes.ts";
import { makeSweepJobs, sweepLost } from "./sweep_jobs.ts";
import { makeSweepPlan } from "./sweep_plan.ts";

// Long enough for the next letter of a number; a plan takes longer than a price.
const SWEEP_PAUSE = 150;

/** The section, the button that opens it, what came of its sweeps, and a function on the link by which others open it. */
export function makeSweep(link: any, name: string) {
  const model = link.model;
  const speaker = makeSpeaker();
  let number = 0,
    awaited = 0,
    timer = 0,
    isOpen = false;
  /** Whether the kernel has answered to all that was typed here. */
  const isSettled = () => !timer && !awaited;
  const flush = () => {
    clearTimeout(timer);
    timer = 0;
    link.ask({ do: "sweep", view: link.view, n: number, axes: isOpen ? axes.typed() : [] });
  };
  const changed = () => {
    awaited = number += 1;
    clearTimeout(timer);
    timer = window.setTimeout(flush, SWEEP_PAUSE);
    plan.changed();
  };
  const axes = makeSweepAxes(link, name, changed);
  let heard = "";
  const say = (words: string) => {
    if (words && words !== heard) speaker.say("", (heard = words));
  };
  const jobs = makeSweepJobs(link, say);
  const plan = makeSweepPlan(link, name, { isSettled, say, pressed: jobs.awaited });

  const close = made("button", {
    type: "button",
    class: "rbf-quiet",
    text: "Close",
    "aria-label": "Close the sweep",
    onclick: () => {
      toggle(false);
      button.focus();
    },
  });
  const el = made(
    "section",
    { class: "rbf-sweep", id: `${name}-sweep`, "aria-label": "Sweep", hidden: true },
    made(
      "div",
      { class: "rbf-sweep-head" },
      made("b", { text: "Sweep" }),
      made("span", { class: "rbf-caption", text: "One run for every combination of the values." }),
      close,
    ),
    axes.el,
    plan.el,
    speaker.el,
  );
  const button = made("button", {
    type: "button",
    class: "rbf-quiet",
    text: "Sweep…",
    title: "Run many variations of this form",
    "aria-expanded": "false",
    "aria-controls": el.id,
    onclick: () => {
      if (isOpen) toggle(false);
      else link.openSweep();
    },
  });

  const toggle = (opens: boolean) => {
    if (isOpen === opens) return;
    isOpen = opens;
    el.hidden = !opens;
    button.setAttribute("aria-expanded", String(opens));
    // What is closed costs nothing: no plan is made for it.
    if (axes.typed().length) changed();
  };
  /** Open the section, with this field if one is given. */
  link.openSweep = (field?: string) => {
    toggle(true);
    if (field) {
      axes.set(field);
      changed();
    }
    axes.focus(field);
    el.scrollIntoView({ block: "nearest" });
  };

  const show = () => {
    const sweeps = model.get("sweeps");
    const isOwn = sweeps.view === link.view;
    if (isOwn && sweeps.n === number) awaited = 0;
    if (isOwn && isSettled()) axes.judge(sweeps.axes ?? []);
    // A page that has come back, or another view of the same form: what it shows is what the kernel plans.
    else if (!isOwn && isSettled() && (sweeps.axes?.length || sweeps.jobs?.length)) {
      isOpen = true;
      el.hidden = false;
      button.setAttribute("aria-expanded", "true");
      if (sweeps.axes.length) axes.adopt(sweeps.axes);
    }
    plan.update();
    const known = sweeps.jobs ?? [];
    jobs.update(link.hasEnded ? known.map(sweepLost) : known, sweeps.shown ?? "");
  };
  model.on("change:sweeps", show);
  const offs = [
    link.on("sweep_said", (content: any) => plan.say(content.sweep_said)),
    link.on("state", () => plan.update()),
    link.on("ended", show),
    link.on("draft", () => plan.changed()),
  ];
  show();
  return {
    el,
    button,
    results: jobs.el,
    onNew: jobs.onNew,
    dispose: () => {
      clearTimeout(timer);
      model.off("change:sweeps", show);
      offs.forEach((off) => off());
      plan.dispose();
      jobs.dispose();
      speaker.dispose();
    },
  };
}
