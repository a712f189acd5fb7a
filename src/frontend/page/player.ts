/** A clip or a picture in the place of its poster: the original if a kernel can send it, else the copy in the page. */

import { isCalm, makeVideo } from "../media/video.ts";
import { unpacked } from "../table/query.ts";
import { button, made } from "./element.ts";
import { ASK_AGAIN, askFile } from "./kernel_files.ts";

const LATER = "Loading, waiting for the kernel. If it was restarted, run the cell again.";
const NOT_HERE = "Not in this page";
const LARGE = [480, 320]; // Pixels that the player of a poster has at most.
const FILM = /\.(mp4|m4v|mov|webm|mkv)$/i;
const REST = 150; // Milliseconds for which a mouse rests on a poster before its clip plays.

export type Size = [number, number];

export const isFilm = (path: string) => FILM.test(path);

/** What is to be played. */
interface Wanted {
  /** Identifies the table or figure whose kernel sends the file. */
  key: string;
  row: number;
  place: number;
  path: string;
  label: string;
  /** The address of a small copy in the page. */
  known?: string | undefined;
}

/** The size of a player, in the shape of a poster. */
export function largeSize([width, height]: Size): Size {
  const shrink = Math.min(LARGE[0] / width, LARGE[1] / height);
  return [width * shrink, height * shrink];
}

/** A box of this size with the file, and until it has loaded with its poster and a message. */
export function player(wanted: Wanted, [width, height]: Size, poster: HTMLElement[]) {
  const note = made("span", { class: "rb-wait", role: "status" }, "fetching…");
  const style = `width:${Math.round(width)}px;aspect-ratio:${width}/${height}`;
  const slot = made("div", { class: "rb-film", style }, ...poster, note);
  const tell = (words: string) => {
    note.textContent = words;
    slot.replaceChildren(...poster, note);
    // A poster blown up to the size of a player says no more than the poster.
    slot.classList.add("rb-missing");
  };
  const show = (url: string, isPreview: boolean) => {
    const at = slot.querySelector("video")?.currentTime ?? 0;
    note.textContent = "preview";
    note.title = "A small copy that is saved with the page; the original plays while the kernel runs.";
    slot.replaceChildren(media(url, wanted, at, tell), ...(isPreview ? [note] : []));
    slot.classList.remove("rb-missing");
  };
  const { known } = wanted;
  if (known) show(known, true);
  askFile(wanted, () => known || tell(LATER)).then(({ url, words = "" }) => {
    if (url) show(url, false);
    else if (!known) tell(words === ASK_AGAIN ? NOT_HERE : words);
  });
  return slot;
}

function media(url: string, { label, path }: Wanted, at: number, fail: (words: string) => void) {
  const isVideo = url.startsWith("data:") ? url.startsWith("data:video/") : isFilm(path);
  if (!isVideo) return made("img", { src: url, alt: label || path, class: "rb-shown" });
  const video = makeVideo(url, label || path, { class: "rb-shown" });
  if (at) video.currentTime = at;
  video.addEventListener("error", () => fail(`This browser cannot play ${path}.`));
  if (!isCalm()) video.play().catch(() => null);
  return video;
}

/** A poster can be pressed while there is something to see: a copy in the page, or a kernel that sends the file. */
export function setPoster(poster: HTMLButtonElement, isThere: boolean, path: string, title: string) {
  poster.disabled = !isThere;
  poster.toggleAttribute("data-rb-picture", !isFilm(path));
  poster.title = isThere ? title : `${title ? `${title} · ` : ""}${NOT_HERE}`;
  poster.setAttribute("aria-label", isThere ? `${isFilm(path) ? "Play" : "Show"} ${title || path}` : poster.title);
}

/** Say below posters whether their files are not in the page; not at once, because a kernel takes a moment to be heard of. */
export function sayAbsence(holder: Element, isThere: boolean) {
  const note =
    holder.querySelector<HTMLElement>(":scope > .rb-absent") ?? made("p", { class: "rb-absent" }, `${NOT_HERE}.`);
  if (!note.isConnected) holder.append(note);
  note.hidden = isThere;
}

/** The small pictures of a table's rows: those of the first rows are in the markup, the others in the payload. */
export class Posters {
  box: Size;
  sizes: (Size | null)[];
  addresses: (string | null)[];

  constructor(root: HTMLElement, packed: any) {
    this.box = packed.box;
    this.sizes = unpacked(packed.sizes);
    this.addresses = unpacked(packed.addresses);
    [...root.querySelectorAll("tbody tr")].forEach((line, row) => {
      this.addresses[row] ||= line.querySelector<HTMLImageElement>("td:first-child img")?.src ?? null;
    });
  }

  sizeOf(row: number): Size {
    return this.sizes[row] ?? this.box;
  }

  /** @returns The poster, or a sign where there is none. */
  picture(row: number): HTMLElement[] {
    const address = this.addresses[row];
    if (!address) return [made("span", { class: "rb-blank", "aria-hidden": "true" }, "▷")];
    const [width, height] = this.sizeOf(row);
    return [made("img", { src: address, alt: "", style: `width:${width}px;height:${height}px;object-fit:contain` })];
  }
}

type Entry = { at: number; row: number; files: string[]; label: string };

/** A file of one entry of a payload. */
export function wantedOf({ payload }: { payload: any }, { at, row, files, label }: Entry, place: number): Wanted {
  const known = payload.clips[at]?.[place] || undefined;
  return { key: payload.key, row, place, path: files[place], label, known };
}

/** Players of the files of one entry, side by side. */
export function players(display: { payload: any; posters: Posters }, entry: Entry) {
  const { posters } = display;
  return entry.files.map((_, place) => {
    const picture = place === 0 ? posters.picture(entry.at) : [];
    return player(wantedOf(display, entry, place), largeSize(posters.sizeOf(entry.at)), picture);
  });
}

/** Let a clip play in its poster while a mouse rests on it: a small copy, which the kernel sends where the page has none. */
export function playOver(poster: HTMLButtonElement, wanted: Wanted) {
  if (!isFilm(wanted.path)) return;
  let resting = 0;
  const stop = () => {
    clearTimeout(resting);
    resting = 0;
    poster.querySelector(".rb-over")?.remove();
  };
  poster.addEventListener("mouseenter", () => {
    if (isCalm() || poster.disabled || poster.ariaExpanded === "true") return;
    const visit = window.setTimeout(async () => {
      const url = wanted.known ?? (await askFile({ ...wanted, copy: "preview" })).url;
      if (!url || resting !== visit) return;
      const video = makeVideo(url, "", { class: "rb-over", "aria-hidden": "true" });
      video.controls = false;
      poster.append(video);
      video.play().catch(() => video.remove());
    }, REST);
    resting = visit;
  });
  poster.addEventListener("mouseleave", stop);
  poster.addEventListener("click", stop);
}

/** The panel that opens below posters: players side by side, a title, and a button to close it. */
export function detail(label: string, players: HTMLElement[], close: () => void) {
  const end = button("×", close, { class: "rb-close", "aria-label": "Close" });
  const node = made("div", { class: "rb-open rb-detail", role: "group", "aria-label": label || "Run" }, end);
  if (players.length)
    node.append(made("div", { class: "rb-films" }, ...players), made("p", {}, made("bdi", {}, label)));
  return node;
}
