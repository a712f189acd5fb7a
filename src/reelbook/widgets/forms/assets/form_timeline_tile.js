// @ts-check
/** One picture of a timeline's strip. */
import { made } from "../../../display/assets/table_element.js";
import { pictureName } from "./form_image_shelf.js";
import { pictureThumb } from "./form_image_thumb.js";
import { whenSeen } from "./form_seen.js";

/** @typedef {import("./form_image_shelf.js").PictureShelf} PictureShelf */

// The longest text of a picture that is sent to the kernel for a preview.
const TIMELINE_MOST_LETTERS = 2_000_000;

export class TimelineTile {
  /** @type {any} */
  url = undefined;
  name = "";
  problem = "";
  #wide = "";
  /** @type {boolean | null} */
  #isChosen = null;

  /** @param {PictureShelf} shelf @param {string} id @param {() => void} known Called when its preview has arrived. */
  constructor(shelf, id, known) {
    this.shelf = shelf;
    this.known = known;
    this.thumb = pictureThumb("rbf-tl-thumb");
    this.number = made("span", { class: "rbf-tl-number" });
    this.hold = made("span", { class: "rbf-tl-hold" });
    this.grip = made("span", { class: "rbf-tl-grip", "aria-hidden": "true", text: "⠿" });
    this.el = made("div", { class: "rbf-tl-tile", role: "option", id }, this.thumb.el, this.number, this.grip, this.hold);
  }

  /** @param {any} url */
  set(url) {
    if (url === this.url) return;
    this.url = url;
    this.name = pictureName(url);
    this.problem = "";
    this.thumb.clear();
    if (typeof url === "string" && url && url.length <= TIMELINE_MOST_LETTERS) whenSeen(this.el, () => this.#loadPreview(url));
  }

  /** @param {string} url */
  async #loadPreview(url) {
    if (this.url !== url) return;
    const preview = await this.shelf.preview(url);
    if (this.url !== url) return;
    this.thumb.show(preview);
    this.name = preview.name || this.name;
    this.problem = preview.error;
    this.known();
  }

  // Only what is new is written: there may be a thousand of these.

  /** @param {string} number @param {string} hold */
  label(number, hold) {
    if (this.number.textContent !== number) this.number.textContent = number;
    if (this.hold.textContent !== hold) this.hold.textContent = hold;
  }

  /** @param {string} label @param {string} title */
  describe(label, title) {
    if (this.el.getAttribute("aria-label") !== label) this.el.setAttribute("aria-label", label);
    if (this.el.title !== title) this.el.title = title;
  }

  /** It is the wider the longer it is held, and ever less so. @param {number} seconds */
  stretch(seconds) {
    const wide = Math.min(Math.log2(1 + Math.max(seconds, 0)), 4).toFixed(3);
    if (this.#wide !== wide) this.el.style.setProperty("--rbf-hold", wide);
    this.#wide = wide;
  }

  /** @param {boolean} is */
  choose(is) {
    if (this.#isChosen === is) return;
    this.#isChosen = is;
    this.el.setAttribute("aria-selected", String(is));
    this.el.tabIndex = is ? 0 : -1;
  }
}
