// @ts-check
/** Files from the kernel: requested with the event `reelbook:want`, which a connection of the same key answers. */

export const ASK_AGAIN = "Run the cell again to see it here.";
const WAITING = 400; // Milliseconds after which it is said that the kernel is busy.

/**
 * A file of a row, in full or as a small copy of a clip; `wait` is called when it takes long. Resolves with words where nobody answers.
 * @param {{key: string, row: number, place?: number, copy?: "preview"}} wanted @param {() => void} [wait]
 * @returns {Promise<{url?: string, words?: string, found?: any}>}
 */
export function askFile({ key, row, place = 0, copy }, wait = () => {}) {
  return new Promise((resolve) => {
    const timer = setTimeout(wait, WAITING);
    /** @param {string | null} url @param {string} words @param {any} found */
    const answer = (url, words = "", found = null) => {
      clearTimeout(timer);
      resolve(url ? { url, found } : { words: words || ASK_AGAIN });
    };
    const isTaken = key && !dispatchEvent(new CustomEvent("reelbook:want", { detail: { key, row, place, copy, answer }, cancelable: true }));
    if (!isTaken) answer(null);
  });
}

/** Whether a kernel is there for the display of a key. @param {string} key */
const hasKernel = (key) => Boolean(key) && !dispatchEvent(new CustomEvent("reelbook:is", { detail: { key }, cancelable: true }));

/** Says soon, and whenever it changes, whether a kernel can send the files of a key. @param {string} key @param {(isThere: boolean) => void} change */
export function watchKernel(key, change) {
  queueMicrotask(() => change(hasKernel(key))); // When all scripts of the page have run.
  onKernel(key, () => change(true));
  onKernel(key, () => change(false), "gone");
}

/** The same with the bytes of a clip, to be decoded. @param {Parameters<typeof askFile>[0]} wanted @param {() => void} [wait] @returns {Promise<import("./clock_clip.js").Source & {blob?: Blob}>} */
export async function bringFile(wanted, wait) {
  const { url, words = ASK_AGAIN, found } = await askFile(wanted, wait);
  if (!url || !found) return { words };
  const { index, times } = found, blob = await found.blob;
  const bytes = index && blob ? new Uint8Array(await blob.arrayBuffer()) : null;
  return { url, blob, index, times, bytes };
}

/**
 * Calls back at an event of the connection of a key: by default when it is there, which may be after the page.
 * @param {string} key @param {(detail: any) => void} action @param {"here" | "gone" | "cells" | "said" | "told"} [what] @returns {() => void} Forget it.
 */
export function onKernel(key, action, what = "here") {
  const listener = (/** @type {any} */ { detail }) => { if (detail.key === key) action(detail); };
  addEventListener(`reelbook:${what}`, listener);
  return () => removeEventListener(`reelbook:${what}`, listener);
}

/**
 * Have the kernel do something for the display of a key; resolves with its answer, null where nobody answers.
 * @param {string} key @param {Record<string, any>} message @returns {Promise<{message: any, buffers: any[]} | null>}
 */
export function askKernel(key, message) {
  return new Promise((resolve) => {
    const answer = (/** @type {any} */ found, /** @type {any[]} */ buffers) => resolve({ message: found, buffers });
    const isTaken = key && !dispatchEvent(new CustomEvent("reelbook:do", { detail: { key, message, answer }, cancelable: true }));
    if (!isTaken) resolve(null);
  });
}
