/** A clip or a picture in the place of its poster: the original if a kernel can send it, else the copy in the page. */

import { isCalm, makeVideo } from "../media/video.ts";
import type { Posters } from "../table/row_posters.ts";
import { dotted, made } from "./element.ts";
import { ASK_AGAIN, askFile } from "./kernel_files.ts";

const LATER = "Loading, waiting for the kernel. If it was restarted, run the cell again.";
export const NOT_HERE = "Not in this page";
export const LARGE = [480, 320]; // Pixels that the player of a poster has at most.
const FILM = /\.(mp4|m4v|mov|webm|mkv)$/i;

export const isFilm = (path: string) => FILM.test(path);

/** What is to be played. */
export interface Wanted {
  /** Identifies the table or figure whose kernel sends the file. */
  key: string;
  row: number;
  place: number;
  path: string;
  label: string;
  /** An address of the copy in the page. */
  known: string | null;
  /** Whether that is a small copy. */
  isPreview: boolean;
}

/** A box of this size with the file, and until it has loaded with its poster and a message. */
export function player(wanted: Wanted, [width, height]: [number, number], poster: HTMLElement[]) {
  const slot = made("div", { class: "rb-film", style: `width:${Math.round(width)}px;aspect-ratio:${width}/${height}` });
  const note = made("span", { class: "rb-wait", role: "status" }, "fetching…");
  slot.append(...poster, note);
  const show = (url: string, isPreview: boolean) => {
    const before = slot.querySelector("video");
    const element = media(url, wanted, before?.currentTime ?? 0, (words) => {
      note.textContent = words;
      slot.replaceChildren(...poster, note);
      slot.classList.add("rb-told");
    });
    note.textContent = "preview";
    note.title = "A small copy that is saved with the page; the original plays while the kernel runs.";
    slot.replaceChildren(element, ...(isPreview ? [note] : []));
    slot.classList.toggle("rb-preview", isPreview);
    slot.classList.remove("rb-told");
  };
  if (wanted.known) show(wanted.known, wanted.isPreview);
  if (wanted.known && !wanted.isPreview) return slot;
  const explain = (words: string) => {
    if (wanted.known) return;
    note.textContent = words;
    // A poster blown up to the size of a player says no more than the poster.
    slot.classList.add("rb-told");
  };
  askFile(wanted, () => explain(LATER)).then(({ url, words = "" }) => {
    if (url) show(url, false);
    else explain(words === ASK_AGAIN ? NOT_HERE : words);
  });
  return slot;
}

/** A poster can be pressed while there is something to see: a copy in the page, or a kernel that sends the file. */
export function setPoster(button: HTMLButtonElement, isThere: boolean, path: string, title: string) {
  button.disabled = !isThere;
  button.toggleAttribute("data-rb-picture", !isFilm(path));
  button.title = isThere ? title : `${title ? `${title} · ` : ""}${NOT_HERE}`;
  button.setAttribute("aria-label", isThere ? `${isFilm(path) ? "Play" : "Show"} ${title || path}` : button.title);
}

/** What is said below posters of which the page has no more. */
const absences: WeakMap<Element, { note: HTMLElement; timer: number }> = new WeakMap();
const PATIENCE = 1500; // Milliseconds within which a kernel announces itself.

/** Say below posters whether their files are not in the page. */
export function sayAbsence(holder: Element, isThere: boolean) {
  const absence = absences.get(holder) ?? {
    note: holder.appendChild(made("p", { class: "rb-absent", hidden: "" }, `${NOT_HERE}.`)),
    timer: 0,
  };
  absences.set(holder, absence);
  clearTimeout(absence.timer);
  if (isThere) absence.note.hidden = true;
  else
    absence.timer = window.setTimeout(() => {
      absence.note.hidden = false;
    }, PATIENCE);
}

/** Players of the files of one entry of a payload, side by side. */
export function players(
  { payload, posters }: { payload: any; posters: Posters },
  { at, row, files, label }: { at: number; row: number; files: string[]; label: string },
) {
  const [width, height] = posters.sizeOf(at);
  const shrink = Math.min(LARGE[0] / width, LARGE[1] / height);
  return files.map((path, place) => {
    const known = payload.clips[at]?.[place] || null;
    const isPreview = Boolean(payload.previews?.[at]?.includes(place));
    return player(
      { key: payload.key, row, place, path, label, known, isPreview },
      [width * shrink, height * shrink],
      place === 0 ? posters.picture(at) : [],
    );
  });
}

/** The panel that opens below posters: players side by side, a title, and a button to close it. */
export function detail(label: string, players: HTMLElement[], close: () => void) {
  const button = made("button", { type: "button", class: "rb-close", "aria-label": "Close", onclick: close }, "×");
  const node = made("div", { class: "rb-open rb-detail", role: "group", "aria-label": label || "Run" }, button);
  if (players.length) node.append(made("div", { class: "rb-films" }, ...players), made("p", {}, dotted(label)));
  return node;
}

function media(url: string, wanted: Wanted, at: number, fail: (words: string) => void) {
  const label = wanted.label || wanted.path;
  if (!(url.startsWith("data:") ? url.startsWith("data:video/") : isFilm(wanted.path)))
    return made("img", { src: url, alt: label, class: "rb-shown" });
  const video = makeVideo(url, label, { class: "rb-shown" });
  if (at) video.currentTime = at;
  video.addEventListener("error", () => fail(`This browser cannot play ${wanted.path}.`));
  if (!isCalm()) video.play().catch(() => null);
  return video;
}
