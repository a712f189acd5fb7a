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

function pressed(text: string, title: string, act: () => void) {
  return made("button", { type: "button", title, onclick: act }, text);
}

function chosen(name: string, options: [string, string][], value: string, act: (value: string) => void) {
  const select = made("select", { "aria-label": name, title: name });
  select.append(...options.map(([one, text]) => new Option(text, one, one === value, one === value)));
  select.addEventListener("change", () => act(select.value));
  return select;
}

/** What `compareControls` makes. */
export interface Controls {
  bar: HTMLElement;
  options: HTMLElement;
  update: () => void;
  choose: (mode: keyof typeof MODES) => void;
}

export function compareControls(choice: Choice, changed: () => void, camera: Camera): Controls {
  const modes = Object.entries(MODES).map(([mode, text]) => {
    const button = pressed(text, text, () => choose(mode as any));
    button.dataset.rbMode = mode;
    return button;
  });
  const percent = pressed("", "One pixel on one pixel", () => camera.toPixels());
  percent.className = "rb-compare-percent";
  const zoom = made(
    "div",
    { class: "rb-compare-zoom", role: "group", "aria-label": "Zoom" },
    pressed("−", "Smaller (−)", () => camera.step(-1)),
    percent,
    pressed("+", "Larger (+)", () => camera.step(1)),
    pressed("Fit", "All in view (0)", () => camera.toFit()),
  );
  const options = made("div", { class: "rb-compare-options" });
  // Arrows move these, and not the clips.
  options.addEventListener("keydown", (event) => {
    if ((event.target as HTMLElement).matches("input, select")) event.stopPropagation();
  });
  const parts = optionsOf(choice, () => update());
  const update = () => {
    for (const button of modes) button.setAttribute("aria-pressed", String(button.dataset.rbMode === choice.mode));
    options.replaceChildren(...parts(choice.mode));
    changed();
  };
  const choose = (mode: keyof typeof MODES) => {
    choice.mode = mode;
    update();
  };
  camera.addEventListener("change", () => {
    const words = `${Math.round(100 * camera.scale)} %`;
    percent.textContent = words;
    percent.setAttribute("aria-label", `Zoom ${words}, press for one pixel on one pixel`);
  });
  const bar = made(
    "div",
    { class: "rb-compare-bar" },
    made("div", { class: "rb-compare-modes", role: "group", "aria-label": "Compare by" }, ...modes),
    zoom,
  );
  return { bar, options, update, choose };
}

/** What each mode can be set to. */
function optionsOf(choice: Choice, update: () => void): (mode: keyof typeof MODES) => (Node | string)[] {
  const way = chosen(
    "Direction of the wipe",
    [
      ["across", "left to right"],
      ["down", "top to bottom"],
    ],
    "across",
    (value) => {
      choice.isDown = value === "down";
      update();
    },
  );
  const opacity = made("input", {
    type: "range",
    min: "0",
    max: "100",
    value: String(100 * choice.opacity),
    "aria-label": "Opacity of B",
  });
  const said = made("span");
  opacity.addEventListener("input", () => {
    choice.opacity = Number(opacity.value) / 100;
    said.textContent = `${opacity.value} % of B`;
    update();
  });
  said.textContent = `${opacity.value} % of B`;
  const factor = chosen(
    "Amplified by",
    FACTORS.map((one) => [String(one), `× ${one}`]),
    String(choice.factor),
    (value) => {
      choice.factor = Number(value);
      update();
    },
  );
  const rate = chosen(
    "Changes in a second",
    RATES.map((one) => [String(one), `${one === 0.5 ? "½" : one} a second`]),
    String(choice.rate),
    (value) => {
      choice.rate = Number(value);
      update();
    },
  );
  const play = pressed("", "Alternate A and B", () => {
    choice.isFlickering = !choice.isFlickering;
    update();
  });
  return (mode) => {
    play.textContent = choice.isFlickering ? "Stop" : "Start";
    const found: Record<string, (Node | string)[]> = {
      wipe: [way],
      onion: [opacity, said],
      difference: ["amplified", factor, scaleOf(choice.factor)],
      flicker: [play, rate],
      side: [],
    };
    const focused = document.activeElement;
    if (focused instanceof HTMLElement && found[mode].includes(focused))
      queueMicrotask(() => focused.focus({ preventScroll: true }));
    return found[mode];
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
