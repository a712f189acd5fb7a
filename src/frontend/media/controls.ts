/** The one bar of buttons below clips, and the keys of all players. */

import { answerKey, button, choose, isWriting, made } from "../page/element.ts";
import type { Clock } from "./clock.ts";

/** The list that the question mark shows. */
export const KEYS = "Space play, pause · ← → one frame · Shift ← → ten · Home first · End last · L loop · ? these keys";
const SPEEDS = [0.25, 0.5, 1, 2].map((speed): [number, string] => [speed, `${speed} ×`]);
/** Drawn, because fonts may have coloured pictures for these characters. */
const ICONS = {
  play: "M4 2.5v11l9-5.5z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  back: "M3 3h2v10H3zM13 3v10L6 8z",
  on: "M11 3h2v10h-2zM3 3v10l7-5z",
  loop: "M4.5 4H11a2.5 2.5 0 0 1 2.5 2.5V8H12V6.5a1 1 0 0 0-1-1H4.5V7.5L1.5 4.75 4.5 2zM11.5 12H5a2.5 2.5 0 0 1-2.5-2.5V8H4v1.5a1 1 0 0 0 1 1h6.5V8.5l3 2.75-3 2.75z",
};

/** What the keys of all players move: a clock with its clips, or a video with the browser's own buttons. */
export interface Player {
  readonly frames: number;
  toggle(): unknown;
  step(frames: number): unknown;
  seek(frame: number): unknown;
  turnLoop(): unknown;
  /** Begin or end the range that plays at the frame on the screen. */
  setRange?(side: 0 | 1): unknown;
}

/**
 * Fill the place `[data-rb-transport]` with the time line and the buttons of a clock, which the keys of all players move as well.
 * @param more Other keys of the viewer, for the list of keys.
 */
export function buttons(root: HTMLElement, clock: Clock, more = "") {
  const act = (name: string, label: string, title: string, content: Node | string, press: () => unknown) =>
    button(content, press, { "data-rb-do": name, "aria-label": label, title });
  const attributes = { type: "range", min: 0, max: 1, value: 0, "data-rb-do": "scrub", "aria-label": "frame" };
  const scrub = made("input", { ...attributes, oninput: () => clock.seek(Number(scrub.value)) });
  const range = made("i", { hidden: true });
  const line = made("div", { class: "rb-line" }, range, scrub);
  const back = act("back", "One frame back", "One frame back (←)", icon("back"), () => clock.step(-1));
  const play = act("play", "Play", "Play or pause (Space)", icon("play", "rb-on"), () => clock.toggle());
  play.append(icon("pause", "rb-off"));
  const on = act("on", "One frame on", "One frame on (→)", icon("on"), () => clock.step(1));
  const [count, seconds] = [made("bdi"), made("span")];
  const ways = ["time", "frame"].map((way): [string, string] => [way, `same ${way}`]);
  const by = choose("the same in all clips", ways, "time", (value) => (clock.by = value));
  const speed = choose("speed", SPEEDS, 1, (value) => clock.setSpeed(Number(value)));
  [by.dataset.rbDo, speed.dataset.rbDo] = ["by", "speed"];
  const loop = act("loop", "Loop", "Begin again at the end (L)", icon("loop"), () => clock.turnLoop());
  const again = "at this frame; once more, all plays again";
  const sides = [
    act("begin", "Begin of the range", `What plays begins ${again} ([)`, "[", () => clock.setRange(0)),
    act("end", "End of the range", `What plays ends ${again} (])`, "]", () => clock.setRange(1)),
  ];
  const help = made("span", { class: "rb-keys", role: "status" });
  const toggleHelp = () => {
    help.textContent = help.textContent ? "" : `${KEYS} · [ ] begin and end of the range${more}`;
  };
  const show = () => {
    const frame = clock.frame;
    const time = `${(frame / clock.rate).toFixed(2)} s`;
    scrub.value = String(frame);
    count.textContent = `${frame + 1} of ${clock.frames}`;
    seconds.textContent = ` · ${time}`;
    scrub.setAttribute("aria-valuetext", `frame ${count.textContent}, ${time}`);
  };
  const change = () => {
    root.toggleAttribute("data-playing", clock.playing);
    play.setAttribute("aria-label", clock.playing ? "Pause" : "Play");
    loop.setAttribute("aria-pressed", String(clock.loop));
    scrub.max = String(clock.frames - 1);
    by.hidden = !clock.clips.some(({ rate, times }) => times || rate !== clock.rate);
    const [first, last] = clock.range ?? [0, clock.frames - 1];
    range.hidden = clock.range === null;
    line.style.setProperty("--from", String(clock.shareOf(first)));
    line.style.setProperty("--to", String(clock.shareOf(last)));
    sides[0].setAttribute("aria-pressed", String(first > 0));
    sides[1].setAttribute("aria-pressed", String(last < clock.frames - 1));
    show();
  };
  clock.addEventListener("frame", show);
  clock.addEventListener("change", change);
  change();
  const status = made("span", { class: "rb-told", "data-rb-do": "told" }, count, seconds);
  const options = made("span", { class: "rb-transport-more" }, by, speed, loop, ...sides);
  const bar = root.querySelector("[data-rb-transport]") as HTMLElement;
  bar.className = "rb-transport";
  bar.replaceChildren(line, back, play, on, status, options, help);
  root.addEventListener("keydown", (event) => {
    if (!event.defaultPrevented && clock.clips.length) keys(event, clock, { "?": toggleHelp });
  });
}

function icon(name: keyof typeof ICONS, kind = "") {
  const { content } = Object.assign(document.createElement("template"), {
    innerHTML: `<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" class="${kind}"><path d="${ICONS[name]}"/></svg>`,
  });
  return content;
}

/** Only while the focus is inside, and none with Ctrl, Alt or Meta. @param more Keys of one player alone. */
export function keys(event: KeyboardEvent, player: Player, more: Record<string, () => unknown> = {}) {
  const isPressing = event.key === " " && (event.target as HTMLElement).matches("button, a, summary");
  if (isWriting(event) || isPressing) return;
  const far = event.shiftKey ? 10 : 1;
  answerKey(event, {
    " ": () => player.toggle(),
    ArrowLeft: () => player.step(-far),
    ArrowRight: () => player.step(far),
    Home: () => player.seek(0),
    End: () => player.seek(player.frames - 1),
    l: () => player.turnLoop(),
    ...(player.setRange && { "[": () => player.setRange?.(0), "]": () => player.setRange?.(1) }),
    ...more,
  });
}
