// @ts-check
/** The conversation of a part of a studio with the kernel. */

/** @typedef {(content: any, buffers: any[]) => void} StudioListener */

export class StudioLink {
  /** @param {any} model */
  constructor(model) {
    this.model = model;
    /** @type {Map<string, Set<StudioListener>>} */
    this._listeners = new Map();
    /** @type {[string, () => void][]} */
    this._followed = [];
    this._onMessage = (/** @type {any} */ content, /** @type {any[]} */ buffers) => {
      for (const key of Object.keys(content ?? {})) for (const listener of [...(this._listeners.get(key) ?? [])]) listener(content, buffers ?? []);
    };
    model.on("msg:custom", this._onMessage);
  }

  /** @param {any} content @returns {Promise<void>} */
  async send(content) {
    await this.model.send(content);
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
