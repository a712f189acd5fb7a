/** The messages between a widget on the page and the kernel. */

export type Listener = (content: any, buffers: any[]) => void;

export const KERNEL_ENDED = "The kernel has ended; run the cell again to continue.";

export class KernelLink {
  model: any;
  _onMessage: (content: any, buffers: any[]) => void;
  /** Whether the kernel is known to be gone. */
  hasEnded = false;
  _listeners: Map<string, Set<Listener>> = new Map();

  constructor(model: any) {
    this.model = model;
    this._onMessage = (content: any, buffers: any[]) => {
      for (const key of Object.keys(content ?? {})) this._fire(key, content, buffers ?? []);
    };
    model.on("msg:custom", this._onMessage);
  }

  dispose() {
    this.model.off("msg:custom", this._onMessage);
    this._listeners.clear();
  }

  async send(content: any, buffers?: any[]): Promise<void> {
    await this.model.send(content, undefined, buffers);
  }

  /** Send, and say so where nobody is left to hear it. @returns Whether it was sent. */
  async ask(content: any, buffers?: any[]): Promise<boolean> {
    const isSent = await this.send(content, buffers).then(
      () => true,
      () => false,
    );
    const isNews = isSent === this.hasEnded;
    this.hasEnded = !isSent;
    if (isNews) this._fire("ended", {}, []);
    if (!isSent) this._fire("trouble", { trouble: KERNEL_ENDED }, []);
    return isSent;
  }

  /** Messages with this key. */
  on(key: string, listener: Listener): () => void {
    const listeners = this._listeners.get(key) ?? new Set();
    this._listeners.set(key, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  _fire(key: string, content: any, buffers: any[]) {
    for (const listener of [...(this._listeners.get(key) ?? [])]) listener(content, buffers);
  }
}
