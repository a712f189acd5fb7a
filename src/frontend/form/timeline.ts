/** Pictures in a row, each held for its own number of frames: added, ordered, timed and played before the video is paid for. */

import { made } from "../page/element.ts";
import { CONTROLS, type Control, type Place } from "./fields.ts";
import { imageBusy, imageCatches } from "./image.ts";
import { pictureEarlier } from "./image_earlier.ts";
import type { PictureShelf } from "./image_shelf.ts";
import {
  PictureRefused,
  pictureFromData,
  pictureIsData,
  pictureName,
  pictureShelf,
  pictureTyped,
} from "./image_shelf.ts";
import { timelineHold } from "./timeline_hold.ts";
import { timelinePlayer } from "./timeline_player.ts";
import { TimelineReel, timelineCount, timelineSeconds } from "./timeline_reel.ts";
import { TimelineStrip } from "./timeline_strip.ts";

/** What is to be added: a file, a text, or the last frame of an earlier clip. */
export type TimelineSource = File | string;
export type TimelineOrder = { sources: TimelineSource[]; at: number; words?: string };

// Lines of what could not be added.
const TIMELINE_TROUBLES = 5;
const TIMELINE_HINT = "Drag to reorder, or Alt+← and Alt+→. Delete removes.";

class Timeline {
  place: Place;
  shelf: PictureShelf;
  parts: {
    el: HTMLElement;
    file: HTMLInputElement;
    well: HTMLElement;
    actions: HTMLElement;
    addresses: HTMLButtonElement;
    preview: HTMLButtonElement;
    empty: HTMLElement;
    typed: HTMLTextAreaElement;
    addTyped: HTMLButtonElement;
    addressBox: HTMLElement;
    busy: { el: HTMLElement; stop: HTMLElement; show(words: string, share?: number): void };
    problem: HTMLElement;
    hint: HTMLElement;
    live: HTMLElement;
    spoken: HTMLElement;
    total: HTMLElement;
  };
  reel: TimelineReel;
  rate: number | null;
  strip: TimelineStrip;
  hold: { el: HTMLElement; draw: () => void };
  player: { el: HTMLElement; close(): void; refresh(): void; open(isOpen: boolean): void; follow(at: number): void };
  earlier: { el: HTMLElement; button: HTMLButtonElement; close: () => void };
  offs: any[] | undefined;
  /** What is being added. */
  #coming: AbortController | null = null;
  #queue: TimelineOrder[] = [];
  #spoken = 0;

  constructor(place: Place) {
    this.place = place;
    this.shelf = pictureShelf(place.link);
    this.parts = timelineParts(place);
    this.reel = new TimelineReel(place, () => {
      // Whoever goes on has read what could not be added.
      this.#complain([]);
      this.draw();
    });
    this.rate = this.reel.rate;
    const { parts, reel, shelf } = this;
    const { live, hint } = parts;
    const chosen = () => {
      this.hold.draw();
      this.player.follow(reel.selected);
    };
    const say = (words: string) => (live.textContent = words);
    // What had the focus is gone with the last picture.
    const emptied = () => parts.file.focus();
    this.strip = new TimelineStrip(reel, shelf, {
      id: place.id,
      labelledBy: place.labelledBy,
      describedBy: hint.id,
      chosen,
      emptied,
      say,
    });
    this.hold = timelineHold(reel, this.strip);
    this.player = timelinePlayer(reel, shelf, (at) => this.strip.play(at));
    this.earlier = pictureEarlier(shelf, (picture, words) => this.#add([picture], reel.items.length, words));
    parts.actions.insertBefore(this.earlier.button, parts.preview);
    parts.well.prepend(this.strip.el);
    parts.el.append(
      parts.addressBox,
      this.earlier.el,
      parts.busy.el,
      parts.problem,
      this.hold.el,
      hint,
      this.player.el,
      live,
    );
    this.#listen();
    this.draw();
  }

  #listen() {
    const { el, file, addresses, typed, addTyped, busy, preview, addressBox } = this.parts;
    const { reel, strip, place } = this;
    file.addEventListener("change", () => {
      this.#add(timelineSorted([...(file.files ?? [])]), reel.items.length);
      file.value = "";
    });
    addresses.addEventListener("click", () => this.#turnAddresses(addressBox.hidden as boolean));
    typed.addEventListener("input", () => {
      const count = timelineLines(typed.value).length;
      addTyped.textContent = count > 1 ? `Add ${count} pictures` : "Add";
    });
    addTyped.addEventListener("click", () => this.#addTyped());
    busy.stop.addEventListener("click", () => this.#stop());
    preview.addEventListener("click", () => this.#turnPreview(this.player.el.hidden as boolean));
    const caught = imageCatches(el, (sources, event) => {
      const isOnStrip = event instanceof DragEvent && strip.el.contains(event.target as Node);
      this.#add(timelineSorted(sources), isOnStrip ? strip.drop(event.clientX, event.clientY) : reel.items.length);
    });
    this.offs = [caught, ...["state", "draft"].map((key) => place.link.on(key, () => this.#follow()))];
  }

  show(value: any) {
    const { reel } = this;
    if (JSON.stringify(value) === JSON.stringify(reel.written()) && !(value === undefined && reel.items.length)) return;
    reel.read(value);
    this.draw();
  }

  dispose() {
    this.offs?.forEach((off) => off());
    clearTimeout(this.#spoken);
    this.#coming?.abort();
    this.player.close();
    this.shelf.leave();
  }

  draw() {
    const { parts, reel } = this;
    const [count, total] = [reel.items.length, reel.total];
    this.strip.draw();
    this.hold.draw();
    this.player.refresh();
    const length = [timelineCount(total, "frame"), timelineSeconds(total, reel.rate)].filter(Boolean).join(" · ");
    parts.total.textContent = count ? `${timelineCount(count, "picture")} · ${length}` : "";
    parts.empty.hidden = count > 0;
    parts.hint.hidden = parts.preview.hidden = !count;
    if (!count) this.#turnPreview(false);
    // Not at every letter: who listens hears where it comes to rest.
    clearTimeout(this.#spoken);
    this.#spoken = window.setTimeout(
      () =>
        parts.spoken.textContent !== parts.total.textContent && (parts.spoken.textContent = parts.total.textContent),
      1000,
    );
  }

  /** The judge has spoken, or another field is another one: the rate may be. */
  #follow() {
    const { reel, place } = this;
    this.strip.mark(timelineMarks(place.link.state?.problems ?? [], place.path));
    if (reel.rate === this.rate) return;
    this.rate = reel.rate;
    reel.timed();
    this.draw();
  }

  /** Add these one after the other; what is asked for meanwhile comes after them. */
  async #add(sources: TimelineSource[], at: number, words?: string) {
    if (!sources.length) return;
    this.#queue.push({ sources, at, words });
    if (this.#coming) return;
    const mine = (this.#coming = new AbortController());
    this.#complain([]);
    const troubles: string[] = [];
    for (let next = this.#queue.shift(); next && !mine.signal.aborted; next = this.#queue.shift())
      troubles.push(...(await this.#addAll(next, mine.signal)));
    // Where it was stopped, the next ones may be on their way already.
    if (this.#coming !== mine) return;
    this.#coming = null;
    this.parts.busy.show("");
    this.#complain(troubles);
  }

  /** @returns What could not be added, and why. */
  async #addAll({ sources, at, words }: TimelineOrder, signal: AbortSignal): Promise<string[]> {
    const { reel } = this;
    const troubles = [];
    let added = 0;
    for (const [number, source] of sources.entries()) {
      if (reel.room < 1) {
        troubles.push(`At most ${timelineCount(reel.mostItems, "picture")}; ${sources.length - number} left out.`);
        break;
      }
      const name = words ?? timelineSourceName(source);
      const said = sources.length > 1 ? `Adding ${number + 1} of ${sources.length}: ${name}` : `Adding ${name}`;
      this.parts.busy.show(said, number / sources.length);
      try {
        const url = await this.#brought(source, name, signal, (share) =>
          this.parts.busy.show(said, (number + share) / sources.length),
        );
        if (signal.aborted) break;
        reel.add(url, Math.min(at + added, reel.items.length));
        added += 1;
      } catch (error) {
        if (signal.aborted) break;
        troubles.push(
          error instanceof PictureRefused
            ? error.message
            : `${name} could not be brought to the kernel. Is it still running?`,
        );
      }
    }
    if (added) this.parts.live.textContent = `${timelineCount(added, "picture")} added.`;
    return troubles;
  }

  /** What stands for it in the draft. */
  async #brought(
    source: TimelineSource,
    name: string,
    signal: AbortSignal,
    onProgress: (share: number) => void,
  ): Promise<string> {
    const options = {
      most: this.place.node.beside?.most_bytes,
      signal,
      onProgress: (share: number) => signal.aborted || onProgress(share),
    };
    if (typeof source !== "string") return this.shelf.bring(source, name, options);
    if (pictureIsData(source)) return this.shelf.bring(pictureFromData(source), name, options);
    return source.startsWith("film:") ? this.shelf.still(source) : source;
  }

  #stop() {
    this.#coming?.abort();
    this.#coming = null;
    this.#queue = [];
    this.parts.busy.show("");
    this.parts.file.focus();
  }

  #complain(troubles: string[]) {
    const { problem } = this.parts;
    const visible = troubles.slice(0, TIMELINE_TROUBLES);
    if (troubles.length > visible.length) visible.push(`${troubles.length - visible.length} more could not be added.`);
    problem.replaceChildren(...visible.map((words) => made("span", { text: words })));
    problem.hidden = !visible.length;
  }

  #addTyped() {
    const { typed, addresses, addTyped } = this.parts;
    this.#add(timelineLines(typed.value), this.reel.items.length);
    typed.value = "";
    addTyped.textContent = "Add";
    this.#turnAddresses(false);
    addresses.focus();
  }

  #turnAddresses(isOpen: boolean) {
    const { addresses, addressBox, typed } = this.parts;
    addressBox.hidden = !isOpen;
    addresses.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) typed.focus();
  }

  #turnPreview(isOpen: boolean) {
    const { preview } = this.parts;
    if (isOpen === !this.player.el.hidden) return;
    preview.setAttribute("aria-expanded", String(isOpen));
    preview.textContent = isOpen ? "Close preview" : "Preview";
    this.player.open(isOpen);
    if (!isOpen) this.strip.play(-1);
  }
}

function makeTimeline(place: Place): Control {
  const timeline = new Timeline(place);
  return {
    el: timeline.parts.el,
    show: (value) => timeline.show(value),
    dispose: () => timeline.dispose(),
    group: true,
    lead: timeline.parts.total,
  };
}

function timelineSourceName(source: TimelineSource) {
  if (typeof source !== "string") return source.name || "pasted picture";
  return pictureIsData(source) ? "pasted picture" : pictureName(source);
}

/** Files in the order of their names, as numbered pictures are meant; a text keeps its place. */
function timelineSorted(sources: TimelineSource[]) {
  if (sources.some((source) => typeof source === "string")) return sources;
  return (sources as File[]).sort((one, other) => one.name.localeCompare(other.name, "en", { numeric: true }));
}

function timelineLines(text: string) {
  return text
    .split(/[\r\n]+/)
    .map(pictureTyped)
    .filter(Boolean);
}

/** What the judge says of single pictures. */
function timelineMarks(
  problems: { at: (string | number)[]; words: string }[],
  path: (string | number)[],
): Map<number, string> {
  const mine = problems.filter(({ at }) => at.length > path.length && path.every((step, place) => at[place] === step));
  return new Map(mine.map(({ at, words }) => [Number(at[path.length]), words]));
}

function timelineParts(place: Place) {
  const button = (text: string) => made("button", { type: "button", class: "rbf-quiet", text });
  const file = made("input", { type: "file", multiple: "", accept: "image/*", class: "rbf-file" });
  const addresses = button("URLs");
  const preview = button("Preview");
  const actions = made(
    "div",
    { class: "rbf-row" },
    made("label", { class: "rbf-choose" }, file, made("span", { text: "Add files" })),
    addresses,
    preview,
  );
  const empty = made("p", { class: "rbf-tl-empty", text: "Drop or paste pictures here, in their order" });
  const well = made("div", { class: "rbf-tl-well", tabindex: "-1" }, empty, actions);
  const typed = made("textarea", {
    rows: "3",
    class: "rbf-tl-typed",
    "aria-label": "URLs or paths, one on each line",
    placeholder: "One URL or path on each line",
    spellcheck: "false",
  });
  const addTyped = button("Add");
  const addressBox = made("div", { class: "rbf-tl-addresses" }, typed, addTyped);
  const busy = imageBusy("Adding pictures");
  const problem = made("p", { class: "rbf-problem rbf-tl-troubles", role: "status" });
  const hint = made("p", { class: "rbf-caption", id: `${place.id}-hint`, text: TIMELINE_HINT });
  const live = made("span", { class: "rb-hidden", role: "status" });
  const spoken = made("span", { class: "rb-hidden", role: "status" });
  const total = made("span", { class: "rbf-caption rbf-tl-total" });
  addressBox.hidden = problem.hidden = true;
  addresses.setAttribute("aria-expanded", "false");
  preview.setAttribute("aria-expanded", "false");
  const el = made("div", { class: "rbf-tl", role: "group", "aria-labelledby": place.labelledBy }, well, spoken);
  return {
    el,
    file,
    well,
    actions,
    addresses,
    preview,
    empty,
    typed,
    addTyped,
    addressBox,
    busy,
    problem,
    hint,
    live,
    spoken,
    total,
  };
}

CONTROLS.timeline = makeTimeline;
