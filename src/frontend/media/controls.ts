/** The buttons and the keys of a group of clips. */

import { answerKey } from "../page/keys.ts";
import type { Clock } from "./clock.ts";

const PLAYED = "Played by the browser, which may not decode single frames here: steps take longer.";

/** The scrub bar and the buttons around it. */
export function buttons(root: HTMLElement, clock: Clock) {
  const one = (name: string) => root.querySelector(`[data-rb-do="${name}"]`) as HTMLElement;
  const scrub = one("scrub") as HTMLInputElement;
  const speed = one("speed") as HTMLSelectElement;
  const [play, loop, status, note] = [one("play"), one("loop"), one("told"), one("note")];
  const by = one("by") as HTMLSelectElement;
  const [count, seconds] = [document.createTextNode(""), document.createElement("span")];
  status.replaceChildren(count, seconds);
  play.addEventListener("click", () => clock.toggle());
  one("back").addEventListener("click", () => clock.step(-1));
  one("on").addEventListener("click", () => clock.step(1));
  scrub.addEventListener("input", () => clock.seek(Number(scrub.value)));
  speed.addEventListener("change", () => (clock.speed = Number(speed.value)));
  loop.addEventListener("click", () => turnLoop(clock));
  const sides = [one("begin"), one("end")];
  sides.forEach((side, place) => side.addEventListener("click", () => setRange(clock, place ? 1 : 0)));
  by.addEventListener("change", () => (clock.by = by.value));
  root.addEventListener("reelbook:played", () => {
    note.hidden = false;
    note.textContent = PLAYED;
  });
  const show = () => {
    const frame = clock.frame;
    const words = `${frame + 1} of ${clock.frames}`;
    const time = `${(frame / clock.rate).toFixed(2)} s`;
    scrub.value = String(frame);
    scrub.style.setProperty("--at", String(clock.shareOf(frame)));
    scrub.setAttribute("aria-valuetext", `frame ${words}, ${time}`);
    count.data = words;
    seconds.textContent = ` · ${time}`;
  };
  const change = () => {
    root.toggleAttribute("data-playing", clock.playing);
    play.setAttribute("aria-label", clock.playing ? "Pause" : "Play");
    loop.setAttribute("aria-pressed", String(clock.loop));
    scrub.max = String(clock.frames - 1);
    by.hidden = !clock.clips.some(({ rate, times }) => times || rate !== clock.rate);
    const [first, last] = clock.range ?? [0, clock.frames - 1];
    scrub.style.setProperty("--from", String(clock.shareOf(first)));
    scrub.style.setProperty("--to", String(clock.shareOf(last)));
    scrub.toggleAttribute("data-range", clock.range !== null);
    const isChosen = [clock.range !== null && first > 0, clock.range !== null && last < clock.frames - 1];
    sides.forEach((side, place) => side.setAttribute("aria-pressed", String(isChosen[place])));
    show();
  };
  clock.addEventListener("frame", show);
  clock.addEventListener("change", change);
  change();
  const transport = root.querySelector("[data-rb-transport]") as HTMLElement;
  transport.hidden = false;
  transport.style.display = "";
}

function turnLoop(clock: Clock) {
  clock.loop = !clock.loop;
  clock.dispatchEvent(new Event("change"));
}

/** Begin or end the range that plays at the frame on the screen; at its own end, play all again. */
function setRange(clock: Clock, side: 0 | 1) {
  const range: [number, number] = clock.range ? [...clock.range] : [0, clock.frames - 1];
  const isAgain = clock.range !== null && range[side] === clock.frame;
  range[side] = clock.frame;
  clock.range = isAgain || range[0] > range[1] ? null : range;
}

/** The keys that all viewers share; only while the focus is inside, and none with Ctrl, Alt or Meta. */
export function keys(event: KeyboardEvent, clock: Clock) {
  const target = event.target as HTMLElement;
  const isWriting = target.matches("select, textarea, input:not([type=range])");
  const isPressing = event.key === " " && target.matches("button, a, summary");
  if (isWriting || isPressing) return;
  const far = event.shiftKey ? 10 : 1;
  answerKey(event, {
    " ": () => clock.toggle(),
    ArrowLeft: () => clock.step(-far),
    ArrowRight: () => clock.step(far),
    Home: () => clock.seek(0),
    End: () => clock.seek(clock.frames - 1),
    l: () => turnLoop(clock),
    L: () => turnLoop(clock),
    "[": () => setRange(clock, 0),
    "]": () => setRange(clock, 1),
  });
}
