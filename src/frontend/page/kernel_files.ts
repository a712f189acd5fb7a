/** Files from the kernel: requested with the event `reelbook:want`, which a connection of the same key answers. */

import type { Source } from "../media/clip.ts";

export const ASK_AGAIN = "Run the cell again to see it here.";
const WAITING = 400; // Milliseconds after which it is said that the kernel is busy.

/** A file of a display: its key, its row and place, and whether a small copy of a clip is wanted, or a poster. */
type Wanted = { key: string; row: number; place?: number; copy?: "preview" | 320 };

/** Ask the connection of a key. @returns Whether there is one. */
const ask = (what: "want" | "is" | "do", detail: { key: string; [name: string]: unknown }) =>
  Boolean(detail.key) && !dispatchEvent(new CustomEvent(`reelbook:${what}`, { detail, cancelable: true }));

/** The address of a file; `wait` is called when it takes long. Resolves with words where nobody answers. */
export function askFile(
  wanted: Wanted,
  wait: () => void = () => {},
): Promise<{ url?: string; words?: string; found?: any }> {
  return new Promise((resolve) => {
    const timer = setTimeout(wait, WAITING);
    const answer = (url: string | null, words: string = "", found: any = null) => {
      clearTimeout(timer);
      resolve(url ? { url, found } : { words: words || ASK_AGAIN });
    };
    if (!ask("want", { place: 0, ...wanted, answer })) answer(null);
  });
}

/** The same with the bytes of a clip, to be decoded. */
export async function bringFile(wanted: Wanted, wait?: () => void): Promise<Source> {
  const { url, words = ASK_AGAIN, found } = await askFile(wanted, wait);
  if (!url || !found) return { words };
  const { index, times, copy, blob } = found;
  const bytes = found.bytes ?? (index ? new Uint8Array(await blob.arrayBuffer()) : null);
  return { url, index, times, isCopy: copy, bytes };
}

/** Have the kernel do something for the display of a key; resolves with its answer, null where nobody answers. */
export function askKernel(key: string, message: Record<string, any>): Promise<any> {
  return new Promise((resolve) => {
    if (!ask("do", { key, message, answer: resolve })) resolve(null);
  });
}

/** Says soon, and whenever it changes, whether a kernel can send the files of a key. */
export function watchKernel(key: string, change: (isThere: boolean) => void) {
  queueMicrotask(() => change(ask("is", { key }))); // When all scripts of the page have run.
  onKernel(key, () => change(true));
  onKernel(key, () => change(false), "gone");
}

/** Calls back at an event of the connection of a key: by default when it is there, which may be after the page. */
export function onKernel(
  key: string,
  action: (detail: any) => void,
  what: "here" | "gone" | "cells" | "told" = "here",
) {
  addEventListener(`reelbook:${what}`, ({ detail }: any) => detail.key === key && action(detail));
}
