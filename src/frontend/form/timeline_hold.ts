/** The chosen picture of a timeline: how long it is held, in frames or seconds, and what else can be done with it. */

import { made } from "../page/element.ts";
import { numberPointed } from "./number.ts";
import { plainStep } from "./plain.ts";
import { quietButton } from "./quiet.ts";
import type { TimelineReel } from "./timeline_reel.ts";
import type { TimelineStrip } from "./timeline_strip.ts";

/** A number as it was typed: itself, or the text where it is none. */
function timelineTyped(text: string, isWhole: boolean) {
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
  const title = made("p", { class: "rbf-tl-title" });
  const wrong = made("p", { class: "rbf-tl-wrong-words" });
  const frames = timelineNumber("Hold this picture, in frames", "numeric", "frames");
  const seconds = timelineNumber("Hold this picture, in seconds", "decimal", "s");
  const all = button("Hold all as long", "Hold all pictures as long as this one", () => reel.heldAll(chosen()));
  const earlier = button("←", "Move earlier (Alt+Left)", () => strip.move(reel.selected - 1));
  const later = button("→", "Move later (Alt+Right)", () => strip.move(reel.selected + 1));
  const double = button("Duplicate", "Duplicate this picture", () => strip.double());
  const remove = button("Remove", "Remove this picture (Delete)", () => strip.remove());
  const row = made(
    "div",
    { class: "rbf-row rbf-tl-one" },
    made("span", { text: "Hold" }),
    frames.el,
    made("span", { text: "=", "aria-hidden": "true" }),
    seconds.el,
    all,
    made("span", { class: "rbf-tl-acts" }, earlier, later, double, remove),
  );
  const unread = made("p", { class: "rbf-tl-wrong-words", role: "status", hidden: true });
  const el = made("div", { class: "rbf-tl-hold-panel" }, title, wrong, row, unread);

  /** For how many frames the chosen picture is held; 0 where that cannot be read. */
  const chosen = () => reel.framesOf(reel.items[reel.selected]);
  /** Say what seconds are, where none were typed. */
  const judge = (isWrong: boolean) => {
    seconds.input.setAttribute("aria-invalid", String(isWrong));
    unread.textContent = reel.rate ? "Seconds are a number, such as 1.5." : "Set the frames per second first.";
    unread.hidden = !isWrong;
  };
  const inFrames = (): number | null => {
    const typed = timelineTyped(seconds.input.value, false);
    return typeof typed === "number" && reel.rate ? reel.within(Math.round(typed * reel.rate)) : null;
  };

  const draw = () => {
    const item = reel.items[reel.selected];
    el.hidden = !item;
    if (!item) return;
    const [place, last, held] = [reel.selected, reel.items.length - 1, chosen()];
    const words = `Picture ${place + 1} of ${last + 1}: ${strip.nameOf(place)}`;
    if (title.textContent !== words) title.textContent = words;
    wrong.textContent = strip.problemOf(place);
    wrong.hidden = !wrong.textContent;
    if (timelineTyped(frames.input.value, true) !== item.frames) frames.input.value = String(item.frames ?? "");
    const isWrong = !held || held < reel.least || held > reel.longest;
    frames.input.setAttribute("aria-invalid", String(isWrong));
    seconds.input.disabled = !reel.rate;
    const isTyping = seconds.input.matches(":focus") && inFrames() === held;
    if (!isTyping) seconds.input.value = held && reel.rate ? String(Number((held / reel.rate).toFixed(3))) : "";
    judge(false);
    all.setAttribute("aria-disabled", String(isWrong));
    all.hidden = last < 1;
    earlier.setAttribute("aria-disabled", String(place === 0));
    later.setAttribute("aria-disabled", String(place === last));
    double.setAttribute("aria-disabled", String(reel.room < 1));
  };

  frames.input.addEventListener("input", () => reel.held(reel.selected, timelineTyped(frames.input.value, true)));
  frames.input.addEventListener("keydown", (event) => {
    const by = plainStep(event);
    if (!by) return;
    event.preventDefault();
    reel.held(reel.selected, reel.within(chosen() + by * (event.shiftKey ? 10 : 1)));
  });
  seconds.input.addEventListener("input", () => {
    const found = inFrames();
    judge(!found && seconds.input.value.trim() !== "");
    if (found) reel.held(reel.selected, found);
  });
  seconds.input.addEventListener("blur", draw);
  return { el, draw };
}
