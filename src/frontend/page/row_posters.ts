/** The small pictures of a table's rows: those of the first rows are in the markup, the others in the payload. */

import { unpacked } from "../table/query.ts";
import { made } from "./element.ts";

export type Size = [number, number];

/** Which picture each row has, and how large it is. */
export class Posters {
  box: Size;
  sizes: (Size | null)[];
  addresses: (string | null)[];

  constructor(root: HTMLElement, packed: any) {
    this.box = packed.box;
    this.sizes = unpacked(packed.sizes);
    this.addresses = unpacked(packed.addresses);
    [...root.querySelectorAll("tbody tr")].forEach((line, row) => {
      this.addresses[row] ||= line.querySelector<HTMLImageElement>("td:first-child img")?.src ?? null;
    });
  }

  sizeOf(row: number): Size {
    return this.sizes[row] ?? this.box;
  }

  /** @returns The poster, or a sign where there is none. */
  picture(row: number): HTMLElement[] {
    const address = this.addresses[row];
    if (!address) return [made("span", { class: "rb-blank", "aria-hidden": "true" }, "▷")];
    const [width, height] = this.sizeOf(row);
    return [made("img", { src: address, alt: "", style: `width:${width}px;height:${height}px;object-fit:contain` })];
  }
}
