// @ts-check
/** The conversation of a part of a studio with the kernel. */

import { KernelLink } from "./form_kernel.js";

export class StudioLink extends KernelLink {
  /** @param {any} model */
  constructor(model) {
    super(model);
    /** @type {[string, () => void][]} */
    this._followed = [];
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
    super.dispose();
  }
}
