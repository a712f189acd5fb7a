/** Controls for plain values: text, numbers, yes or no, JSON, and what cannot be changed. */
import { made } from "../page/element.ts";
import { CONTROLS, type Control, type Place } from "./fields.ts";
import { numberRead } from "./number.ts";

const PLAIN_EMPTY = "empty text";
export const PLAIN_SERVICE = "chosen by the service";
const PLAIN_SLIDER_STEPS = 10000;

/** Whether two JSON values are the same. */
export function plainSame(one: unknown, other: unknown) {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** A value in words, as one would type it. */
export function plainText(value: unknown): string {
  if (value === undefined || value === null) return value === null ? "none" : "";
  if (typeof value === "number") return plainNumberText(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "object") return plainIsTyped(value) ? (value as any).__text__ : JSON.stringify(value);
  return String(value);
}

/** Whether a value is JSON text that was typed and nobody has read yet. */
export function plainIsTyped(value: unknown) {
  return typeof value === "object" && value !== null && typeof (value as any).__text__ === "string";
}

/** Sets a text only where it differs: the caret stays. */
export function plainWrite(input: HTMLInputElement | HTMLTextAreaElement, text: string) {
  if (input.value !== text) input.value = text;
}

/** Whether the service decides where nothing is set; an entry of a list is always set. */
export function plainIsOpen(node: any) {
  return !node.required && !node.entry;
}

/** What an empty input says. */
export function plainEmpty(node: any) {
  if (node.default !== undefined && node.default !== null) return plainText(node.default);
  return plainIsOpen(node) ? PLAIN_SERVICE : "";
}

function makePlainText(place: Place): Control {
  return place.node.long ? makePlainLong(place, !!place.node.most, 2) : makePlainLine(place);
}

/** Shows a text, and what stands where none is. */
function plainTextShow(place: Place, input: HTMLInputElement | HTMLTextAreaElement, value: any) {
  const current = value === undefined ? place.node.default : value;
  plainWrite(input, current === null ? "" : plainText(current));
  // Cleared is not the same as never typed: an empty text is sent as one.
  input.placeholder =
    value === ""
      ? PLAIN_EMPTY
      : (value ?? place.node.default ?? null) === null && plainIsOpen(place.node)
        ? PLAIN_SERVICE
        : "";
}

function makePlainLine(place: Place): Control {
  const el = made("input", {
    type: "text",
    id: place.id,
    class: "rbf-text",
    dir: "auto",
    autocomplete: "off",
    spellcheck: "false",
  });
  el.addEventListener("input", () => {
    el.placeholder = PLAIN_EMPTY;
    place.change(el.value);
  });
  return { el, show: (value) => plainTextShow(place, el, value) };
}

export function makePlainLong(place: Place, isCounted: boolean, rows: number): Control {
  const el = made("textarea", { id: place.id, class: "rbf-text rbf-long", dir: "auto", rows: String(rows) });
  const lead = made("span", { class: "rbf-caption rbf-counter" });
  const grow = plainGrowing(el);
  const count = () => {
    // Characters as the service counts them: an emoji is one, not two.
    const length = [...el.value].length;
    const { most } = place.node;
    const amount = length.toLocaleString("en-GB");
    lead.textContent = most
      ? `${amount} / ${most.toLocaleString("en-GB")}`
      : `${amount} ${length === 1 ? "character" : "characters"}`;
    lead.classList.toggle("rbf-counter-over", !!most && length > most);
  };
  el.addEventListener("input", () => {
    el.placeholder = PLAIN_EMPTY;
    count();
    grow.fit();
    place.change(el.value);
  });
  const show = (value: unknown) => {
    plainTextShow(place, el, value);
    count();
    grow.fit();
  };
  return { el, show, dispose: grow.stop, ...(isCounted ? { lead } : {}) };
}

/** Makes a text area as tall as its text; the style sheet says where that ends. */
function plainGrowing(area: HTMLTextAreaElement) {
  const fit = () => {
    if (!area.isConnected || !area.offsetWidth) return;
    area.style.height = "auto";
    area.style.height = `${area.scrollHeight + 2}px`;
  };
  // A text wraps again when its width changes, and has none until it is seen.
  let width = 0;
  const observer = new ResizeObserver(() => {
    if (area.offsetWidth === width) return;
    width = area.offsetWidth;
    fit();
  });
  observer.observe(area);
  return { fit, stop: () => observer.disconnect() };
}

/** A number without the noise that binary fractions bring. */
function plainTidy(number: number) {
  return Number.isInteger(number) ? number : Number(number.toPrecision(15));
}

/** A number as one types it. */
function plainNumberText(number: number) {
  if (Number.isInteger(number) && Math.abs(number) < 1e21) return String(BigInt(number));
  return String(plainTidy(number));
}

/** Where a slider begins and ends and how far apart its values are; null where a slider would not help. */
export function plainTrack(node: any) {
  const floor = Math.max(node.min ?? -Infinity, node.above ?? -Infinity);
  const ceiling = Math.min(node.max ?? Infinity, node.below ?? Infinity);
  if (!Number.isFinite(floor) || !Number.isFinite(ceiling) || ceiling <= floor) return null;
  const isWhole = node.kind === "whole";
  const step = node.step ?? (isWhole ? 1 : 10 ** Math.floor(Math.log10((ceiling - floor) / 100)));
  const isStepped = isWhole || node.step !== undefined;
  // Multiples count from zero; a bound that is itself excluded gives way to the next value.
  let low = isStepped ? plainTidy(Math.ceil(plainTidy(floor / step)) * step) : floor;
  let high = isStepped ? plainTidy(Math.floor(plainTidy(ceiling / step)) * step) : ceiling;
  if (low === node.above) low = plainTidy(low + step);
  if (high === node.below) high = plainTidy(high - step);
  if (!(step > 0) || high <= low || (high - low) / step > PLAIN_SLIDER_STEPS) return null;
  return { low, high, step: plainTidy(step) };
}

/** What a typed number is sent as: where a text may stand, too, one that is too long for a number must not be taken for one. */
function plainNumberSent(place: Place, value: number | string | undefined) {
  return place.apart && typeof value === "string" && /^-?\d+$/.test(value) ? { __text__: value } : value;
}

export function makePlainNumber(place: Place): Control {
  const { node } = place;
  const track = plainTrack(node);
  const input = made("input", {
    type: "text",
    id: place.id,
    class: plainEmpty(node) === PLAIN_SERVICE ? "rbf-number rbf-number-open" : "rbf-number",
    autocomplete: "off",
    spellcheck: "false",
    inputmode: node.kind === "whole" ? "numeric" : "decimal",
    placeholder: plainEmpty(node),
  }) as HTMLInputElement;
  const slider =
    track &&
    (made("input", {
      type: "range",
      class: "rbf-slider",
      min: String(track.low),
      max: String(track.high),
      step: String(track.step),
      "aria-labelledby": place.labelledBy,
    }) as HTMLInputElement);
  const slide = () => {
    if (!slider || !track) return;
    const value = numberRead(input.value) ?? node.default;
    slider.value = String(typeof value === "number" ? value : track.low);
    slider.classList.toggle("rbf-slider-open", typeof value !== "number");
    slider.setAttribute("aria-valuetext", typeof value === "number" ? plainNumberText(value) : "not set");
  };
  const set = (number: number) => {
    plainWrite(input, plainNumberText(number));
    slide();
    place.change(plainTidy(number));
  };
  input.addEventListener("input", () => {
    slide();
    place.change(plainNumberSent(place, numberRead(input.value)));
  });
  input.addEventListener("keydown", (event) => plainStepped(event, input, node, set));
  slider?.addEventListener("input", () => set(Number(slider.value)));
  const show = (value: unknown) => {
    // Who is typing "1." or "1.50" keeps the spelling: the number is the same.
    const typed = numberRead(input.value);
    const now = value === "" || value === null ? undefined : plainIsTyped(value) ? plainText(value) : value;
    if (!plainSame(typed, now)) plainWrite(input, plainText(now));
    slide();
  };
  const el = made(
    "div",
    { class: slider ? "rbf-number-row rbf-number-slid" : "rbf-number-row" },
    ...(slider ? [slider] : []),
    input,
  );
  return { el, show };
}

/** Which way an arrow key steps: 1, -1, or 0 for other keys. */
export function plainStep({ key, altKey, ctrlKey, metaKey }: KeyboardEvent) {
  return altKey || ctrlKey || metaKey ? 0 : key === "ArrowUp" ? 1 : key === "ArrowDown" ? -1 : 0;
}

/** One step up or down with the arrow keys. */
function plainStepped(event: KeyboardEvent, input: HTMLInputElement, node: any, set: (number: number) => void) {
  const by = plainStep(event);
  if (!by) return;
  const track = plainTrack(node);
  const value = numberRead(input.value) ?? node.default ?? track?.low ?? 0;
  if (typeof value !== "number") return;
  event.preventDefault();
  const next = plainTidy(value + by * (track?.step ?? node.step ?? (node.kind === "whole" ? 1 : 0.1)));
  const low = track?.low ?? node.min ?? -Infinity;
  const high = track?.high ?? node.max ?? Infinity;
  set(Math.min(Math.max(next, low), high));
}

function makePlainCheck(place: Place): Control {
  const { node } = place;
  const box = made("input", { type: "checkbox", id: place.id, class: "rbf-check-box" });
  const said = made("span", { class: "rbf-check-said", "aria-hidden": "true", onclick: () => box.click() });
  const update = () => {
    said.textContent = box.indeterminate ? PLAIN_SERVICE : box.checked ? "On" : "Off";
  };
  box.addEventListener("change", () => {
    update();
    place.change(box.checked);
  });
  const show = (value: unknown) => {
    const current = (value === undefined ? node.default : value) ?? null;
    box.checked = current === true;
    box.indeterminate = current === null && plainIsOpen(node);
    update();
  };
  return { el: made("div", { class: "rbf-check" }, box, said), show };
}

function makePlainJson(place: Place): Control {
  const el = made("textarea", {
    id: place.id,
    class: "rbf-text rbf-long rbf-json",
    rows: "2",
    spellcheck: "false",
    autocapitalize: "off",
  });
  const { node } = place;
  el.placeholder = node.default === undefined ? plainEmpty(node) : JSON.stringify(node.default);
  const grow = plainGrowing(el);
  el.addEventListener("input", () => {
    grow.fit();
    // The text itself travels: the kernel reads numbers of any length.
    place.change(el.value.trim() === "" ? undefined : { __text__: el.value });
  });
  const show = (value: any) => {
    if (value === undefined) plainWrite(el, "");
    else if (plainIsTyped(value)) plainWrite(el, value.__text__);
    else if (!plainSame(plainJsonRead(el.value), value)) plainWrite(el, JSON.stringify(value, null, 2));
    grow.fit();
  };
  return { el, show, dispose: grow.stop };
}

/** What a JSON text says; undefined where it says nothing. */
function plainJsonRead(text: string) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function makePlainConstant(place: Place): Control {
  const { node } = place;
  const el = made("span", { id: place.id, class: "rbf-constant", text: plainText(node.value) });
  const show = (value: unknown) => {
    // Nobody can type it, so what must be there is put there; an object does so for its own members.
    if (value === undefined && node.required && node.default === undefined && !place.nested)
      queueMicrotask(() => place.change(node.value));
  };
  return { el, show, group: true };
}

CONTROLS.text = makePlainText;
CONTROLS.whole = makePlainNumber;
CONTROLS.real = makePlainNumber;
CONTROLS.check = makePlainCheck;
CONTROLS.json = makePlainJson;
CONTROLS.constant = makePlainConstant;
