/** The buttons of a comparison: its modes, what each of them can be set to, and zoom. */

import { type Camera, zoomButtons } from "../media/camera.ts";
import { button, choices, choose, made, slider } from "../page/element.ts";

const MODES = {
  wipe: "Wipe",
  onion: "Onion skin",
  difference: "Difference",
  flicker: "Flicker",
  side: "Side by side",
} as const;
type Mode = keyof typeof MODES;
const FACTORS = [1, 2, 4, 8, 16];
const RATES = [0.5, 1, 2, 4, 6]; // Changes a second; more than three flashes a second are a danger to some.

/** What is chosen. */
export interface Choice {
  mode: Mode;
  /** Where the wipe is in the view, 0 to 1. */
  share: number;
  opacity: number;
  factor: number;
  rate: number;
  isFlickering: boolean;
}

export function compareControls(choice: Choice, changed: () => void, camera: Camera) {
  const set = (change: Partial<Choice>) => {
    Object.assign(choice, change);
    update();
  };
  const names = Object.keys(MODES) as Mode[];
  const modes = choices("Compare by", Object.values(MODES), (place) => set({ mode: names[place] }));
  const opacity = slider("Opacity of B", (percent) => set({ opacity: percent / 100 }), { value: 100 * choice.opacity });
  const share = made("span");
  const factors = FACTORS.map((factor): [number, string] => [factor, `× ${factor}`]);
  const factor = choose("Amplified by", factors, choice.factor, (value) => set({ factor: Number(value) }));
  const most = made("span");
  const scale = made("span", { class: "rb-compare-scale", role: "img" }, "0", greys(), most);
  const play = button("", () => set({ isFlickering: !choice.isFlickering }), { title: "Alternate A and B" });
  const rates = RATES.map((rate): [number, string] => [rate, `${rate === 0.5 ? "½" : rate} a second`]);
  const rate = choose("Changes in a second", rates, choice.rate, (value) => set({ rate: Number(value) }));
  const settings: Record<Mode, (Node | string)[]> = {
    wipe: [],
    onion: [opacity, share],
    difference: ["amplified", factor, scale],
    flicker: [play, rate],
    side: [],
  };
  const groups = Object.entries(settings).map(([mode, nodes]) => made("span", { "data-rb-of": mode }, ...nodes));
  const options = made("div", { class: "rb-compare-options" }, ...groups);
  const update = () => {
    modes.press(names.indexOf(choice.mode));
    for (const group of groups) group.hidden = group.dataset.rbOf !== choice.mode;
    const end = 255 / choice.factor;
    share.textContent = `${opacity.value} % of B`;
    most.textContent = `${Number.isInteger(end) ? end : end.toFixed(0)}${choice.factor > 1 ? " or more" : ""} of 255`;
    scale.setAttribute("aria-label", `Scale: black is no difference, white is ${most.textContent}`);
    play.textContent = choice.isFlickering ? "Stop" : "Start";
    changed();
  };
  const bar = made("div", { class: "rb-compare-bar" }, modes.group, zoomButtons(camera));
  return { bar, options, update };
}

/** What a grey of the difference means: from black to white in five steps. */
function greys() {
  const steps = [0, 1, 2, 3, 4].map((step) => Math.round((step * 255) / 4));
  return made("span", {}, ...steps.map((grey) => made("i", { style: `background:rgb(${grey},${grey},${grey})` })));
}
