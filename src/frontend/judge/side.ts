/** One of the clips or pictures that are judged: loaded before it is seen, and nothing on it says which run it is of. */

import { Clip, makeClipBox } from "../media/clip.ts";
import { made } from "../page/element.ts";
import { bringFile } from "../page/kernel_files.ts";

/** What the kernel says of it; `pictures` is 0 for a clip. */
export type Judged = { number: number; pictures: number; frames: number; rate: string; shape: [number, number] };

/** A clip or the pictures of a run in a box of its own. */
export class JudgeSide {
  key: string;
  judged: Judged;
  box: HTMLElement;
  isReady = false;
  clip: Clip | null = null;
  #loading: Promise<void> | null = null;
  #addresses = new Set<string>();

  constructor(key: string, judged: Judged, name: string) {
    this.key = key;
    this.judged = judged;
    const [width, height] = judged.shape;
    const attributes = { role: "img", "aria-label": name, style: `aspect-ratio:${width}/${height}` };
    if (judged.pictures) {
      this.box = made("div", { ...attributes, class: "rb-clip" });
      return;
    }
    this.box = makeClipBox(judged, attributes);
    this.clip = new Clip(this.box, () =>
      bringFile({ key, row: judged.number }, () => this.#wait()).finally(() => this.#wait(false)),
    );
  }

  /** Load it, and have its first frame decoded. */
  load() {
    return (this.#loading ??= this.#load());
  }

  async #load() {
    if (this.clip) await this.clip.show(0.5 / this.clip.rate);
    else await this.#loadPictures();
    this.isReady = true;
  }

  async #loadPictures() {
    const { pictures, number } = this.judged;
    const found = await Promise.all(
      Array.from({ length: pictures }, (_, place) =>
        bringFile({ key: this.key, row: number, place }, () => this.#wait()),
      ),
    );
    this.#wait(false);
    const images = found
      .filter(({ blob }) => blob)
      .map(({ blob }) => {
        const address = URL.createObjectURL(blob as Blob);
        this.#addresses.add(address);
        return made("img", { src: address, alt: "" });
      });
    await Promise.all(images.map((image) => image.decode().catch(() => null)));
    if (images.length < pictures) this.box.dataset.broken = found.find(({ words }) => words)?.words ?? "";
    this.box.style.setProperty("--across", String(Math.ceil(Math.sqrt(images.length))));
    this.box.toggleAttribute("data-many", images.length > 1);
    this.box.append(...images);
  }

  close() {
    this.clip?.unload();
    this.#addresses.forEach((address) => URL.revokeObjectURL(address));
    this.box.remove();
  }

  #wait(isWaiting = true) {
    if (isWaiting) this.box.dataset.waiting = "Fetching…";
    else delete this.box.dataset.waiting;
  }
}
