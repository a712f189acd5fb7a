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

/** The number of the frame that begins at this time; containers round it. */
const numberOf = (clip: Timed, time: number) => (clip.times ? frameAt(clip, time) : Math.round(time * clip.rate));

/** Seeks a video to exact frames, and keeps it near the clock while it plays. */
export class PlayedPicture {
  isDecoded = false;
  isBroken = false;
  #chased = 0;
  #sought = -1;
  #listening = new AbortController();

  /** @param clip With the times of the file that is played; a copy has others than its original. */
  constructor(
    readonly clip: Timed,
    readonly video: HTMLVideoElement,
    fail: () => void,
  ) {
    video.controls = false;
    video.preload = "auto";
    const broken = () => {
      this.isBroken = true;
      fail();
    };
    video.addEventListener("error", broken, this.#listening);
  }

  /** The number of the frame on the screen. */
  get shown() {
    return this.video.seeking || this.video.readyState < 2 ? -1 : frameAt(this.clip, this.video.currentTime);
  }

  /** Show exactly this frame, and wait until it is on the screen. */
  async show(number: number) {
    const video = this.video;
    video.pause();
    const middle = withinFrame(this.clip, number);
    if (video.readyState < HTMLMediaElement.HAVE_METADATA) await this.#waitFor("loadedmetadata");
    if (this.isBroken) return;
    const isThere = Math.abs(video.currentTime - middle) < 1e-3 && !video.seeking && this.#sought === number;
    if (isThere && video.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA) return;
    this.#sought = number;
    const presented = this.#waitForFrame(number);
    video.currentTime = middle;
    await presented;
  }

  /** Stay with the clock by playing a little quicker or slower. @param time Where the clock is. */
  follow(number: number, time: number, speed: number) {
    const now = performance.now();
    if (now - this.#chased < CHASE_EVERY || this.video.seeking || this.isBroken) return;
    this.#chased = now;
    this.#sought = -1;
    // The file is a copy with even times, and the clock runs by the original's.
    if (frameAt(this.clip, time) !== number) time = withinFrame(this.clip, number);
    if (isOver(this.clip, time)) {
      this.#hold();
      return;
    }
    if (this.video.paused || this.video.ended) this.video.play().catch(() => null); // Rejected when paused meanwhile.
    const found = chase(this.video.currentTime - time, speed);
    if (found.isJump)
      this.video.currentTime = Math.min(time + JOIN_AHEAD, withinFrame(this.clip, this.clip.frames - 1));
    this.video.playbackRate = found.speed;
  }

  rest() {
    this.#chased = 0;
    this.video.pause();
  }

  close() {
    this.#listening.abort();
    this.video.pause();
    this.video.preload = "none";
    this.video.removeAttribute("src");
    this.video.load();
  }

  /** On the last frame, while longer clips go on. */
  #hold() {
    const last = withinFrame(this.clip, this.clip.frames - 1);
    if (Math.abs(this.video.currentTime - last) < 0.75 / this.clip.rate) return;
    if (!this.video.paused) this.video.pause();
    this.video.currentTime = last;
  }

  #waitForFrame(frame: number) {
    return new Promise((resolve) => {
      const video = this.video;
      let seeked = false;
      const done = () => {
        clearTimeout(timer);
        video.removeEventListener("seeked", after);
        resolve(null);
      };
      const timer = setTimeout(done, MAX_WAIT);
      const after = () => {
        seeked = true;
        if (!video.requestVideoFrameCallback) done();
      };
      const check = (_: number, meta: VideoFrameCallbackMetadata) => {
        // A frame decoded earlier may be presented before the requested one.
        if (numberOf(this.clip, meta.mediaTime) === frame || seeked) done();
        else video.requestVideoFrameCallback(check);
      };
      video.addEventListener("seeked", after);
      if (video.requestVideoFrameCallback) video.requestVideoFrameCallback(check);
    });
  }

  #waitFor(event: string) {
    return new Promise((resolve) => {
      setTimeout(resolve, MAX_WAIT);
      for (const name of [event, "error"]) this.video.addEventListener(name, resolve, { once: true });
    });
  }
}
