/** The messages between a widget on the page and the kernel. */

import { useLayoutEffect, useReducer, useRef } from "preact/hooks";

export type Listener = (content: any, buffers: any[]) => void;

export const KERNEL_ENDED = "The kernel has ended; run the cell again to continue.";

export class KernelLink {
  model: any;
  /** Whether the kernel is known to be gone. */
  hasEnded = false;
  #listeners: Map<string, Set<Listener>> = new Map();
  #asked = 0;
  #onMessage = (content: any, buffers: any[]) => {
    for (const key of Object.keys(content ?? {})) this.fire(key, content, buffers ?? []);
  };

  constructor(model: any) {
    this.model = model;
    model.on("msg:custom", this.#onMessage);
  }

  dispose() {
    this.model.off("msg:custom", this.#onMessage);
    this.#listeners.clear();
  }

  /** Send, and say so where nobody is left to hear it. @returns Whether it was sent. */
  async ask(content: any, buffers?: any[]): Promise<boolean> {
    let isSent = true;
    try {
      await this.model.send(content, undefined, buffers);
    } catch {
      isSent = false;
    }
    const isNews = isSent === this.hasEnded;
    this.hasEnded = !isSent;
    if (isNews) this.fire("ended");
    if (!isSent) this.fire("trouble", { trouble: KERNEL_ENDED });
    return isSent;
  }

  /** Ask for something and wait for the answer, which has the buffers; an `error` where there is nobody to ask. */
  request(content: any, buffers?: any[]): Promise<any> {
    this.#asked += 1;
    const id = `${Date.now().toString(36)}-${this.#asked}-${Math.random().toString(36).slice(2)}`;
    return new Promise((resolve) => {
      const settle = (answer: any, parts: any[] = []) => {
        off();
        resolve({ ...answer, buffers: parts });
      };
      const off = this.on("did", (answer, parts) => answer.did === id && settle(answer, parts));
      this.ask({ ...content, id }, buffers).then(
        (isSent) => isSent || settle({ error: "The kernel did not accept it. Is it still running?" }),
      );
    });
  }

  /** Messages with this key, or what the host says of the model: "change:…", "comm_live_update". @returns Forget it. */
  on(key: string, listener: Listener): () => void {
    if (/^(change:|comm_)/.test(key)) {
      this.model.on(key, listener);
      return () => this.model.off(key, listener);
    }
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  fire(key: string, content: any = {}, buffers: any[] = []) {
    for (const listener of [...(this.#listeners.get(key) ?? [])]) listener(content, buffers);
  }
}

/**
 * Draws again after each of these messages.
 * @param heard What is done about some of them.
 */
export function useNews(link: KernelLink, keys: string[], heard: Record<string, Listener> = {}) {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  const latest = useRef(heard);
  latest.current = heard;
  useLayoutEffect(() => {
    const hears = (key: string) =>
      link.on(key, (content, buffers) => {
        latest.current[key]?.(content, buffers);
        draw(0);
      });
    const offs = [...keys, ...Object.keys(heard)].map(hears);
    return () => offs.forEach((off) => off());
  }, []);
}
