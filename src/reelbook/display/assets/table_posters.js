// @ts-check
/** The small pictures of a table: those of the first rows are in the markup, all others on a few sheets in the payload. */

import { made } from "./table_element.js";
import { unpacked } from "./table_query.js";

const ACROSS = 10; // Posters side by side on a sheet.

/** Gives addresses back when the table that they were made for has gone; one for all tables, so that it outlives each. */
function addresses() {
  const place = Symbol.for("reelbook.addresses");
  const shared = /** @type {any} */ (window);
  shared[place] ??= new FinalizationRegistry((/** @type {string[]} */ found) => found.forEach((one) => URL.revokeObjectURL(one)));
  return /** @type {FinalizationRegistry<string[]>} */ (shared[place]);
}

/** @typedef {[number, number]} Size */

/** Which picture each row has, and how large it is. */
export class Posters {
  /** @param {HTMLElement} root @param {any} packed */
  constructor(root, packed) {
    /** @type {Size} */
    this.box = packed.box;
    /** @type {([number, number] | null)[]} */
    this.at = unpacked(packed.at);
    /** @type {(Size | null)[]} */
    this.sizes = unpacked(packed.sizes);
    /** @type {Map<number, string>} */
    this.single = new Map();
    unpacked(packed.single).forEach((url, row) => url && this.single.set(row, String(url)));
    [...root.querySelectorAll("tbody tr")].forEach((line, row) => {
      const image = line.querySelector("td:first-child img");
      if (image) this.single.set(row, /** @type {HTMLImageElement} */ (image).src);
    });
    // As a short address: each row names its sheet.
    this.sheets = packed.sheets.map(addressed);
    addresses().register(root, this.sheets);
  }

  /** @param {number} row @returns {Size} */
  sizeOf(row) {
    return this.sizes[row] ?? this.box;
  }

  /** @param {number} row @returns {HTMLElement[]} The poster, or a sign where there is none. */
  picture(row) {
    const single = this.single.get(row);
    const [sheet, spot] = this.at[row] ?? [];
    if (single) return [this.#image(row, single, "contain")];
    if (sheet === undefined) return [made("span", { class: "rb-blank", "aria-hidden": "true" }, "▷")];
    const image = this.#image(row, this.sheets[sheet], "none");
    image.style.objectPosition = `${-(spot % ACROSS) * this.box[0]}px ${-Math.floor(spot / ACROSS) * this.box[1]}px`;
    return [image];
  }

  /** @param {number} row @param {string} url @param {string} fit */
  #image(row, url, fit) {
    const [width, height] = this.sizeOf(row);
    return made("img", { src: url, alt: "", style: `width:${width}px;height:${height}px;object-fit:${fit}` });
  }
}

/** @param {string} uri A picture in four letters for three. @returns {string} The same under an address of this page. */
function addressed(uri) {
  const bytes = Uint8Array.from(atob(uri.slice(uri.indexOf(",") + 1)), (letter) => letter.charCodeAt(0));
  return URL.createObjectURL(new Blob([bytes], { type: "image/jpeg" }));
}
