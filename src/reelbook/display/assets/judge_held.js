// @ts-check
/** What outlives an output and its kernel: an answer that is not saved yet, the rater's name, and whether clips play. */

/**
 * An answer that the kernel has yet to save. The token is that of this one answer, so that it is saved once however often it is sent.
 * @typedef {{token: string, of: number[], value: string, seconds: number, rater: string | null}} Unsaved
 * @typedef {{unsaved?: Unsaved | null, rater?: string | null, isPlaying?: boolean}} Held
 */

const PREFIX = "reelbook-judge-";

/** @param {string} group What is judged, and by whom. @returns {Held} */
export function readHeld(group) {
  const all = (/** @type {any} */ (globalThis).reelbookJudged ??= new Map());
  if (!all.has(group)) all.set(group, stored(group));
  return all.get(group);
}

/** Also for the page after it is loaded again. @param {string} group @param {Held} changes */
export function writeHeld(group, changes) {
  const held = Object.assign(readHeld(group), changes);
  try {
    sessionStorage.setItem(PREFIX + group, JSON.stringify(held));
  } catch {
    // A page may be denied storage; then it lasts as long as the page.
  }
}

/** @param {string} group @returns {Held} */
function stored(group) {
  try {
    return JSON.parse(sessionStorage.getItem(PREFIX + group) ?? "{}");
  } catch {
    return {};
  }
}
