/** Files from the kernel: each is asked for once, arrives in parts, and is let go with the display that asked. */

const GONE = "The kernel has ended; run the cell again to see it here.";
const ASK_AGAIN = 3000; // Milliseconds after which a message may have been lost with a connection.

/** An address and what decodes it, or words that say why there is none. */
export type FileFound = { url: string; words: string; blob?: Blob; index?: any; times?: number[] };
type Order = {
  promise: Promise<FileFound>;
  done: (found: FileFound) => void;
  parts: any[];
  first?: any;
  asked: number;
  isDone: boolean;
};

export class FileShelf {
  #orders: Map<string, Order> = new Map();
  #urls: string[] = [];

  /** @param send Rejects when the kernel is gone. */
  constructor(readonly send: (content: any) => Promise<unknown>) {}

  /** @param want A key, the place of a file, and which copy of it where not the file itself. */
  fetch(want: (string | number)[]): Promise<FileFound> {
    const name = want.join("/");
    const order = this.#orders.get(name) ?? this.#order(name);
    if (!order.isDone && performance.now() - order.asked > ASK_AGAIN) {
      order.asked = performance.now();
      this.send({ want }).catch(() => this.#settle(name, { url: "", words: GONE }));
    }
    return order.promise;
  }

  /** A message that has a part of a file, or why there is none; other pages of a notebook hear it, too. */
  receive({ clip, words, part, of, ...facts }: any, buffers: any[]) {
    const name = clip.join("/");
    const order = this.#orders.get(name);
    if (!order || order.isDone) return;
    if (of === undefined) return this.#settle(name, { url: "", words });
    order.parts[part] = buffers[0];
    if (part === 0) order.first = facts;
    if (order.parts.filter(Boolean).length < of) return;
    const { kind, index, times } = order.first;
    const blob = new Blob(order.parts, { type: kind });
    const url = URL.createObjectURL(blob);
    this.#urls.push(url);
    this.#settle(name, { url, words: "", blob, index, times });
  }

  /** Nothing more will come. */
  lose() {
    for (const name of [...this.#orders.keys()]) this.#settle(name, { url: "", words: GONE });
  }

  dispose() {
    this.lose();
    this.#urls.forEach((url) => URL.revokeObjectURL(url));
    this.#orders.clear();
  }

  #order(name: string): Order {
    let done: Order["done"] = () => {};
    const promise = new Promise<FileFound>((resolve) => {
      done = resolve;
    });
    const order: Order = { promise, done, parts: [], asked: -ASK_AGAIN - 1, isDone: false };
    this.#orders.set(name, order);
    return order;
  }

  #settle(name: string, found: FileFound) {
    const order = this.#orders.get(name);
    if (!order || order.isDone) return;
    order.isDone = true;
    order.parts = [];
    // What has arrived stays; what could not be had may be there the next time.
    if (!found.url) this.#orders.delete(name);
    order.done(found);
  }
}
