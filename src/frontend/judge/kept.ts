/** What outlives an output and its kernel: an answer that is not saved yet, the rater's name, and whether clips play. */

/** An answer that the kernel has yet to save. The token is that of this one answer, so that it is saved once however often it is sent. */
export type Unsaved = { token: string; of: number[]; value: string; seconds: number; rater: string | null };
export type Held = { unsaved?: Unsaved | null; rater?: string | null; isPlaying?: boolean };

const PREFIX = "reelbook-judge-";

/** @param group What is judged, and by whom. */
export function readHeld(group: string): Held {
  const all = ((globalThis as any).reelbookJudged ??= new Map());
  if (!all.has(group)) all.set(group, stored(group));
  return all.get(group);
}

/** Also for the page after it is loaded again. */
export function writeHeld(group: string, changes: Held) {
  const held = Object.assign(readHeld(group), changes);
  try {
    sessionStorage.setItem(PREFIX + group, JSON.stringify(held));
  } catch {
    // A page may be denied storage; then it lasts as long as the page.
  }
}

function stored(group: string): Held {
  try {
    return JSON.parse(sessionStorage.getItem(PREFIX + group) ?? "{}");
  } catch {
    return {};
  }
}
