// @ts-check
/** Frame arithmetic of synchronised clips, without a page: which frame is on the screen, which clip leads, how a clip catches up. */

const EDGE = 1e-4; // Seconds are rounded on their way through a browser; a frame begins a little before its time.
const TOO_FAR = 0.25; // Seconds beyond which a clip jumps; below, it is nudged.
const SLOWEST = 0.85;
const QUICKEST = 1.15;

export const AHEAD = 0.08; // Seconds that a clip takes to get going when it joins the others.

/** @typedef {{frames: number, rate: number, seconds: number}} Timed */

/** @param {string} written A rate as Python writes it, `24000/1001`. */
export function rateOf(written) {
  const [over, under] = written.split("/").map(Number);
  return over / (under || 1);
}

/**
 * The number of the frame that is on the screen at a time; after the end, the last one.
 * @param {Timed} one @param {number} time
 */
export function frameAt(one, time) {
  return within(Math.floor(time * one.rate + EDGE), 0, one.frames - 1);
}

/**
 * A time in the middle of this frame: at its edges, a neighbouring frame could be displayed.
 * @param {Timed} one @param {number} frame
 */
export function middleOf(one, frame) {
  return (frame + 0.5) / one.rate;
}

/**
 * Whether it has come to its last frame by then.
 * @param {Timed} one @param {number} time
 */
export function isOver(one, time) {
  return time >= middleOf(one, one.frames - 1);
}

/**
 * How a clip comes back to the others: at which speed, and whether it has to jump.
 * @param {number} drift Seconds that it is ahead of the clock. @param {number} speed That of the clock.
 */
export function chase(drift, speed) {
  if (Math.abs(drift) > TOO_FAR) return { isJump: true, speed };
  return { isJump: false, speed: speed * within(1 - 2 * drift, SLOWEST, QUICKEST) };
}

/**
 * The longest of those that still go on: it is the last to come to its end.
 * @template {Timed} One
 * @param {One[]} clips @param {number} time @returns {One | null}
 */
export function leaderOf(clips, time) {
  const going = clips.filter((clip) => !isOver(clip, time));
  return going.reduce((best, clip) => (best && best.seconds >= clip.seconds ? best : clip), going[0] ?? null);
}

/** @param {number} value @param {number} least @param {number} most */
export function within(value, least, most) {
  return Math.min(Math.max(value, least), most);
}
