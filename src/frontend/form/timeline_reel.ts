/** The pictures of a timeline and how long each is held: what is in the draft, and the ways to change it. */

import type { Place } from "./fields.ts";

export type TimelineItem = { url: any; frames: any; raw: any };

const TIMELINE_RATES = ["fps", "frame_rate", "frames_per_second"];

/** The names of the fields of one entry, as described by the node; a picture alone may be an entry too. */
function timelineFields(place: Place) {
  const forms: any[] = [place.node.item ?? {}];
  for (const form of forms) forms.push(...(form.forms ?? []));
  const fields = forms.find((form) => form.fields)?.fields ?? [];
  const image = fields.find((field: any) => field.kind === "image")?.name ?? "url";
  const hold = fields.find((field: any) => field.kind === "whole") ?? {};
  return { image, hold: hold.name ?? "frames", least: hold.min ?? 1, longest: hold.max ?? Infinity };
}

export class TimelineReel {
  place: Place;
  changed: () => void;
  image: any;
  hold: any;
  least: any;
  longest: any;
  mostItems: any;
  rateName: any;
  items: TimelineItem[] = [];
  selected = 0;

  constructor(place: Place, changed: () => void) {
    const { image, hold, least, longest } = timelineFields(place);
    const beside = place.node.beside ?? {};
    this.place = place;
    this.changed = changed;
    this.image = image;
    this.hold = hold;
    this.least = least;
    this.longest = longest;
    this.mostItems = place.node.most ?? Infinity;
    this.rateName = beside.rate ?? TIMELINE_RATES.find((name) => place.link.node(name)) ?? "fps";
  }

  /** Frames per second; null while that field holds no number. */
  get rate(): number | null {
    const node = this.place.link.node(this.rateName);
    const rate = Number(this.place.link.draft[this.rateName] ?? node?.default ?? 24);
    return Number.isFinite(rate) && rate > 0 ? rate : null;
  }

  get total() {
    return this.items.reduce((sum, item) => sum + this.framesOf(item), 0);
  }

  /** For how many frames a picture is held; 0 if that cannot be read. */
  framesOf({ frames }: TimelineItem) {
    return Number.isSafeInteger(frames) && frames > 0 ? frames : 0;
  }

  /** A second, as frames. */
  get second() {
    return this.within(Math.round(this.rate ?? 24));
  }

  within(frames: number) {
    return Math.min(Math.max(frames, this.least), this.longest);
  }

  /** Show what is in the draft. */
  read(value: any) {
    const list = Array.isArray(value) ? value : [];
    this.items = list.map((raw, place) => {
      const entry = raw && typeof raw === "object" ? raw : {};
      const next =
        typeof raw === "string"
          ? { url: raw, frames: this.second, raw }
          : { url: entry[this.image], frames: entry[this.hold], raw: entry };
      // The same picture at the same place is the same one, held for another time.
      const was = this.items[place];
      return was && was.url === next.url ? Object.assign(was, next) : next;
    });
    this.selected = Math.min(this.selected, Math.max(this.items.length - 1, 0));
  }

  /** The rate is another one: a picture alone is held for a second of it. */
  timed() {
    for (const item of this.items) if (typeof item.raw === "string") item.frames = this.second;
  }

  /** The value for the draft. */
  written() {
    if (!this.items.length) return undefined;
    return this.items.map(({ url, frames, raw }) => {
      // A picture alone stays one until somebody says how long it is held.
      if (typeof raw === "string") return raw;
      return {
        ...raw,
        ...(url === undefined ? {} : { [this.image]: url }),
        ...(frames === undefined ? {} : { [this.hold]: frames }),
      };
    });
  }

  #commit() {
    this.selected = Math.min(Math.max(this.selected, 0), Math.max(this.items.length - 1, 0));
    this.place.change(this.written());
    this.changed();
  }

  get room() {
    return this.mostItems - this.items.length;
  }

  add(url: string, at: number) {
    this.items.splice(at, 0, { url, frames: this.second, raw: {} });
    this.selected = at;
    this.#commit();
  }

  /** @param to The place it has afterwards. */
  move(from: number, to: number) {
    const target = Math.min(Math.max(to, 0), this.items.length - 1);
    if (from === target) return false;
    this.items.splice(target, 0, ...this.items.splice(from, 1));
    this.selected = target;
    this.#commit();
    return true;
  }

  remove(at: number) {
    this.items.splice(at, 1);
    this.selected = Math.min(at, this.items.length - 1);
    this.#commit();
  }

  double(at: number) {
    const { url, frames, raw } = this.items[at];
    this.items.splice(at + 1, 0, { url, frames, raw: typeof raw === "string" ? raw : { ...raw } });
    this.selected = at + 1;
    this.#commit();
  }

  /** @param frames What was typed, where it is not a number. */
  held(at: number, frames: any) {
    this.#hold(this.items[at], frames);
    this.#commit();
  }

  heldAll(frames: number) {
    for (const item of this.items) this.#hold(item, frames);
    this.#commit();
  }

  #hold(item: TimelineItem, frames: any) {
    item.frames = frames;
    if (typeof item.raw === "string") item.raw = {};
  }
}

/** The first frame of each picture, and after the last the number of all. */
export function timelineStarts(holds: number[]) {
  const starts = [0];
  for (const hold of holds) starts.push(starts[starts.length - 1] + hold);
  return starts;
}

/** Which picture a frame shows. */
export function timelineAt(starts: number[], frame: number) {
  let [low, high] = [0, starts.length - 2];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= frame) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Seconds as one says them. */
export function timelineSeconds(frames: number, rate: number | null) {
  if (!rate) return "";
  const seconds = frames / rate;
  if (seconds < 60) return `${Number(seconds.toFixed(seconds < 10 ? 2 : 1))} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)} min${whole % 60 ? ` ${whole % 60} s` : ""}`;
}

export function timelineCount(count: number, what: string) {
  return `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
}
