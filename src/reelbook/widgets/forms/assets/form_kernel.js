// @ts-check
/** The messages between a widget on the page and the kernel. */

/** @typedef {(content: any, buffers: any[]) => void} Listener */

export const KERNEL_ENDED = "The kernel has ended; run the cell again to go on.";

export class KernelLink {
  /** Whether the kernel is known to be gone. */
  hasEnded = false;
  /** @type {Map<string, Set<Listener>>} */
  _listeners = new Map();

  /** @param {any} model */
  constructor(model) {
    this.model = model;
    this._onMessage = (/** @type {any} */ content, /** @type {any[]} */ buffers) => {
      for (const key of Object.keys(content ?? {})) this._fire(key, content, buffers ?? []);
    };
    model.on("msg:custom", this._onMessage);
  }

  dispose() {
    this.model.off("msg:custom", this._onMessage);
    this._listeners.clear();
  }

  /** @param {any} content @param {any[]} [buffers] @returns {Promise<void>} */
  async send(content, buffers) {
    await this.model.send(content, undefined, buffers);
  }

  /** Send, and say so where nobody is left to hear it. @param {any} content @param {any[]} [buffers] @returns {Promise<boolean>} Whether it was sent. */
  async ask(content, buffers) {
    const isSent = await this.send(content, buffers).then(() => true, () => false);
    const isNews = isSent === this.hasEnded;
    this.hasEnded = !isSent;
    if (isNews) this._fire("ended", {}, []);
    if (!isSent) this._fire("trouble", { trouble: KERNEL_ENDED }, []);
    return isSent;
  }

  /** Messages with this key. @param {string} key @param {Listener} listener @returns {() => void} */
  on(key, listener) {
    const listeners = this._listeners.get(key) ?? new Set();
    this._listeners.set(key, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  /** @param {string} key @param {any} content @param {any[]} buffers */
  _fire(key, content, buffers) {
    for (const listener of [...(this._listeners.get(key) ?? [])]) listener(content, buffers);
  }
}
