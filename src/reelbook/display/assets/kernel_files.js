// @ts-check
/** Files from the kernel: requested with the event `reelbook:want`, which a connection of the same key answers. */

export const ASK_AGAIN = "Run the cell again to see it here.";
const WAITING = 400; // Milliseconds after which it is said that the kernel is busy.

/**
 * The file of a row, in full or as a small copy of a clip; `wait` is called when it takes long. Resolves with words where nobody answers.
 * @param {{key: string, row: number, place?: number, copy?: "preview"}} wanted @param {() => void} [wait]
 * @returns {Promise<import("./clock_clip.js").Source & {blob?: Blob}>}
 */
export function bringFile({ key, row, place = 0, copy }, wait = () => {}) {
  return new Promise((resolve) => {
    const timer = setTimeout(wait, WAITING);
    /** @param {string | null} url @param {string} words @param {any} found */
    const answer = async (url, words = "", found = null) => {
      clearTimeout(timer);
      if (!url || !found) return resolve({ words: words || ASK_AGAIN });
      const { index, times } = found;
      const blob = await found.blob;
      const bytes = index && blob ? new Uint8Array(await blob.arrayBuffer()) : null;
      resolve({ url, blob, index, times, bytes });
    };
    const isTaken = key && !dispatchEvent(new CustomEvent("reelbook:want", { detail: { key, row, place, copy, answer }, cancelable: true }));
    if (!isTaken) answer(null);
  });
}

/** Calls back when the connection of a key is there; it may come after the page. @param {string} key @param {() => void} action @returns {() => void} Forget it. */
export function onKernel(key, action) {
  const listener = (/** @type {Event} */ event) => { if (/** @type {CustomEvent} */ (event).detail.key === key) action(); };
  addEventListener("reelbook:here", listener);
  return () => removeEventListener("reelbook:here", listener);
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
