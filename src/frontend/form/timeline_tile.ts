/** One picture of a timeline's strip. */
import { made } from "../page/element.ts";
import { type PicturePreview, type PictureShelf, pictureName } from "./image_shelf.ts";
import { pictureThumb } from "./image_thumb.ts";
import { whenSeen } from "./seen.ts";

// The longest text of a picture that is sent to the kernel for a preview.
const TIMELINE_MOST_LETTERS = 2_000_000;

export class TimelineTile {
  shelf: PictureShelf;
  known: () => void;
  thumb: { el: HTMLElement; image: HTMLImageElement; clear: () => void; show(preview: PicturePreview): void };
  number: HTMLElement;
  hold: HTMLElement;
  grip: HTMLElement;
  el: HTMLElement;
  url: any = undefined;
  name = "";
  problem = "";
  #wide = "";
  #isChosen: boolean | null = null;

  /** @param known Called when its preview has arrived. */
  constructor(shelf: PictureShelf, id: string, known: () => void) {
    this.shelf = shelf;
    this.known = known;
    this.thumb = pictureThumb("rbf-tl-thumb");
    this.number = made("span", { class: "rbf-tl-number" });
    this.hold = made("span", { class: "rbf-tl-hold" });
    this.grip = made("span", { class: "rbf-tl-grip", "aria-hidden": "true", text: "⠿" });
    this.el = made(
      "div",
      { class: "rbf-tl-tile", role: "option", id },
      this.thumb.el,
      this.number,
      this.grip,
      this.hold,
    );
  }

  set(url: any) {
    if (url === this.url) return;
    this.url = url;
    this.name = pictureName(url);
    this.problem = "";
    this.thumb.clear();
    if (typeof url === "string" && url && url.length <= TIMELINE_MOST_LETTERS)
      whenSeen(this.el, () => this.#loadPreview(url));
  }

  async #loadPreview(url: string) {
    if (this.url !== url) return;
    const preview = await this.shelf.preview(url);
    if (this.url !== url) return;
    this.thumb.show(preview);
    this.name = preview.name || this.name;
    this.problem = preview.error;
    this.known();
  }

  // Only what is new is written: there may be a thousand of these.

  label(number: string, hold: string) {
    if (this.number.textContent !== number) this.number.textContent = number;
    if (this.hold.textContent !== hold) this.hold.textContent = hold;
  }

  describe(label: string, title: string) {
    if (this.el.getAttribute("aria-label") !== label) this.el.setAttribute("aria-label", label);
    if (this.el.title !== title) this.el.title = title;
  }

  /** It is the wider the longer it is held, and ever less so. */
  stretch(seconds: number) {
    const wide = Math.min(Math.log2(1 + Math.max(seconds, 0)), 4).toFixed(3);
    if (this.#wide !== wide) this.el.style.setProperty("--rbf-hold", wide);
    this.#wide = wide;
  }

  choose(is: boolean) {
    if (this.#isChosen === is) return;
    this.#isChosen = is;
    this.el.setAttribute("aria-selected", String(is));
    this.el.tabIndex = is ? 0 : -1;
  }
}
