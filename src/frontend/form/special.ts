/** Controls for seeds, durations, aspect ratios and frame counts. */
import { made } from "../page/element.ts";
import { CONTROLS, type Control, type Place } from "./fields.ts";
import { makePlainNumber } from "./plain.ts";
import { makePlainSegments } from "./plain_choice.ts";
import { quietButton } from "./quiet.ts";
import { specialButton, specialFollow, specialOther, specialSay, specialSign } from "./special_parts.ts";

// The largest number that a throw of the dice gives; every service takes it.
const SEED_MOST = 2147483647;

function makeSeed(place: Place): Control {
  const { node } = place;
  const fallback = node.default ?? null;
  let seed: unknown;
  /** What was unlocked last, to come back to. */
  let last: unknown;
  const isLocked = () => (seed ?? "") !== "";
  const change = (value: unknown) => {
    seed = value;
    place.change(value);
    update();
  };
  const show = (value: unknown) => {
    seed = value;
    number.show(value);
    update();
  };
  const set = (value: unknown) => {
    show(value);
    place.change(value);
  };
  // Nobody drags a slider to a seed.
  const number = makePlainNumber({ ...place, node: { ...node, max: undefined }, change });
  const said = made("span", { class: "rbf-caption rbf-seed-said", id: `${place.id}-said`, role: "status" });
  const input = number.el.querySelector("input") as HTMLInputElement;
  input.placeholder = fallback === null ? "random" : String(fallback);
  input.setAttribute("aria-describedby", said.id);
  const dice = specialButton("dice", "Draw a random seed", () => set(seedDrawn(node)));
  const lock = specialButton("unlocked", "Lock the seed", () => {
    if (isLocked()) last = seed;
    set(isLocked() ? undefined : (last ?? seedDrawn(node)));
  });
  lock.hidden = !!node.required;
  // In forms with sweeps; the kernel proposes this seed and the three after it.
  const four = quietButton("Try four seeds", () => place.link.openSweep(String(place.path[0])), {
    title: "Sweep this seed and the three after it",
  });

  const update = () => {
    four.hidden = !!place.nested || typeof place.link.openSweep !== "function";
    lock.replaceChildren(specialSign(isLocked() ? "locked" : "unlocked"));
    lock.setAttribute("aria-pressed", String(isLocked()));
    lock.title = isLocked()
      ? "Locked: every run has this seed. Unlock to let the service choose."
      : "Lock a seed, so that every run has the same";
    const unlocked = fallback === null ? "A new random seed for each run." : `${fallback} unless you set one.`;
    specialSay(said, isLocked() ? "The same for every run." : unlocked);
  };
  const row = made("div", { class: "rbf-special-row" }, number.el, dice, lock, four);
  return {
    el: made("div", { class: "rbf-seed" }, row, said),
    show,
    dispose: specialFollow(place.link, update),
  };
}

/** A seed by chance, within the bounds of the field. */
function seedDrawn(node: any) {
  const least = Math.max(0, Number(node.min ?? 0));
  const most = Math.max(least, Math.min(SEED_MOST, Number(node.max ?? SEED_MOST)));
  const chance = crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32;
  return least + Math.floor(chance * (most - least + 1));
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
