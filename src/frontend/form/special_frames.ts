/** A number of frames, dragged or typed, and the seconds that it lasts, which can be typed as well. */
import { made } from "../page/element.ts";
import { CONTROLS, type Control, type Place } from "./fields.ts";
import { numberRead } from "./number.ts";
import { specialFollow, specialOther, specialSay, specialShow } from "./special_parts.ts";

class FramesControl {
  _place: Place;
  _bounds: FramesBounds;
  _rateName: any;
  _input: HTMLInputElement;
  _seconds: HTMLInputElement;
  _slider: HTMLInputElement;
  _rateWords: HTMLElement;
  el: HTMLElement;
  _off: () => void;

  constructor(place: Place) {
    this._place = place;
    this._bounds = framesBounds(place.node);
    this._rateName = place.node.beside?.rate;
    const { least, most, step } = this._bounds;
    const label = place.node.label;
    this._input = framesInput(place.id, "", "numeric");
    this._seconds = framesInput(`${place.id}-seconds`, `${label}, in seconds`, "decimal");
    this._slider = made("input", { type: "range", class: "rbf-slider", "aria-label": `${label}, slider` });
    Object.assign(this._slider, { min: String(least), max: String(most), step: String(step) });
    this._slider.hidden = !Number.isFinite(most);
    this._rateWords = made("span", { class: "rbf-caption rbf-frames-rate" });
    const seconds = made(
      "span",
      { class: "rbf-frames-part" },
      made("span", { "aria-hidden": "true", text: "=" }),
      this._seconds,
      made("span", { text: "s" }),
      this._rateWords,
    );
    seconds.hidden = !this._rateName;
    this.el = made(
      "div",
      { class: "rbf-frames" },
      this._slider,
      made("span", { class: "rbf-frames-part" }, this._input, made("span", { text: "frames" })),
      seconds,
    );
    this._listen();
    this._off = specialFollow(place.link, () => this._updateRate());
    this._updateRate();
  }

  _listen() {
    this._slider.addEventListener("input", () => this._set(Number(this._slider.value)));
    this._input.addEventListener("input", () => {
      this._place.change(numberRead(this._input.value));
      this._update();
    });
    this._input.addEventListener("blur", () => {
      if (this._input.value.trim() === "") this.show(undefined);
    });
    this._seconds.addEventListener("input", () => this._typedSeconds());
    this._seconds.addEventListener("blur", () => this._update());
    this._input.addEventListener("keydown", (event) =>
      this._stepped(event, (by) =>
        this._set(framesAllowed((this.frames ?? this._bounds.least) + by * this._bounds.step, this._bounds)),
      ),
    );
    this._seconds.addEventListener("keydown", (event) => this._stepped(event, (by) => this._stepSeconds(by)));
  }

  /** The frames as they stand there, or by default; null while they cannot be read. */
  get frames(): number | null {
    const typed = numberRead(this._input.value) ?? this._place.node.default;
    return typeof typed === "number" && typed > 0 ? typed : null;
  }

  /** Frames each second; null where that cannot be read. */
  get rate(): number | null {
    const rate = specialOther(this._place.link, this._rateName);
    return typeof rate === "number" && rate > 0 ? rate : null;
  }

  show(value: unknown) {
    const current = value ?? this._place.node.default;
    const isDefault =
      value === undefined && numberRead(this._input.value) === undefined && document.activeElement === this._input;
    // Who has just emptied it to type another number does not want the default back under the caret.
    if (!isDefault) specialShow(this._input, current, numberRead);
    this._update();
  }

  dispose() {
    this._off();
  }

  _set(frames: number) {
    this._input.value = String(frames);
    this._place.change(frames);
    this._update();
  }

  /** Shows slider and seconds for the frames that stand there. */
  _update() {
    const { frames, rate } = this;
    if (frames !== null) this._slider.value = String(frames);
    const seconds = frames !== null && rate !== null ? framesInSeconds(frames / rate) : "";
    this._slider.setAttribute("aria-valuetext", `${frames ?? "no"} frames${seconds && `, ${seconds} s`}`);
    this._seconds.setAttribute("aria-invalid", "false");
    if (document.activeElement !== this._seconds && this._seconds.value !== seconds) this._seconds.value = seconds;
    this._seconds.disabled = rate === null;
  }

  _updateRate() {
    specialSay(this._rateWords, this.rate === null ? "at an unknown rate" : `at ${this.rate}/s`);
    // Seconds that are being typed were meant for the rate that there was.
    this._update();
  }

  _typedSeconds() {
    const seconds = numberRead(this._seconds.value);
    const isRead = typeof seconds === "number" && seconds >= 0;
    if (isRead && this.rate !== null) this._set(framesAllowed(seconds * this.rate, this._bounds));
    this._seconds.setAttribute("aria-invalid", String(!isRead && this._seconds.value.trim() !== ""));
  }

  _stepSeconds(by: number) {
    if (this.frames === null || this.rate === null) return;
    this._set(framesAllowed(this.frames + by * this.rate, this._bounds));
    this._seconds.value = framesInSeconds((this.frames ?? 0) / this.rate);
  }

  _stepped(event: KeyboardEvent, step: (by: number) => void) {
    const by = event.key === "ArrowUp" ? 1 : event.key === "ArrowDown" ? -1 : 0;
    if (!by || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    step(by);
  }
}

function framesInput(id: string, label: string, mode: string) {
  const named = label ? { "aria-label": label } : {};
  return made("input", {
    type: "text",
    id,
    class: "rbf-special-number",
    inputmode: mode,
    autocomplete: "off",
    spellcheck: "false",
    ...named,
  });
}

export type FramesBounds = { least: number; most: number; step: number };

/** What the field takes: multiples of its step within its bounds. */
function framesBounds(node: any): FramesBounds {
  const step = node.step > 0 ? node.step : 1;
  const least = Math.max(node.min ?? 1, node.above !== undefined ? node.above + 1 : 1);
  const most = Math.min(node.max ?? Infinity, node.below !== undefined ? node.below - 1 : Infinity);
  return { least: Math.ceil(least / step) * step, most: Math.floor(most / step) * step, step };
}

/** The nearest number of frames that the field takes. */
function framesAllowed(frames: number, { least, most, step }: FramesBounds) {
  return Math.min(Math.max(Math.round(frames / step) * step, least), most);
}

/** Seconds as one types them: two digits behind the point at most. */
function framesInSeconds(seconds: number) {
  return String(Math.round(seconds * 100) / 100);
}

function makeFrames(place: Place): Control {
  const control = new FramesControl(place);
  return { el: control.el, show: (value) => control.show(value), dispose: () => control.dispose() };
}

CONTROLS.frames = makeFrames;
