/** The buttons of a comparison: its modes, what each of them can be set to, zoom, and which two are A and B. */

import type { Camera } from "../media/camera.ts";
import { made } from "../page/element.ts";

export const MODES = {
  wipe: "Wipe",
  onion: "Onion skin",
  difference: "Difference",
  flicker: "Flicker",
  side: "Side by side",
} as const;
const FACTORS = [1, 2, 4, 8, 16];
const RATES = [0.5, 1, 2, 4, 6]; // Changes a second; more than three flashes a second are a danger to some.

/** What is chosen. */
export interface Choice {
  mode: keyof typeof MODES;
  /** Whether the wipe goes from top to bottom. */
  isDown: boolean;
  /** Where the wipe is in the view, 0 to 1. */
  share: number;
  opacity: number;
  factor: number;
  rate: number;
  isFlickering: boolean;
}

function pressed(text: string, title: string, act: () => void, attributes: Record<string, string> = {}) {
  return made("button", { type: "button", title, onclick: act, ...attributes }, text);
}

function chosen(
  name: string,
  options: [string | number, string][],
  value: string | number,
  act: (value: string) => void,
) {
  const select = made("select", { "aria-label": name, title: name, onchange: () => act(select.value) });
  select.append(...options.map(([one, text]) => new Option(text, String(one), one === value, one === value)));
  return select;
}

export function compareControls(choice: Choice, changed: () => void, camera: Camera) {
  const modes = Object.entries(MODES).map(([mode, text]) =>
    pressed(text, text, () => set({ mode: mode as keyof typeof MODES }), { "data-rb-mode": mode }),
  );
  const percent = pressed("", "One pixel on one pixel", () => camera.toPixels(), { class: "rb-compare-percent" });
  const zoom = made(
    "div",
    { class: "rb-compare-zoom", role: "group", "aria-label": "Zoom" },
    pressed("−", "Smaller (−)", () => camera.step(-1)),
    percent,
    pressed("+", "Larger (+)", () => camera.step(1)),
    pressed("Fit", "All in view (0)", () => camera.toFit()),
  );
  const options = made("div", {
    class: "rb-compare-options",
    // Arrows move these, and not the clips.
    onkeydown: (event: KeyboardEvent) => {
      if ((event.target as HTMLElement).matches("input, select")) event.stopPropagation();
    },
  });
  const optionsOf = makeOptions(choice, (change) => set(change), changed);
  const update = () => {
    for (const button of modes) button.setAttribute("aria-pressed", String(button.dataset.rbMode === choice.mode));
    const focused = options.contains(document.activeElement) ? (document.activeElement as HTMLElement) : null;
    options.replaceChildren(...optionsOf[choice.mode]());
    if (focused && options.contains(focused)) focused.focus({ preventScroll: true });
    changed();
  };
  const set = (change: Partial<Choice>) => {
    Object.assign(choice, change);
    update();
  };
  camera.addEventListener("change", () => {
    const words = `${Math.round(100 * camera.scale)} %`;
    percent.textContent = words;
    percent.setAttribute("aria-label", `Zoom ${words}, press for one pixel on one pixel`);
  });
  const modeBar = made("div", { class: "rb-compare-modes", role: "group", "aria-label": "Compare by" }, ...modes);
  return { bar: made("div", { class: "rb-compare-bar" }, modeBar, zoom), options, update, set };
}

/** What each mode can be set to. */
function makeOptions(
  choice: Choice,
  set: (change: Partial<Choice>) => void,
  changed: () => void,
): Record<keyof typeof MODES, () => (Node | string)[]> {
  const ways: [string, string][] = [
    ["across", "left to right"],
    ["down", "top to bottom"],
  ];
  const way = chosen("Direction of the wipe", ways, "across", (value) => set({ isDown: value === "down" }));
  const opacity = made("input", {
    type: "range",
    min: 0,
    max: 100,
    value: 100 * choice.opacity,
    "aria-label": "Opacity of B",
    oninput: () => {
      choice.opacity = Number(opacity.value) / 100;
      share.textContent = `${opacity.value} % of B`;
      changed(); // A slider that is being dragged stays where it is.
    },
  });
  const share = made("span", {}, `${opacity.value} % of B`);
  const factor = chosen(
    "Amplified by",
    FACTORS.map((one) => [one, `× ${one}`]),
    choice.factor,
    (value) => set({ factor: Number(value) }),
  );
  const rate = chosen(
    "Changes in a second",
    RATES.map((one) => [one, `${one === 0.5 ? "½" : one} a second`]),
    choice.rate,
    (value) => set({ rate: Number(value) }),
  );
  const play = pressed("", "Alternate A and B", () => set({ isFlickering: !choice.isFlickering }));
  return {
    wipe: () => [way],
    onion: () => [opacity, share],
    difference: () => ["amplified", factor, scaleOf(choice.factor)],
    flicker: () => {
      play.textContent = choice.isFlickering ? "Stop" : "Start";
      return [play, rate];
    },
    side: () => [],
  };
}

/** What a grey of the difference means. */
function scaleOf(factor: number) {
  const end = 255 / factor;
  const steps = [0, 1, 2, 3, 4].map((part) =>
    made("i", { style: `background:rgb(${[0, 1, 2].map(() => Math.round((part * 255) / 4)).join()})` }),
  );
  const most = `${Number.isInteger(end) ? end : end.toFixed(0)}${factor > 1 ? " or more" : ""} of 255`;
  return made(
    "span",
    { class: "rb-compare-scale", role: "img", "aria-label": `Scale: black is no difference, white is ${most}` },
    "0",
    made("span", {}, ...steps),
    most,
  );
}
