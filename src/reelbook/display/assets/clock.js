// @ts-check
/**
 * Synchronised playback of several clips: they start, stop and step together, and stay in step.
 *
 * Frame counts and rates come from the markup, where Python wrote them; a browser knows neither. One clip leads, the
 * longest of those in view; the others follow it by playing a little quicker or slower. A clip out of view is paused, and
 * joins again when it comes into view.
 */

import { Clip } from "./clock_clip.js";
import { buttons, keys } from "./clock_controls.js";
import { AHEAD, frameAt, isOver, leaderOf, middleOf, within } from "./clock_time.js";

const TICK_EVERY = 100; // Milliseconds.
const MAX_LOADED = 32; // Browsers refuse to hold many more films than this at once on a telephone.

/** The shared playback position of several clips. Dispatches `change` when its state changes, and `frame` for every new frame. */
export class Clock extends EventTarget {
  #at = 0; // Seconds, at the moment `#since`.
  #since = 0;
  #playing = false;
  #speed = 1;
  #turn = 0; // Counts starts and stops, so that what waited for a seek knows that it is out of date.
  #wanted = -1;
  /** @type {Promise<void> | null} */
  #seeking = null;
  /** @type {Clip | null} */
  #leader = null;
  #timer = 0;
  #isAwake = false;

  /** @param {Clip[]} clips */
  constructor(clips) {
    super();
    this.clips = clips;
    this.loop = true;
    this.rate = Math.max(...clips.map((clip) => clip.rate));
    this.frames = Math.max(...clips.map((clip) => Math.round(clip.seconds * this.rate)));
    this.seconds = this.frames / this.rate;
  }

  get playing() {
    return this.#playing;
  }

  get speed() {
    return this.#speed;
  }

  set speed(speed) {
    this.#set(this.time);
    this.#speed = speed;
    for (const clip of this.#seen()) clip.video.playbackRate = speed;
    this.#notify();
  }

  /** Seconds from the beginning. */
  get time() {
    const leader = this.#leader;
    if (!this.#playing) return this.#at;
    if (leader?.isInView && !leader.video.paused && !leader.video.seeking) return leader.video.currentTime;
    return Math.min(this.#at + ((performance.now() - this.#since) / 1000) * this.#speed, this.seconds);
  }

  /** The frame that the clock shows, of the quickest clip if rates differ. */
  get frame() {
    return frameAt(this, this.time);
  }

  toggle() {
    if (this.#playing) this.pause();
    else this.play();
  }

  play() {
    if (this.#playing) return;
    this.#playing = true;
    const isAtEnd = this.#at >= this.seconds - 1.5 / this.rate;
    this.#start(isAtEnd ? 0 : this.#at);
    this.#notify();
  }

  pause() {
    if (!this.#playing) return;
    const frame = this.frame;
    this.#stop();
    this.seek(frame); // So that all show the same frame, whichever each had come to.
  }

  /**
   * Stop, and show this frame in all clips; resolves when all in view do.
   * @param {number} frame
   */
  seek(frame) {
    this.#stop();
    this.#isAwake = true;
    this.#wanted = within(Math.round(frame), 0, this.frames - 1);
    this.#set(middleOf(this, this.#wanted));
    this.#notify();
    // While a seek is in progress, only the last requested frame counts.
    this.#seeking ??= this.#settle().finally(() => (this.#seeking = null));
    return this.#seeking;
  }

  /** @param {number} frames So many on, or back. */
  step(frames) {
    return this.seek(this.frame + frames);
  }

  /**
   * A clip has come into view.
   * @param {Clip} clip
   */
  async join(clip) {
    clip.isInView = true;
    if (!this.#isAwake) return;
    const turn = this.#turn;
    await clip.show(this.#playing ? this.time + AHEAD : this.time);
    if (turn !== this.#turn || !this.#playing || !clip.isInView) return;
    this.#follow(clip);
  }

  /**
   * A clip has gone out of view.
   * @param {Clip} clip
   */
  leave(clip) {
    if (clip === this.#leader) {
      this.#set(this.time);
      this.#leader = null;
    }
    clip.isInView = false;
    clip.video.pause();
    if (this.clips.filter((other) => other.isLoaded).length > MAX_LOADED) clip.unload();
    if (this.#playing) this.#lead();
  }

  #seen() {
    return this.clips.filter((clip) => clip.isInView && !clip.isBroken);
  }

  /** @param {number} time */
  #set(time) {
    this.#at = within(time, 0, this.seconds);
    this.#since = performance.now();
  }

  #notify() {
    this.dispatchEvent(new Event("change"));
  }

  #stop() {
    this.#playing = false;
    this.#turn += 1;
    this.#leader = null;
    clearInterval(this.#timer);
    for (const clip of this.clips) clip.video.pause();
  }

  /** @param {number} time */
  async #start(time) {
    const turn = ++this.#turn;
    this.#isAwake = true;
    this.#leader = null;
    this.#set(time);
    clearInterval(this.#timer);
    if (this.#seeking) await this.#seeking;
    await Promise.all(this.#seen().map((clip) => clip.show(time)));
    if (turn !== this.#turn) return;
    this.#set(time);
    for (const clip of this.#seen()) {
      clip.video.playbackRate = this.#speed;
      if (!isOver(clip, time)) clip.play();
    }
    this.#lead();
    this.#timer = setInterval(() => this.#tick(), TICK_EVERY);
  }

  #lead() {
    const leader = leaderOf(this.#seen(), this.time);
    if (leader === this.#leader) return;
    this.#leader = leader;
    if (leader) this.#watch(leader, this.#turn);
  }

  /**
   * Dispatch `frame` for each frame of the leader as it is presented.
   * @param {Clip} clip
   * @param {number} turn
   */
  #watch(clip, turn) {
    clip.video.playbackRate = this.#speed;
    if (!clip.video.requestVideoFrameCallback) return;
    clip.video.requestVideoFrameCallback((_, meta) => {
      if (turn !== this.#turn || clip !== this.#leader) return;
      this.#set(meta.mediaTime);
      this.dispatchEvent(new Event("frame"));
      this.#watch(clip, turn);
    });
  }

  #tick() {
    const time = this.time;
    if (time >= this.seconds - 0.75 / this.rate || (this.#leader?.video.ended && this.#leader.seconds >= this.seconds - 1e-6)) {
      this.#turnRound();
      return;
    }
    if (!this.#leader || isOver(this.#leader, time) || this.#leader.isBroken) this.#lead();
    for (const clip of this.#seen()) if (clip !== this.#leader) clip.follow(time, this.#speed);
    this.dispatchEvent(new Event("frame"));
  }

  /** @param {Clip} clip */
  #follow(clip) {
    clip.follow(this.time, this.#speed);
    this.#lead();
  }

  #turnRound() {
    if (this.loop) {
      this.#start(0);
    } else {
      this.#stop();
      this.seek(this.frames - 1);
    }
  }

  async #settle() {
    while (this.#wanted >= 0) {
      const time = middleOf(this, this.#wanted);
      this.#wanted = -1;
      await Promise.all(this.#seen().map((clip) => clip.show(time)));
    }
  }
}

/**
 * Give a group of clips its clock, its buttons and its keys.
 * @param {HTMLElement} root
 */
export function attach(root) {
  const boxes = /** @type {HTMLElement[]} */ ([...root.querySelectorAll("[data-rb-clip]")]);
  const clips = boxes.map((box) => new Clip(box));
  if (!clips.length) return null;
  const clock = new Clock(clips);
  for (const clip of clips) clip.video.controls = false;
  buttons(root, clock);
  root.addEventListener("keydown", (event) => keys(event, clock));
  for (const clip of clips) clip.box.addEventListener("click", () => clock.toggle());
  watchView(clock);
  watchPage(clock);
  return clock;
}

/** @param {Clock} clock */
function watchView(clock) {
  const byBox = new Map(clock.clips.map((clip) => [/** @type {Element} */ (clip.box), clip]));
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const clip = byBox.get(target);
      if (!clip || clip.isInView === isIntersecting) continue;
      if (isIntersecting) clock.join(clip);
      else clock.leave(clip);
    }
  });
  for (const box of byBox.keys()) observer.observe(box);
}

/**
 * Pause while the page is hidden, and continue from the same position afterwards.
 * @param {Clock} clock
 */
function watchPage(clock) {
  let goesOn = false;
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      goesOn = clock.playing;
      clock.pause();
    } else if (goesOn) {
      clock.play();
    }
  });
}

for (const root of /** @type {NodeListOf<HTMLElement & {clock?: Clock | null}>} */ (document.querySelectorAll("[data-rb-clock]"))) {
  if (!("clock" in root)) root.clock = attach(root);
}
