/** Frame arithmetic of synchronised clips, without a page: which frame is on the screen, and how a played clip catches up. */

const EDGE = 1e-4; // Seconds are rounded on their way through a browser; a frame begins a little before its time.
const TOO_FAR = 0.25; // Seconds beyond which a clip jumps; below, it is nudged.
const SLOWEST = 0.85;
const QUICKEST = 1.15;

export const JOIN_AHEAD = 0.08; // Seconds that a played clip takes to get going when it joins the others.

/** `times` only where frames are not evenly spaced. */
export type Timed = { frames: number; rate: number; seconds: number; times?: number[] | null };

/** @param written A rate as Python writes it, `24000/1001`. */
export function rateOf(written: string) {
  const [over, under] = written.split("/").map(Number);
  return over / (under || 1);
}

/** The number of the frame that is on the screen at a time; after the end, the last one. */
export function frameAt(one: Timed, time: number) {
  if (!one.times) return within(Math.floor(time * one.rate + EDGE), 0, one.frames - 1);
  const after = one.times.findIndex((start) => start > time + EDGE / one.rate);
  return within((after < 0 ? one.frames : after) - 1, 0, one.frames - 1);
}

/** When a frame begins. */
export function startOf(one: Timed, frame: number) {
  return one.times?.[frame] ?? frame / one.rate;
}

/** A time in the middle of this frame: at its edges, a neighbouring frame could be displayed. */
export function middleOf(one: Timed, frame: number) {
  if (!one.times) return (frame + 0.5) / one.rate;
  return (startOf(one, frame) + (one.times[frame + 1] ?? one.seconds)) / 2;
}

/** Whether it has come to its last frame by then. */
export function isOver(one: Timed, time: number) {
  return time >= middleOf(one, one.frames - 1);
}

/**
 * How a played clip comes back to the clock: at which speed, and whether it has to jump.
 * @param drift Seconds that it is ahead of the clock.
 * @param speed That of the clock.
 */
export function chase(drift: number, speed: number) {
  if (Math.abs(drift) > TOO_FAR) return { isJump: true, speed };
  return { isJump: false, speed: speed * within(1 - 2 * drift, SLOWEST, QUICKEST) };
}

export function within(value: number, least: number, most: number) {
  return Math.min(Math.max(value, least), most);
}
