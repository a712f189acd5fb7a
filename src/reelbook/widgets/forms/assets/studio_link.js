// @ts-check
/** The conversation of a part of a studio with the kernel. */

import { KernelLink } from "./form_kernel.js";

const STUDIO_ENDED = "The kernel has ended; run the cell again to go on.";

export class StudioLink extends KernelLink {
  /** @param {any} model */
  constructor(model) {
    super(model);
    /** @type {[string, () => void][]} */
    this._followed = [];
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
