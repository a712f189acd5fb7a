/** A clip's picture as the browser's own player shows it: where the page may not decode, or the player knows a format better. */

import { chase, frameAt, isOver, JOIN_AHEAD, startOf, type Timed } from "./clock_time.ts";

const MAX_WAIT = 1500; // Milliseconds that a frame may take to come.
const CHASE_EVERY = 100; // Milliseconds.

/** A time within this frame. Of uneven frames it is a late one: a player may believe that the frame before takes longer. */
function withinFrame(clip: Timed, number: number) {
  const start = startOf(clip, number);
  const end = clip.times ? (clip.times[number + 1] ?? clip.seconds) : startOf(clip, number + 1);
  return start + (end - start) * (clip.times ? 0.9 : 0.5);
}

/** Seeks a video to exact frames, and keeps it near the clock while it plays. */
export class PlayedPicture {
  isDecoded = false;
  isBroken = false;
  #chased = 0;
  #sought = -1;

  /** @param clip With the times of the file that is played; a copy has others than its original. */
  constructor(
    readonly clip: Timed,
    readonly video: HTMLVideoElement,
    fail: () => void,
  ) {
    video.controls = false;
    video.preload = "auto";
    video.onerror = () => {
      this.isBroken = true;
      fail();
    };
  }

  /** The number of the frame on the screen. */
  get shown() {
    return this.video.seeking || this.video.readyState < 2 ? -1 : frameAt(this.clip, this.video.currentTime);
  }

  /** Show exactly this frame, and wait until it is on the screen. */
  async show(number: number) {
    const video = this.video;
    video.pause();
    if (this.isBroken || (this.#sought === number && this.shown === number)) return;
    this.#sought = number;
    const presented = this.#presented(number);
    video.currentTime = withinFrame(this.clip, number);
    await presented;
  }

  /** Stay with the clock by playing a little quicker or slower. @param time Where the clock is. */
  follow(number: number, time: number, speed: number) {
    const video = this.video;
    const now = performance.now();
    if (now - this.#chased < CHASE_EVERY || video.seeking || this.isBroken) return;
    this.#chased = now;
    this.#sought = -1;
    // The file is a copy with even times, and the clock runs by the original's.
    if (frameAt(this.clip, time) !== number) time = withinFrame(this.clip, number);
    const last = withinFrame(this.clip, this.clip.frames - 1);
    if (isOver(this.clip, time)) {
      // On the last frame, while longer clips go on.
      if (Math.abs(video.currentTime - last) < 0.75 / this.clip.rate) return;
      video.pause();
      video.currentTime = last;
      return;
    }
    if (video.paused || video.ended) video.play().catch(() => null); // Rejected when paused meanwhile.
    const { isJump, speed: rate } = chase(video.currentTime - time, speed);
    if (isJump) video.currentTime = Math.min(time + JOIN_AHEAD, last);
    video.playbackRate = rate;
  }

  rest() {
    this.#chased = 0;
    this.video.pause();
  }

  close() {
    this.video.onerror = null;
    this.video.pause();
    this.video.preload = "none";
    this.video.removeAttribute("src");
    this.video.load();
  }

  /** Resolves when a frame is on the screen, or does not come. */
  #presented(frame: number) {
    const { clip, video } = this;
    return new Promise<void>((resolve) => {
      let isSought = false;
      setTimeout(resolve, MAX_WAIT);
      const sought = () => {
        isSought = true;
        if (!video.requestVideoFrameCallback) resolve();
      };
      video.addEventListener("seeked", sought, { once: true });
      const check = (_: number, { mediaTime }: VideoFrameCallbackMetadata) => {
        // Containers round the time; and a frame decoded earlier may be presented before the requested one.
        const number = clip.times ? frameAt(clip, mediaTime) : Math.round(mediaTime * clip.rate);
        if (number === frame || isSought) resolve();
        else video.requestVideoFrameCallback(check);
      };
      video.requestVideoFrameCallback?.(check);
    });
  }
}
