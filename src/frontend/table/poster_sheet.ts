/** The small pictures of a table: those of the first rows are in the markup, all others on a few sheets in the payload. */

import { made } from "../page/element.ts";
import { unpacked } from "./query.ts";

const ACROSS = 10; // Posters side by side on a sheet.

/** Gives addresses back when the table that they were made for has gone; one for all tables, so that it outlives each. */
function addresses() {
  const place = Symbol.for("reelbook.addresses");
  const shared = window as any;
  shared[place] ??= new FinalizationRegistry((found: string[]) => found.forEach((one) => URL.revokeObjectURL(one)));
  return shared[place] as FinalizationRegistry<string[]>;
}

export type Size = [number, number];

/** Which picture each row has, and how large it is. */
export class Posters {
  box: Size;
  at: ([number, number] | null)[];
  sizes: (Size | null)[];
  single: Map<number, string>;
  sheets: any;

  constructor(root: HTMLElement, packed: any) {
    this.box = packed.box;
    this.at = unpacked(packed.at);
    this.sizes = unpacked(packed.sizes);
    this.single = new Map();
    unpacked(packed.single).forEach((url, row) => url && this.single.set(row, String(url)));
    [...root.querySelectorAll("tbody tr")].forEach((line, row) => {
      const image = line.querySelector("td:first-child img");
      if (image) this.single.set(row, (image as HTMLImageElement).src);
    });
    // As a short address: each row names its sheet.
    this.sheets = packed.sheets.map(addressed);
    addresses().register(root, this.sheets);
  }

  sizeOf(row: number): Size {
    return this.sizes[row] ?? this.box;
  }

  /** @returns The poster, or a sign where there is none. */
  picture(row: number): HTMLElement[] {
    const single = this.single.get(row);
    const [sheet, spot = 0] = this.at[row] ?? [];
    if (single) return [this.#image(row, single, "contain")];
    if (sheet === undefined) return [made("span", { class: "rb-blank", "aria-hidden": "true" }, "▷")];
    const image = this.#image(row, this.sheets[sheet], "none");
    image.style.objectPosition = `${-(spot % ACROSS) * this.box[0]}px ${-Math.floor(spot / ACROSS) * this.box[1]}px`;
    return [image];
  }

  #image(row: number, url: string, fit: string) {
    const [width, height] = this.sizeOf(row);
    return made("img", { src: url, alt: "", style: `width:${width}px;height:${height}px;object-fit:${fit}` });
  }
}

/** @param uri A picture in four letters for three. @returns The same under an address of this page. */
function addressed(uri: string): string {
  const bytes = Uint8Array.from(atob(uri.slice(uri.indexOf(",") + 1)), (letter) => letter.charCodeAt(0));
  return URL.createObjectURL(new Blob([bytes], { type: "image/jpeg" }));
}
