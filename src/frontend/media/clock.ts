/**
 * Synchronised playback of several clips: they start, stop and step together, and stay in step.
 *
 * The clock runs by the time of the page, and each clip shows its frame for that time. A clip out of view rests, and joins
 * again when it comes into view. Frame counts and rates come from Python; a browser knows neither.
 */

import type { Clip } from "./clip.ts";
import { middleOf, within } from "./clock_time.ts";
import type { Player } from "./controls.ts";

/** The shared playback position of several clips. Dispatches `change` when its state changes, and `frame` for every new frame. */
export class Clock extends EventTarget implements Player {
  loop = true;
  rate = 1;
  frames = 1;
  #at = 0; // Seconds, at the moment `#since`.
  #since = 0;
  #playing = false;
  #isRunning = false; // While it plays, but not before all clips show their first frame.
  #speed = 1;
  #turn = 0; // Counts starts and stops, so that what waited for a seek knows that it is out of date.
  #wanted = -1;
  #seeking: Promise<void> | null = null;
  #isAwake = false;
  #by = "time";
  /** The frames that play, if not all: first and last. */
  #range: [number, number] | null = null;

  constructor(public clips: Clip[]) {
    super();
    this.measure();
  }

  /** Rate and number of frames of all clips together; again when clips have come or changed. */
  measure() {
    const at = this.time;
    this.rate = Math.max(...this.clips.map((clip) => clip.rate), 1);
    const counts = this.clips.map((clip) =>
      this.#by === "frame" ? clip.frames : Math.round(clip.seconds * this.rate),
    );
    this.frames = Math.max(...counts, 1);
    if (this.#range && this.#range[1] >= this.frames) this.#range = null; // Its end would never come.
    this.#set(at);
    this.#notify();
  }

  get seconds() {
    return this.frames / this.rate;
  }

  /** How far along a frame is, 0 to 1. */
  shareOf(frame: number) {
    return this.frames > 1 ? frame / (this.frames - 1) : 0;
  }

  get playing() {
    return this.#playing;
  }

  setSpeed(speed: number) {
    this.#set(this.time);
    this.#speed = speed;
  }

  /** What is the same in all clips: the `time`, or the number of the `frame`. */
  get by() {
    return this.#by;
  }

  set by(by) {
    const frame = this.frame;
    this.#by = by;
    this.#range = null;
    this.measure();
    this.seek(frame);
  }

  get range() {
    return this.#range;
  }

  set range(range) {
    const isAll = !range || (range[0] <= 0 && range[1] >= this.frames - 1);
    this.#range = isAll || !range ? null : [Math.min(...range), Math.max(...range)];
    this.#notify();
  }

  turnLoop() {
    this.loop = !this.loop;
    this.#notify();
  }

  /** Begin or end the range that plays at the frame on the screen; at its own end, play all again. */
  setRange(side: 0 | 1) {
    const range: [number, number] = this.range ? [...this.range] : [0, this.frames - 1];
    const isAgain = this.range !== null && range[side] === this.frame;
    range[side] = this.frame;
    this.range = isAgain || range[0] > range[1] ? null : range;
  }

  /** Seconds from the beginning. */
  get time() {
    if (!this.#isRunning) return this.#at;
    return Math.min(this.#at + ((performance.now() - this.#since) / 1000) * this.#speed, this.seconds);
  }

  /** The frame that the clock shows, of the quickest clip if rates differ. */
  get frame() {
    return within(Math.floor(this.time * this.rate + 1e-4), 0, this.frames - 1);
  }

  toggle() {
    if (this.#playing) this.pause();
    else this.play();
  }

  play() {
    if (this.#playing) return;
    this.#playing = true;
    const [first, last] = this.#range ?? [0, this.frames - 1];
    const isOutside = this.frame >= last || this.frame < first;
    this.#start(isOutside ? first / this.rate : this.#at);
    this.#notify();
  }

  pause() {
    if (!this.#playing) return;
    const frame = this.frame;
    this.#stop();
    this.seek(frame); // So that all show the same frame, whichever each had come to.
  }

  /** Stop, and show this frame in all clips; resolves when all in view do. */
  seek(frame: number) {
    this.#stop();
    this.#isAwake = true;
    this.#wanted = within(Math.round(frame), 0, this.frames - 1);
    this.#set((this.#wanted + 0.5) / this.rate);
    this.#notify();
    // While a seek is in progress, only the last requested frame counts.
    this.#seeking ??= this.#settle().finally(() => (this.#seeking = null));
    return this.#seeking;
  }

  /** @param frames So many on, or back. */
  step(frames: number) {
    return this.seek(this.frame + frames);
  }

  /** The time of a clip's own at which it shows what the clock is at. */
  timeFor(clip: Clip, time: number) {
    if (this.#by !== "frame") return time;
    return middleOf(clip, within(Math.floor(time * this.rate + 1e-4), 0, clip.frames - 1));
  }

  /** A clip has come into view, or has gone out of it or off the page. */
  see(clip: Clip, isInView: boolean) {
    if (clip.isInView === isInView) return;
    clip.isInView = isInView;
    if (isInView) {
      if (this.#isAwake) clip.show(this.timeFor(clip, this.time));
      else if (clip.bring) clip.load(); // So that the first step need not wait for the kernel.
      return;
    }
    clip.rest();
    if (!clip.box.isConnected) clip.unload();
    if (this.clips.every(({ box }) => !box.isConnected)) this.#stop();
  }

  #seen() {
    return this.clips.filter((clip) => clip.isInView && !clip.isBroken);
  }

  #set(time: number) {
    this.#at = within(time, 0, this.seconds);
    this.#since = performance.now();
  }

  #notify() {
    this.dispatchEvent(new Event("change"));
  }

  #stop() {
    this.#set(this.time);
    this.#playing = this.#isRunning = false;
    this.#turn += 1;
    for (const clip of this.clips) clip.rest();
  }

  async #start(time: number) {
    const turn = ++this.#turn;
    this.#isAwake = true;
    this.#isRunning = false;
    this.#set(time);
    if (this.#seeking) await this.#seeking;
    await this.#showAll(time);
    if (turn !== this.#turn) return;
    this.#set(time);
    this.#isRunning = true;
    this.#tick(turn, -1);
  }

  /** @param before The frame of the tick before. */
  #tick(turn: number, before: number) {
    if (turn !== this.#turn) return;
    const time = this.time;
    const end = this.#range ? (this.#range[1] + 1) / this.rate : this.seconds;
    if (time >= end - 1e-4) return this.#turnRound();
    for (const clip of this.#seen()) {
      const pace = this.#by === "frame" ? this.rate / clip.rate : 1;
      clip.follow(this.timeFor(clip, time), this.#speed * pace);
    }
    const frame = this.frame;
    if (frame !== before) this.dispatchEvent(new Event("frame"));
    requestAnimationFrame(() => this.#tick(turn, frame));
  }

  #turnRound() {
    const [first, last] = this.#range ?? [0, this.frames - 1];
    if (this.loop) this.#start(first / this.rate);
    else this.seek(last);
  }

  async #showAll(time: number) {
    await Promise.all(this.#seen().map((clip) => clip.show(this.timeFor(clip, time))));
  }

  async #settle() {
    while (this.#wanted >= 0) {
      const time = (this.#wanted + 0.5) / this.rate;
      this.#wanted = -1;
      await this.#showAll(time);
    }
  }
}
