/** One of the clips or pictures that are judged: loaded before it is seen, and nothing on it says which run it is of. */

import { Clip, makeClipBox } from "../media/clip.ts";
import { made } from "../page/element.ts";
import { bringFile } from "../page/kernel_files.ts";

/** What the kernel says of it; `pictures` is 0 for a clip. */
export type Judged = { number: number; pictures: number; frames: number; rate: string; shape: [number, number] };
export type JudgeSide = { box: HTMLElement; clip: Clip | null; load: () => Promise<void> };

/** A clip or the pictures of a run in a box of its own. */
export function makeSide(key: string, judged: Judged, name: string): JudgeSide {
  const [width, height] = judged.shape;
  const attributes = { role: "img", "aria-label": name, style: `aspect-ratio:${width}/${height}`, class: "rb-clip" };
  const box = judged.pictures ? made("div", attributes) : makeClipBox(judged, attributes);
  const bring = async (place: number) => {
    const file = await bringFile({ key, row: judged.number, place }, () => (box.dataset.waiting = "Fetching…"));
    delete box.dataset.waiting;
    return file;
  };
  const clip = judged.pictures ? null : new Clip(box, () => bring(0));
  const loadPictures = async () => {
    const files = await Promise.all([...Array(judged.pictures).keys()].map(bring));
    const images = files.filter(({ url }) => url).map(({ url }) => made("img", { src: url, alt: "" }));
    await Promise.all(images.map((image) => image.decode().catch(() => null)));
    if (images.length < files.length) box.dataset.broken = files.find(({ words }) => words)?.words ?? "";
    box.style.setProperty("--across", String(Math.ceil(Math.sqrt(images.length))));
    box.toggleAttribute("data-many", images.length > 1);
    box.append(...images);
  };
  let loading: Promise<void> | undefined; // Once: a clip that plays is not put back to its first frame.
  return { box, clip, load: () => (loading ??= clip ? clip.show(0.5 / clip.rate) : loadPictures()) };
}
