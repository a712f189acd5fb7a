// @ts-check
/** The conversation of a part of a studio with the kernel. */

/** @typedef {(content: any, buffers: any[]) => void} StudioListener */

const STUDIO_ENDED = "The kernel has ended; run the cell again to go on.";

export class StudioLink {
  /** @param {any} model */
  constructor(model) {
    this.model = model;
    /** Whether the kernel is known to be gone. */
    this.hasEnded = false;
    /** @type {Map<string, Set<StudioListener>>} */
    this._listeners = new Map();
    /** @type {[string, () => void][]} */
    this._followed = [];
    this._onMessage = (/** @type {any} */ content, /** @type {any[]} */ buffers) => {
      for (const key of Object.keys(content ?? {})) this._fire(key, content, buffers ?? []);
    };
    model.on("msg:custom", this._onMessage);
  }

  /** @param {any} content @returns {Promise<void>} */
  async send(content) {
    await this.model.send(content);
  }

  /** Send, and say so where nobody is left to hear it. @param {any} content @returns {Promise<boolean>} Whether it was sent. */
  async ask(content) {
    const isSent = await this.send(content).then(() => true, () => false);
    if (isSent === this.hasEnded) {
      this.hasEnded = !isSent;
      this._fire("ended", { ended: !isSent }, []);
    }
    if (!isSent) this._fire("trouble", { trouble: STUDIO_ENDED }, []);
    return isSent;
  }

  /** @param {string} key @param {any} content @param {any[]} buffers */
  _fire(key, content, buffers) {
    for (const listener of [...(this._listeners.get(key) ?? [])]) listener(content, buffers);
  }

  /** Messages with this key. @param {string} key @param {StudioListener} listener @returns {() => void} */
  on(key, listener) {
    const listeners = this._listeners.get(key) ?? new Set();
    this._listeners.set(key, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  /** Now, and whenever one of these traits changes. @param {string[]} names @param {() => void} show */
  follow(names, show) {
    for (const name of names) {
      this.model.on(`change:${name}`, show);
      this._followed.push([name, show]);
    }
    show();
  }

  dispose() {
    for (const [name, show] of this._followed) this.model.off(`change:${name}`, show);
    this.model.off("msg:custom", this._onMessage);
    this._listeners.clear();
  }
}
