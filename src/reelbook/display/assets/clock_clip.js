// @ts-check
/** One of several synchronised clips: loads and unloads its file, seeks to an exact frame, and follows the others. */

import { AHEAD, chase, frameAt, isOver, middleOf, rateOf } from "./clock_time.js";

const MAX_WAIT = 1500; // Milliseconds that a frame may take to come.

/** One clip, with what Python knows of it. */
export class Clip {
  /** @param {HTMLElement} box The element around a video, with its frames and its rate. */
  constructor(box) {
    this.box = box;
    this.video = /** @type {HTMLVideoElement} */ (box.querySelector("video"));
    this.frames = Number(box.dataset.frames);
    this.rate = rateOf(String(box.dataset.rate));
    this.seconds = this.frames / this.rate;
    this.isInView = false;
    this.isBroken = false;
    this.isLoaded = false;
    this.source = this.video.getAttribute("src") ?? "";
    this.video.addEventListener("error", () => this.#fail());
  }

  load() {
    if (this.isLoaded) return;
    this.isLoaded = true;
    if (!this.video.getAttribute("src")) this.video.src = this.source;
    this.video.preload = "auto";
    this.box.dataset.loaded = "";
  }

  /** Unload the file to free memory; the poster under the video becomes visible again. */
  unload() {
    if (!this.isLoaded || this.isBroken) return;
    this.isLoaded = false;
    delete this.box.dataset.loaded;
    this.video.preload = "none";
    this.video.removeAttribute("src");
    this.video.load();
  }

  /**
   * Show exactly the frame of this time, and wait until it is on the screen.
   * @param {number} time
   */
  async show(time) {
    this.load();
    this.video.pause();
    const frame = frameAt(this, time);
    const middle = middleOf(this, frame);
    if (this.video.readyState < HTMLMediaElement.HAVE_METADATA) await this.#waitFor("loadedmetadata");
    if (this.isBroken) return;
    const isThere = Math.abs(this.video.currentTime - middle) < 1e-3 && !this.video.seeking;
    if (isThere && this.video.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA) return;
    const presented = this.#waitForFrame(frame);
    this.video.currentTime = middle;
    await presented;
  }

  play() {
    this.video.play().catch(() => null); // Rejected when paused, or when the clip is broken, which `#fail` handles.
  }

  /**
   * Stay with the others by playing a little quicker or slower.
   * @param {number} time Where the clock is.
   * @param {number} speed
   */
  follow(time, speed) {
    const video = this.video;
    if (video.seeking || this.isBroken) return;
    if (isOver(this, time)) {
      this.#hold();
      return;
    }
    if (video.paused || video.ended) this.play();
    const found = chase(video.currentTime - time, speed);
    if (found.isJump) video.currentTime = Math.min(time + AHEAD, middleOf(this, this.frames - 1));
    video.playbackRate = found.speed;
  }

  /** On the last frame, while longer clips go on. */
  #hold() {
    const last = middleOf(this, this.frames - 1);
    if (Math.abs(this.video.currentTime - last) < 0.75 / this.rate) return;
    if (!this.video.paused) this.video.pause();
    this.video.currentTime = last;
  }

  /** @param {number} frame */
  #waitForFrame(frame) {
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
      const check = (/** @type {number} */ _, /** @type {VideoFrameCallbackMetadata} */ meta) => {
        // A frame decoded earlier may be presented before the requested one.
        if (Math.round(meta.mediaTime * this.rate) === frame || seeked) done();
        else video.requestVideoFrameCallback(check);
      };
      video.addEventListener("seeked", after);
      if (video.requestVideoFrameCallback) video.requestVideoFrameCallback(check);
    });
  }

  /** @param {string} event */
  #waitFor(event) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, MAX_WAIT);
      for (const name of [event, "error"]) {
        this.video.addEventListener(name, () => (clearTimeout(timer), resolve(null)), { once: true });
      }
    });
  }

  #fail() {
    if (!this.isLoaded) return; // It was unloaded; an empty source is no error.
    this.isBroken = true;
    this.box.dataset.broken = "";
  }
}
