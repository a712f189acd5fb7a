/** Controls for seeds, durations, aspect ratios and frame counts. */
import { made } from "../page/element.ts";
import { CONTROLS, type Control, type Place } from "./fields.ts";
import { numberRead } from "./number.ts";
import { plainStep } from "./plain.ts";
import { makePlainSegments } from "./plain_choice.ts";
import {
  specialButton,
  specialFollow,
  specialOther,
  specialSay,
  specialShow,
  specialSign,
  specialText,
  specialWhole,
} from "./special_parts.ts";

// The largest number that a throw of the dice gives; every service takes it.
const SEED_MOST = 2147483647;
const SEED_NEXT = 4;

function makeSeed(place: Place): Control {
  const fallback = place.node.default ?? null;
  const input = made("input", {
    type: "text",
    id: place.id,
    class: "rbf-seed-text",
    inputmode: "numeric",
    autocomplete: "off",
    spellcheck: "false",
  });
  const said = made("span", { class: "rbf-caption rbf-seed-said", id: `${place.id}-said`, role: "status" });
  input.placeholder = fallback === null ? "random" : specialText(fallback);
  input.setAttribute("aria-describedby", said.id);
  /** What was unlocked last, to come back to. */
  let last: unknown;

  const set = (value: unknown) => {
    input.value = specialText(value);
    place.change(value);
    update();
  };
  const turn = () => {
    const value = numberRead(input.value);
    if (value !== undefined) last = value;
    set(value === undefined ? (last ?? seedDrawn(place.node)) : undefined);
  };
  const dice = specialButton("dice", "Draw a random seed", () => set(seedDrawn(place.node)));
  const lock = specialButton("unlocked", "", turn);
  lock.hidden = !!place.node.required;
  const next = seedsButton(place, () => numberRead(input.value));

  const update = () => {
    const isLocked = numberRead(input.value) !== undefined;
    lock.replaceChildren(specialSign(isLocked ? "locked" : "unlocked"));
    lock.setAttribute("aria-pressed", String(isLocked));
    lock.title = isLocked
      ? "Locked: every run has this seed. Unlock to let the service choose."
      : "Lock a seed, so that every run has the same";
    next.update();
    specialSay(
      said,
      isLocked
        ? "The same for every run."
        : fallback === null
          ? "A new random seed for each run."
          : `${fallback} unless you set one.`,
    );
  };
  lock.setAttribute("aria-label", "Lock the seed");
  input.addEventListener("input", () => {
    place.change(numberRead(input.value));
    update();
  });
  input.addEventListener("keydown", (event) => seedStepped(event, input, set));
  const show = (value: unknown) => {
    specialShow(input, value, numberRead);
    update();
  };
  const el = made(
    "div",
    { class: "rbf-seed" },
    made("div", { class: "rbf-special-row" }, input, dice, lock, next.el),
    said,
  );
  return { el, show, dispose: specialFollow(place.link, update) };
}

/** A button that begins a sweep of four seeds, in forms with sweeps: from the one in the form, or drawn. */
function seedsButton(place: Place, read: () => unknown) {
  const el = made("button", { type: "button", class: "rbf-quiet", text: "Try four seeds" });
  el.addEventListener("click", () => {
    const seeds = seedsNext(read(), place.node);
    // Room for all four below the greatest.
    const first = () => seedDrawn({ ...place.node, max: Number(place.node.max ?? SEED_MOST) - SEED_NEXT + 1 });
    place.link.sweep?.(String(place.path[0]), seeds.length ? seeds : seedsNext(first(), place.node));
  });
  const update = () => {
    const seeds = seedsNext(read(), place.node);
    el.hidden = place.nested || typeof place.link.sweep !== "function";
    el.title = seeds.length ? `Sweep the seeds ${seeds.join(", ")}` : "Pick four random seeds, and sweep them";
  };
  return { el, update };
}

/** One up or down with the arrow keys. */
function seedStepped(event: KeyboardEvent, input: HTMLInputElement, set: (value: unknown) => void) {
  const whole = specialWhole(numberRead(input.value));
  const by = plainStep(event);
  if (!by || whole === null) return;
  event.preventDefault();
  set(numberRead(String(whole + BigInt(by))));
}

/** A seed by chance, within the bounds of the field. */
function seedDrawn(node: any) {
  const least = Math.max(0, Number(node.min ?? 0));
  const most = Math.max(least, Math.min(SEED_MOST, Number(node.max ?? SEED_MOST)));
  const chance = crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32;
  return least + Math.floor(chance * (most - least + 1));
}

/** This seed and the three after it, as far as the field takes them. */
function seedsNext(value: unknown, node: any) {
  const first = specialWhole(value);
  if (first === null) return [];
  const seeds = Array.from({ length: SEED_NEXT }, (_, place) => first + BigInt(place));
  return seeds
    .filter((seed) => node.max === undefined || seed <= BigInt(Math.floor(Number(node.max))))
    .map((seed) => numberRead(String(seed)));
}

function makeDuration(place: Place): Control {
  if (!place.node.choices?.length) return CONTROLS[place.node.kind](place);
  const seconds = (choice: { value: unknown; label: string }) =>
    /^\s*\d+(\.\d+)?\s*s?\s*$/.test(String(choice.value)) ? parseFloat(String(choice.value)) : NaN;
  const longest = Math.max(...(place.node.choices ?? []).map(seconds).filter((length: number) => length > 0));
  return makePlainSegments(place, "duration", (choice) => {
    const length = seconds(choice);
    if (!(length >= 0)) return [made("span", { text: choice.label })];
    const bar = made("span", { class: "rbf-length-bar" });
    bar.style.width = `${(100 * length) / longest}%`;
    return [made("span", { text: `${length} s` }), made("span", { class: "rbf-length", "aria-hidden": "true" }, bar)];
  });
}

// Room for the drawing of a shape, in pixels of the page.
const ASPECT_ROOM = 40;

function makeAspect(place: Place): Control {
  if (!place.node.choices?.length) return CONTROLS[place.node.kind](place);
  const facts = place.node.beside ?? {};
  const sizes = (facts.sizes ?? {}) as Record<string, Record<string, [number, number]>>;
  // One scale for all resolutions, so that drawings can be compared.
  const longest = Math.max(...Object.values(sizes).flatMap((of) => Object.values(of).flat()), 0);
  const drawings: Array<() => void> = [];
  const control = makePlainSegments(place, "aspect", (choice) => {
    const box = made("span", { class: "rbf-shape-box" });
    const pixels = made("span", { class: "rbf-caption rbf-shape-pixels" });
    drawings.push(() => {
      const known = sizes[specialOther(place.link, facts.by)]?.[String(choice.value)];
      const [width, height] = known ?? aspectRead(choice.value);
      const most = known ? longest : Math.max(width, height);
      box.style.width = `${Math.round((ASPECT_ROOM * width) / most)}px`;
      box.style.height = `${Math.round((ASPECT_ROOM * height) / most)}px`;
      specialSay(pixels, known ? `${width}×${height}` : "");
    });
    return [
      made("span", { class: "rbf-shape", "aria-hidden": "true" }, box),
      made("span", { class: "rbf-shape-words" }, made("span", { text: choice.label }), pixels),
    ];
  });
  const redraw = () => drawings.forEach((draw) => draw());
  redraw();
  return {
    group: true,
    el: made("div", { class: "rbf-aspect-frame" }, control.el),
    show: (value) => {
      control.show(value);
      redraw();
    },
    dispose: specialFollow(place.link, redraw),
  };
}

/** Width and height of a shape such as 16:9; a square if the text has none. */
function aspectRead(value: unknown): [number, number] {
  const found = /^\s*(\d+(?:\.\d+)?)\s*[:/x×]\s*(\d+(?:\.\d+)?)\s*$/i.exec(String(value));
  const [width, height] = found ? [Number(found[1]), Number(found[2])] : [0, 0];
  return width > 0 && height > 0 ? [width, height] : [1, 1];
}

CONTROLS.seed = makeSeed;
CONTROLS.duration = makeDuration;
CONTROLS.aspect = makeAspect;
