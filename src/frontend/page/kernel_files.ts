/** Files from the kernel: requested with the event `reelbook:want`, which a connection of the same key answers. */

import type { Source } from "../media/clip.ts";

export const ASK_AGAIN = "Run the cell again to see it here.";
const WAITING = 400; // Milliseconds after which it is said that the kernel is busy.

/** A file of a row, in full or as a small copy of a clip; `wait` is called when it takes long. Resolves with words where nobody answers. */
export function askFile(
  { key, row, place = 0, copy }: { key: string; row: number; place?: number; copy?: "preview" },
  wait: () => void = () => {},
): Promise<{ url?: string; words?: string; found?: any }> {
  return new Promise((resolve) => {
    const timer = setTimeout(wait, WAITING);
    const answer = (url: string | null, words: string = "", found: any = null) => {
      clearTimeout(timer);
      resolve(url ? { url, found } : { words: words || ASK_AGAIN });
    };
    const isTaken =
      key &&
      !dispatchEvent(new CustomEvent("reelbook:want", { detail: { key, row, place, copy, answer }, cancelable: true }));
    if (!isTaken) answer(null);
  });
}

/** Whether a kernel is there for the display of a key. */
const hasKernel = (key: string) =>
  Boolean(key) && !dispatchEvent(new CustomEvent("reelbook:is", { detail: { key }, cancelable: true }));

/** Says soon, and whenever it changes, whether a kernel can send the files of a key. */
export function watchKernel(key: string, change: (isThere: boolean) => void) {
  queueMicrotask(() => change(hasKernel(key))); // When all scripts of the page have run.
  onKernel(key, () => change(true));
  onKernel(key, () => change(false), "gone");
}

/** The same with the bytes of a clip, to be decoded. */
export async function bringFile(
  wanted: Parameters<typeof askFile>[0],
  wait?: () => void,
): Promise<Source & { blob?: Blob }> {
  const { url, words = ASK_AGAIN, found } = await askFile(wanted, wait);
  if (!url || !found) return { words };
  const { index, times } = found,
    blob = await found.blob;
  const bytes = index && blob ? new Uint8Array(await blob.arrayBuffer()) : null;
  return { url, blob, index, times, bytes };
}

/**
 * Calls back at an event of the connection of a key: by default when it is there, which may be after the page.
 * @returns Forget it.
 */
export function onKernel(
  key: string,
  action: (detail: any) => void,
  what: "here" | "gone" | "cells" | "said" | "told" = "here",
): () => void {
  const listener = ({ detail }: any) => {
    if (detail.key === key) action(detail);
  };
  addEventListener(`reelbook:${what}`, listener);
  return () => removeEventListener(`reelbook:${what}`, listener);
}

/** Have the kernel do something for the display of a key; resolves with its answer, null where nobody answers. */
export function askKernel(key: string, message: Record<string, any>): Promise<{ message: any; buffers: any[] } | null> {
  return new Promise((resolve) => {
    const answer = (found: any, buffers: any[]) => resolve({ message: found, buffers });
    const isTaken =
      key && !dispatchEvent(new CustomEvent("reelbook:do", { detail: { key, message, answer }, cancelable: true }));
    if (!isTaken) resolve(null);
  });
}
