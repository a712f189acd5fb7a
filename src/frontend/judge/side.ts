/** One of the clips or pictures that are judged: loaded before it is seen, and nothing on it says which run it is of. */

import { Clip, makeClipBox } from "../media/clip.ts";
import { made } from "../page/element.ts";
import { bringFile } from "../page/kernel_files.ts";

/** What the kernel says of it; `pictures` is 0 for a clip. */
export type Judged = { number: number; pictures: number; frames: number; rate: string; shape: [number, number] };

/** A clip or the pictures of a run in a box of its own. */
export class JudgeSide {
  clip: Clip | null = null;
  box: HTMLElement;
  #loading: Promise<void> | null = null;

  constructor(
    readonly key: string,
    readonly judged: Judged,
    name: string,
  ) {
    const [width, height] = judged.shape;
    const attributes = { role: "img", "aria-label": name, style: `aspect-ratio:${width}/${height}` };
    if (judged.pictures) this.box = made("div", { ...attributes, class: "rb-clip" });
    else {
      this.box = makeClipBox(judged, attributes);
      this.clip = new Clip(this.box, () => this.#bring(0));
    }
  }

  /** Load it, and have its first frame decoded. */
  load() {
    return (this.#loading ??= this.clip ? this.clip.show(0.5 / this.clip.rate) : this.#loadPictures());
  }

  close() {
    this.clip?.unload();
    this.box.remove();
  }

  async #bring(place: number) {
    const wait = () => (this.box.dataset.waiting = "Fetching…");
    const found = await bringFile({ key: this.key, row: this.judged.number, place }, wait);
    delete this.box.dataset.waiting;
    return found;
  }

  async #loadPictures() {
    const places = [...Array(this.judged.pictures).keys()];
    const found = await Promise.all(places.map((place) => this.#bring(place)));
    const images = found.filter(({ url }) => url).map(({ url }) => made("img", { src: url, alt: "" }));
    await Promise.all(images.map((image) => image.decode().catch(() => null)));
    if (images.length < found.length) this.box.dataset.broken = found.find(({ words }) => words)?.words ?? "";
    this.box.style.setProperty("--across", String(Math.ceil(Math.sqrt(images.length))));
    this.box.toggleAttribute("data-many", images.length > 1);
    this.box.append(...images);
  }
}
