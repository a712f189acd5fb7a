/** The chosen picture of a timeline: how long it is held, in frames or seconds, and what else can be done with it. */

import { made } from "../page/element.ts";
import { numberPointed } from "./number.ts";
import { quietButton } from "./quiet.ts";
import type { TimelineReel } from "./timeline_reel.ts";
import type { TimelineStrip } from "./timeline_strip.ts";

/** A number as it was typed: itself, or the text where it is none. */
export function timelineTyped(text: string, isWhole: boolean) {
  const typed = numberPointed(text.trim());
  if (!typed) return undefined;
  return (isWhole ? /^\d+$/ : /^(\d+\.?\d*|\.\d+)$/).test(typed) && Number.isFinite(Number(typed))
    ? Number(typed)
    : text.trim();
}

function timelineNumber(label: string, mode: string, unit: string) {
  const input = made("input", {
    type: "text",
    inputmode: mode,
    class: "rbf-tl-figure",
    "aria-label": label,
    autocomplete: "off",
  });
  return { input, el: made("label", { class: "rbf-tl-unit" }, input, made("span", { text: unit })) };
}

export function timelineHold(reel: TimelineReel, strip: TimelineStrip) {
  const button = (text: string, says: string, act: () => void) =>
    quietButton(text, act, { title: says, "aria-label": says });
  /** Whether what was typed is a length, and where it is none, what is. */
  const judge = (input: HTMLInputElement, said: HTMLElement, words: string) => {
    input.setAttribute("aria-invalid", String(!!words));
    said.textContent = words;
    said.hidden = !words;
  };
  const title = made("p", { class: "rbf-tl-title" });
  const wrong = made("p", { class: "rbf-tl-wrong-words" });
  const frames = timelineNumber("Hold this picture, in frames", "numeric", "frames");
  const seconds = timelineNumber("Hold this picture, in seconds", "decimal", "s");
  const earlier = button("←", "Move earlier (Alt+Left)", () => strip.move(reel.selected - 1));
  const later = button("→", "Move later (Alt+Right)", () => strip.move(reel.selected + 1));
  const double = button("Duplicate", "Duplicate this picture", () => strip.double());
  const remove = button("Remove", "Remove this picture (Delete)", () => strip.remove());
  const all = timelineNumber("Hold all pictures for", "decimal", "");
  const unit = made(
    "select",
    { "aria-label": "Unit" },
    made("option", { value: "s", text: "seconds" }),
    made("option", { value: "f", text: "frames" }),
  );
  const apply = button("Hold all", "Hold all pictures for this long", () => holdAll());
  const one = made(
    "div",
    { class: "rbf-row rbf-tl-one" },
    made("span", { text: "Hold" }),
    frames.el,
    made("span", { text: "=", "aria-hidden": "true" }),
    seconds.el,
    made("span", { class: "rbf-tl-acts" }, earlier, later, double, remove),
  );
  const whole = made("div", { class: "rbf-row rbf-tl-all" }, made("span", { text: "All for" }), all.input, unit, apply);
  const oneWrong = made("p", { class: "rbf-tl-wrong-words", role: "status", hidden: true });
  const allWrong = made("p", { class: "rbf-tl-wrong-words", role: "status", hidden: true });
  const el = made("div", { class: "rbf-tl-hold-panel" }, title, wrong, one, oneWrong, whole, allWrong);
  all.input.value = "1";

  const same = (input: HTMLInputElement, value: any, isWhole: boolean) => timelineTyped(input.value, isWhole) === value;

  const draw = () => {
    const item = reel.items[reel.selected];
    el.hidden = !item;
    if (!item) return;
    const [place, last] = [reel.selected, reel.items.length - 1];
    const words = `Picture ${place + 1} of ${last + 1}: ${strip.nameOf(place)}`;
    if (title.textContent !== words) title.textContent = words;
    wrong.textContent = strip.problemOf(place);
    wrong.hidden = !wrong.textContent;
    if (!same(frames.input, item.frames, true))
      frames.input.value = item.frames === undefined || item.frames === null ? "" : String(item.frames);
    const held = reel.framesOf(item);
    frames.input.setAttribute("aria-invalid", String(!held || held < reel.least || held > reel.longest));
    seconds.input.disabled = !reel.rate;
    const isTyping = seconds.input.matches(":focus") && inFrames(seconds.input.value) === held;
    if (!isTyping) seconds.input.value = held && reel.rate ? String(Number((held / reel.rate).toFixed(3))) : "";
    judge(seconds.input, oneWrong, "");
    earlier.setAttribute("aria-disabled", String(place === 0));
    later.setAttribute("aria-disabled", String(place === last));
    double.setAttribute("aria-disabled", String(reel.room < 1));
    whole.hidden = last < 1;
  };

  /** @param text Seconds. */
  const inFrames = (text: string): number | null => {
    const typed = timelineTyped(text, false);
    return typeof typed === "number" && reel.rate ? reel.within(Math.round(typed * reel.rate)) : null;
  };

  const lengthWords = (isInFrames: boolean) => {
    if (isInFrames) return "Frames are a whole number, such as 24.";
    return reel.rate ? "Seconds are a number, such as 1.5." : "Set the frames per second first.";
  };

  const holdAll = () => {
    const typed = timelineTyped(all.input.value, unit.value === "f");
    const found =
      unit.value === "f" ? (typeof typed === "number" ? reel.within(typed) : null) : inFrames(all.input.value);
    judge(all.input, allWrong, found ? "" : lengthWords(unit.value === "f"));
    if (found) reel.heldAll(found);
  };

  frames.input.addEventListener("input", () => reel.held(reel.selected, timelineTyped(frames.input.value, true)));
  seconds.input.addEventListener("input", () => {
    const found = inFrames(seconds.input.value);
    judge(seconds.input, oneWrong, found || !seconds.input.value.trim() ? "" : lengthWords(false));
    if (found) reel.held(reel.selected, found);
  });
  seconds.input.addEventListener("blur", draw);
  frames.input.addEventListener("keydown", (event) => {
    const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    reel.held(reel.selected, reel.within(reel.framesOf(reel.items[reel.selected]) + by * (event.shiftKey ? 10 : 1)));
  });
  all.input.addEventListener("input", () => judge(all.input, allWrong, ""));
  all.input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    holdAll();
  });
  unit.addEventListener("change", () => {
    judge(all.input, allWrong, "");
    const typed = timelineTyped(all.input.value, false);
    if (typeof typed === "number" && reel.rate)
      all.input.value =
        unit.value === "f" ? String(Math.round(typed * reel.rate)) : String(Number((typed / reel.rate).toFixed(3)));
  });
  return { el, draw };
}
