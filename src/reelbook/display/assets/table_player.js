// @ts-check
/** What opens below a table: the clips and pictures of its rows beside each other, and how the table comes by them. */

import { made } from "./table_element.js";

const PLAYER = [480, 320];
const PATIENCE = 300; // Milliseconds after which a clip that is on its way is explained.
const LATER = "It comes as soon as the kernel has time. If the kernel was restarted, run the cell again.";
const FILM = /\.(mp4|m4v|mov|webm|mkv)$/i;

/** @param {string} path */
export const isFilm = (path) => FILM.test(path);

/** The place where the files of a row play. */
export class Player {
  /** @param {import("./table.js").Table} table @param {number} row @param {string} words */
  constructor(table, row, words) {
    this.table = table;
    this.row = row;
    this.opener = /** @type {HTMLElement | null} */ (document.activeElement);
    const close = made("button", { type: "button", class: "rb-close", "aria-label": "Close" }, "×");
    close.addEventListener("click", () => table.close(row));
    this.node = made("div", { class: "rb-open rb-detail", role: "group", "aria-label": table.captions[row] || "Run" }, close);
    const files = table.files[row] ?? [];
    const films = made("div", { class: "rb-films" }, ...files.map((path, place) => this.#slot(path, place)));
    if (files.length) this.node.append(films, made("p", {}, made("bdi", {}, table.captions[row])));
    if (words) this.node.append(made("div", { class: "rb-words", tabindex: "0" }, made("bdi", {}, words)));
  }

  /** @param {string} path @param {number} place */
  #slot(path, place) {
    const [width, height] = this.table.posters.sizeOf(this.row);
    const shrink = Math.min(PLAYER[0] / width, PLAYER[1] / height);
    const slot = made("div", { class: "rb-film", style: `width:${Math.round(width * shrink)}px;aspect-ratio:${width}/${height}` });
    if (place === 0) slot.append(...this.table.posters.picture(this.row));
    const note = made("span", { class: "rb-wait", role: "status" }, "fetching…");
    slot.append(note);
    ask(this.table.payload, this.row, place, (url, words) => {
      if (url) slot.replaceChildren(this.#shown(url, path));
      else note.textContent = words || `The ${isFilm(path) ? "clip" : "picture"} is at ${path}; run the cell again to see it here.`;
      // A poster blown up to the size of a player says no more than the poster.
      slot.classList.toggle("rb-told", !url);
    });
    return slot;
  }

  /** @param {string} url @param {string} path */
  #shown(url, path) {
    const label = this.table.captions[this.row] || path;
    if (!(url.startsWith("data:") ? url.startsWith("data:video/") : isFilm(path))) return made("img", { src: url, alt: label, class: "rb-shown" });
    const video = /** @type {HTMLVideoElement} */ (made("video", { class: "rb-shown", src: url, controls: "", loop: "", playsinline: "", "aria-label": label }));
    video.muted = true;
    video.addEventListener("error", () => video.replaceWith(made("span", { class: "rb-wait" }, `This browser cannot play ${path}.`)));
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) video.play().catch(() => null);
    return video;
  }
}

/**
 * Where a file plays from: the payload, or whoever answers.
 * @param {any} payload @param {number} row @param {number} place @param {(url: string | null, words: string) => void} show
 */
function ask(payload, row, place, show) {
  const known = payload.clips[row]?.[place];
  if (known) return show(known, "");
  let isAnswered = false;
  const answer = (/** @type {string | null} */ url, words = "") => {
    isAnswered = true;
    show(url, words);
  };
  const want = new CustomEvent("reelbook:want", { detail: { key: payload.key, row, place, answer }, cancelable: true });
  const isTaken = !dispatchEvent(want);
  setTimeout(() => isAnswered || show(null, isTaken ? LATER : ""), isTaken ? PATIENCE : 0);
}
