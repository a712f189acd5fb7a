// @ts-check
/** A clip or a picture in the place of its poster: the original if a kernel can send it, else the copy in the page. */

import { ASK_AGAIN, askFile } from "./kernel_files.js";
import { dotted, made } from "./table_element.js";

const LATER = "Loading, waiting for the kernel. If it was restarted, run the cell again.";
export const NOT_HERE = "Not in this page";
export const LARGE = [480, 320]; // Pixels that the player of a poster has at most.
const FILM = /\.(mp4|m4v|mov|webm|mkv)$/i;

/** @param {string} path */
export const isFilm = (path) => FILM.test(path);

/**
 * What is to be played.
 * @typedef {object} Wanted
 * @property {string} key Identifies the table or figure whose kernel sends the file.
 * @property {number} row
 * @property {number} place
 * @property {string} path
 * @property {string} label
 * @property {string | null} known An address of the copy in the page.
 * @property {boolean} isPreview Whether that is a small copy.
 */

/**
 * A box of this size with the file, and until it has loaded with its poster and a message.
 * @param {Wanted} wanted @param {[number, number]} size @param {HTMLElement[]} poster
 */
export function player(wanted, [width, height], poster) {
  const slot = made("div", { class: "rb-film", style: `width:${Math.round(width)}px;aspect-ratio:${width}/${height}` });
  const note = made("span", { class: "rb-wait", role: "status" }, "fetching…");
  slot.append(...poster, note);
  /** @param {string} url @param {boolean} isPreview */
  const show = (url, isPreview) => {
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
  /** @param {string} words */
  const explain = (words) => {
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

/**
 * A poster can be pressed while there is something to see: a copy in the page, or a kernel that sends the file.
 * @param {HTMLButtonElement} button @param {boolean} isThere @param {string} path @param {string} title
 */
export function setPoster(button, isThere, path, title) {
  button.disabled = !isThere;
  button.toggleAttribute("data-rb-picture", !isFilm(path));
  button.title = isThere ? title : `${title ? `${title} · ` : ""}${NOT_HERE}`;
  button.setAttribute("aria-label", isThere ? `${isFilm(path) ? "Play" : "Show"} ${title || path}` : button.title);
}

/** What is said below posters of which the page has no more. @type {WeakMap<Element, {note: HTMLElement, timer: number}>} */
const absences = new WeakMap();
const PATIENCE = 1500; // Milliseconds within which a kernel announces itself.

/** Say below posters whether their files are not in the page. @param {Element} holder @param {boolean} isThere */
export function sayAbsence(holder, isThere) {
  const absence = absences.get(holder) ?? { note: holder.appendChild(made("p", { class: "rb-absent", hidden: "" }, `${NOT_HERE}.`)), timer: 0 };
  absences.set(holder, absence);
  clearTimeout(absence.timer);
  if (isThere) absence.note.hidden = true;
  else absence.timer = setTimeout(() => { absence.note.hidden = false; }, PATIENCE);
}

/**
 * Players of the files of one entry of a payload, side by side.
 * @param {{payload: any, posters: import("./table_posters.js").Posters}} shown @param {{at: number, row: number, files: string[], label: string}} entry
 */
export function players({ payload, posters }, { at, row, files, label }) {
  const [width, height] = posters.sizeOf(at);
  const shrink = Math.min(LARGE[0] / width, LARGE[1] / height);
  return files.map((path, place) => {
    const known = payload.clips[at]?.[place] || null;
    const isPreview = Boolean(payload.previews?.[at]?.includes(place));
    return player({ key: payload.key, row, place, path, label, known, isPreview }, [width * shrink, height * shrink], place === 0 ? posters.picture(at) : []);
  });
}

/**
 * The panel that opens below posters: players side by side, a title, and a button to close it.
 * @param {string} label @param {HTMLElement[]} players @param {() => void} close
 */
export function detail(label, players, close) {
  const button = made("button", { type: "button", class: "rb-close", "aria-label": "Close", onclick: close }, "×");
  const node = made("div", { class: "rb-open rb-detail", role: "group", "aria-label": label || "Run" }, button);
  if (players.length) node.append(made("div", { class: "rb-films" }, ...players), made("p", {}, dotted(label)));
  return node;
}

/** @param {string} url @param {Wanted} wanted @param {number} at @param {(words: string) => void} fail */
function media(url, wanted, at, fail) {
  const label = wanted.label || wanted.path;
  if (!(url.startsWith("data:") ? url.startsWith("data:video/") : isFilm(wanted.path))) return made("img", { src: url, alt: label, class: "rb-shown" });
  const video = /** @type {HTMLVideoElement} */ (made("video", { class: "rb-shown", src: url, controls: "", loop: "", playsinline: "", "aria-label": label }));
  video.muted = true;
  if (at) video.currentTime = at;
  video.addEventListener("error", () => fail(`This browser cannot play ${wanted.path}.`));
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) video.play().catch(() => null);
  return video;
}
