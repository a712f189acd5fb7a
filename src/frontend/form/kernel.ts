/** The messages between a widget on the page and the kernel. */

export type Listener = (content: any, buffers: any[]) => void;

export const KERNEL_ENDED = "The kernel has ended; run the cell again to continue.";

export class KernelLink {
  model: any;
  _onMessage: (content: any, buffers: any[]) => void;
  /** Whether the kernel is known to be gone. */
  hasEnded = false;
  _listeners: Map<string, Set<Listener>> = new Map();
  #answers: Map<string, (content: any, buffers: any[]) => void> = new Map();
  #asked = 0;

  constructor(model: any) {
    this.model = model;
    this._onMessage = (content: any, buffers: any[]) => {
      this.#answers.get(content?.did)?.(content, buffers ?? []);
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

  /** Ask for something and wait for the answer, which has the buffers; an `error` where there is nobody to ask. */
  request(content: any, buffers?: any[]): Promise<any> {
    this.#asked += 1;
    const id = `${Date.now().toString(36)}-${this.#asked}-${Math.random().toString(36).slice(2)}`;
    return new Promise((resolve) => {
      const settle = (answer: any, parts: any[]) => {
        this.#answers.delete(id);
        resolve({ ...answer, buffers: parts });
      };
      this.#answers.set(id, settle);
      this.ask({ ...content, id }, buffers).then(
        (isSent) => isSent || settle({ error: "The kernel did not accept it. Is it still running?" }, []),
      );
    });
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
