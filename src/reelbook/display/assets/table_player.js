// @ts-check
/** What opens below a table: the clips and pictures of its rows beside each other. */

import { detail, player } from "./player.js";
import { made } from "./table_element.js";

const PLAYER = [480, 320];

/** The place where the files of a row play. */
export class Player {
  /** @param {import("./table.js").Table} table @param {number} row @param {string} words */
  constructor(table, row, words) {
    this.table = table;
    this.row = row;
    this.opener = /** @type {HTMLElement | null} */ (document.activeElement);
    const files = table.files[row] ?? [];
    this.node = detail(table.captions[row], files.map((path, place) => this.#slot(path, place)), () => table.close(row));
    if (words) this.node.append(made("div", { class: "rb-words", tabindex: "0" }, made("bdi", {}, words)));
  }

  /** @param {string} path @param {number} place */
  #slot(path, place) {
    const { payload, posters, captions } = this.table;
    const [width, height] = posters.sizeOf(this.row);
    const shrink = Math.min(PLAYER[0] / width, PLAYER[1] / height);
    const known = payload.clips[this.row]?.[place] || null;
    const isPreview = Boolean(payload.previews?.[this.row]?.includes(place));
    const wanted = { key: payload.key, row: this.row, place, path, label: captions[this.row], known, isPreview };
    return player(wanted, [width * shrink, height * shrink], place === 0 ? posters.picture(this.row) : []);
  }
}
