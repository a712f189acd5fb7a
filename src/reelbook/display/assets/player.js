// @ts-check
/** A clip or a picture in the place of its poster: the original if a kernel can send it, else the copy in the page. */

import { dotted, made } from "./table_element.js";

const EXPLAIN_AFTER = 300; // Milliseconds after which a message explains that a clip is being loaded.
const LATER = "It comes as soon as the kernel has time. If the kernel was restarted, run the cell again.";
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
  ask(wanted, (url, words) => {
    if (url) return show(url, false);
    if (wanted.known) return;
    note.textContent = words || `The ${isFilm(wanted.path) ? "clip" : "picture"} is at ${wanted.path}; run the cell again to see it here.`;
    // A poster blown up to the size of a player says no more than the poster.
    slot.classList.add("rb-told");
  });
  return slot;
}

/**
 * The panel that opens below posters: players side by side, a title, and a button to close it.
 * @param {string} label @param {HTMLElement[]} players @param {() => void} close
 */
export function detail(label, players, close) {
  const button = made("button", { type: "button", class: "rb-close", "aria-label": "Close" }, "×");
  button.addEventListener("click", close);
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

/** Request a file with the event `reelbook:want`; the callback receives its address, or null and the reason. @param {Wanted} wanted @param {(url: string | null, words: string) => void} show */
function ask({ key, row, place }, show) {
  let isAnswered = false;
  const answer = (/** @type {string | null} */ url, words = "") => {
    isAnswered = true;
    show(url, words);
  };
  const isTaken = !dispatchEvent(new CustomEvent("reelbook:want", { detail: { key, row, place, answer }, cancelable: true }));
  setTimeout(() => isAnswered || show(null, isTaken ? LATER : ""), isTaken ? EXPLAIN_AFTER : 0);
}
