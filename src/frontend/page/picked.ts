/**
 * The rows that are picked in a table, in all its displays on the page: its table, grids and plots.
 *
 * Displays of one DataFrame have one group. A change is announced to the page with `reelbook:picked`, and to the kernel's
 * connection of this display with `reelbook:selected`. A display that is built later begins with the rows of its group.
 */

/** The picked rows by group; one for the page, because each output has a copy of this script. */
const groups: Map<string, number[]> = ((window as any)[Symbol.for("reelbook.picked")] ??= new Map());

/** The picked rows, as one display has them. */
export class Picked {
  /** Whether a kernel keeps them. */
  isListening = false;
  readonly key: string;
  readonly group: string;
  rows: Set<number>;

  /** @param changed Called whenever they change, here, in another display, or in the kernel. */
  constructor(
    { key = "", group = "" }: { key?: string; group?: string },
    readonly changed: () => void,
  ) {
    this.key = key;
    this.group = group || key;
    this.rows = new Set(groups.get(this.group));
    if (!this.group) return;
    addEventListener("reelbook:picked", ({ detail }: any) => {
      if (detail.group !== this.group || detail.by === this) return;
      this.rows = new Set(detail.rows);
      changed();
    });
    addEventListener("reelbook:listens", ({ detail }: any) => {
      // A kernel listens to one display, and a report to all of its own.
      if (detail.group === undefined ? detail.key !== this.key : detail.group !== this.group) return;
      this.isListening = true;
      // The kernel's rows are those of when the cell ran; what was picked on this page is newer.
      this.#share(groups.get(this.group) ?? detail.rows);
    });
    // The kernel's view may have been created before this display.
    if (key) queueMicrotask(() => dispatchEvent(new CustomEvent("reelbook:built", { detail: { key } })));
  }

  /** Pick these rows and no others, here and in all other displays. */
  set(rows: Iterable<number>) {
    this.#share(rows);
    const detail = { key: this.key, rows: [...this.rows] };
    if (this.key) dispatchEvent(new CustomEvent("reelbook:selected", { detail }));
  }

  toggle(row: number) {
    const rows = new Set(this.rows);
    rows.delete(row) || rows.add(row);
    this.set(rows);
  }

  #share(rows: Iterable<number>) {
    const sorted = [...new Set(rows)].sort((a, b) => a - b);
    this.rows = new Set(sorted);
    this.changed();
    if (!this.group) return;
    groups.set(this.group, sorted);
    dispatchEvent(new CustomEvent("reelbook:picked", { detail: { group: this.group, rows: sorted, by: this } }));
  }
}
