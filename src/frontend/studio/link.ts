/** The conversation of a part of a studio with the kernel. */

import { KernelLink } from "../form/kernel.ts";

export class StudioLink extends KernelLink {
  _followed: [string, () => void][];

  constructor(model: any) {
    super(model);
    this._followed = [];
  }

  /** Now, and whenever one of these traits changes. */
  follow(names: string[], show: () => void) {
    for (const name of names) {
      this.model.on(`change:${name}`, show);
      this._followed.push([name, show]);
    }
    show();
  }

  override dispose() {
    for (const [name, show] of this._followed) this.model.off(`change:${name}`, show);
    super.dispose();
  }
}
