// @ts-check
/**
 * Judging without knowing what is judged: two clips on one clock, or one, and an answer by button or key.
 *
 * The kernel chooses what comes and on which side; the page knows it by numbers that say nothing. The next one is loaded while
 * somebody looks at this one, and comes when the answer is on disk. An answer that the kernel cannot take yet waits in the page.
 */

import { Clock, watchPage } from "./clock.js";
import { buttons, keys } from "./clock_controls.js";
import { readHeld, writeHeld } from "./judge_held.js";
import { JudgeSide } from "./judge_side.js";
import { askKernel, onKernel } from "./kernel_files.js";

/** @typedef {{of: import("./judge_side.js").Judged[], prompt: string}} Asked What is to be judged. */
/** @typedef {{asked: Asked[], progress: string, rater: string | null, isEnded?: boolean, error?: string, gone?: string}} Reply The next ones come first. */
/** @typedef {{asked: Asked, sides: JudgeSide[]}} Round */

const BUSY_AFTER = 400; // Milliseconds after which it is said that the kernel is busy.
const AGAIN_AFTER = 4000; // Milliseconds after which an unanswered message is sent again, then after twice as long.
const REPEATABLE = new Set(["next", "answer"]); // An answer is saved once, by its token.
const REST = 250; // Milliseconds in which a second press of a key or a button is one of the answer before.
const KEYS = {
  pairs: { a: "left", b: "right", t: "tie", x: "bad", s: "skip" },
  stars: { 1: "1", 2: "2", 3: "3", 4: "4", 5: "5", s: "skip" },
  keep: { k: "keep", r: "reject", s: "skip" },
};
const BUSY = "The kernel is busy. It goes on when the kernel has time.";
const UNSAVED_BUSY = "The kernel is busy. Your answer is kept in this page, and saved when the kernel has time.";
const ENDED = "The kernel has ended. All answers are saved; run the cell again to go on.";
const UNSAVED_ENDED = "The kernel has ended. Your answer is kept in this page; run the cell again to save it and go on.";
const NOT_HERE = "The kernel has ended, so nobody can ask. Run the cell again to go on judging.";
const ALL_DONE = "There is nothing more to judge here.";

/** One panel. */
export class Judge {
  /** Milliseconds between one answer and the next. */
  rest = REST;
  /** What somebody sees now, and what comes next. @type {Round | null} */
  now = null;
  /** @type {Round | null} */
  next = null;
  /** Whether an answer is on its way. */
  isSaving = false;
  /** Answers of this panel that are on disk. */
  saved = 0;
  #shownAt = 0;
  #turn = 0;
  #isStarted = false;
  #isInView = false;
  /** What ends listening; empty while the panel is off the page. @type {(() => void)[]} */
  #forget = [];

  /** @param {HTMLElement & {judge?: Judge}} root */
  constructor(root) {
    this.root = root;
    root.judge = this;
    this.key = root.dataset.key ?? "";
    this.group = root.dataset.group ?? "";
    const parts = /** @type {HTMLTemplateElement | null} */ (root.querySelector("template[data-rb-judge-parts]"));
    if (parts) {
      root.append(parts.content.cloneNode(true));
      parts.remove();
      root.querySelector(".rb-judge-head")?.append(/** @type {HTMLElement} */ (root.querySelector("[data-rb-judge-rater]")));
    }
    this.kind = /** @type {"pairs" | "stars" | "keep"} */ (root.dataset.rbJudge);
    const one = (/** @type {string} */ name) => /** @type {HTMLElement} */ (root.querySelector(name));
    this.live = one("[data-rb-judge-live]");
    this.note = one("[data-rb-judge-note]");
    this.prompt = one("[data-rb-judge-prompt]");
    this.words = one(".rb-judge-words");
    this.help = one("[data-rb-judge-help]");
    this.transport = one("[data-rb-transport]");
    this.rater = /** @type {HTMLInputElement} */ (one("[data-rb-judge-rater] input"));
    this.slots = /** @type {HTMLElement[]} */ ([...root.querySelectorAll(".rb-judge-slot")]);
    this.stage = one(".rb-judge-stage");
    this.room = document.createElement("div");
    this.room.className = "rb-judge-room";
    this.room.inert = true;
    this.live.append(this.room);
    this.clock = new Clock([]);
    buttons(this.live, this.clock);
    // While a pair is on the screen: what plays or stops at other times is nobody's wish.
    this.clock.addEventListener("change", () => { if (this.isAsking) writeHeld(this.group, { isPlaying: this.clock.playing }); });
    root.addEventListener("keydown", (event) => this.#onKey(event));
    for (const button of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll("[data-rb-answer]"))) {
      // The focus goes to the panel: a space bar would press the button again.
      button.addEventListener("click", () => { root.focus({ preventScroll: true }); this.answer(button.dataset.rbAnswer ?? ""); });
    }
    const tools = { undo: () => this.undo(), rank: () => this.rank(), help: () => this.#toggleHelp() };
    for (const [name, act] of Object.entries(tools)) one(`[data-rb-tool="${name}"]`).addEventListener("click", act);
    this.rater.addEventListener("change", () => this.#rename());
    this.slots.forEach((slot) => slot.addEventListener("click", () => this.clock.clips.length && this.clock.toggle()));
    // It goes on observing an output that is taken off the page, which Lab puts back after an undo or a long scroll.
    new IntersectionObserver(([{ isIntersecting }]) => this.#see(isIntersecting)).observe(root);
    this.#open();
  }

  /** Listen to the page and the kernel, until the output is taken off the page. */
  #open() {
    const self = new WeakRef(this);
    const gone = (/** @type {Event} */ event) => { if (/** @type {CustomEvent} */ (event).detail.key === this.key) self.deref()?.#lose(); };
    addEventListener("reelbook:gone", gone);
    this.#forget = [watchPage(this.clock), onKernel(this.key, () => self.deref()?.start()), () => removeEventListener("reelbook:gone", gone)];
  }

  /** Let go of everything that a panel off the page should not hold. */
  close() {
    this.#forget.forEach((action) => action());
    this.#forget = [];
    this.clock.close();
    for (const round of [this.now, this.next]) round?.sides.forEach((side) => side.close());
    this.now = this.next = null;
    this.#shownAt = 0;
    this.#isStarted = this.isSaving = false;
  }

  /** Whether an answer is expected: what is judged is on the screen. */
  get isAsking() {
    return this.#shownAt > 0 && !this.isSaving;
  }

  get held() {
    return readHeld(this.group);
  }

  /** Begin, or go on, where a kernel answers. */
  async start() {
    if (this.root.querySelector("[data-rb-judge-ranking]")) return this.#offer();
    const { unsaved, rater } = this.held;
    const reply = await this.#ask(unsaved ? { do: "answer", ...unsaved } : { do: "next", ...(rater === undefined ? {} : { rater }) }, unsaved ? UNSAVED_BUSY : BUSY);
    return reply ? this.#begin(reply) : undefined;
  }

  /** @param {Reply} reply */
  #begin(reply) {
    this.live.hidden = false;
    this.note.hidden = true;
    return this.#take(reply);
  }

  /** Say something above what is there. @param {string} words */
  #explain(words) {
    this.note.textContent = words;
    this.note.hidden = false;
    this.note.setAttribute("role", "status");
  }

  /** @param {string} value */
  async answer(value) {
    const now = this.now;
    if (!now || !this.isAsking || performance.now() - this.#shownAt < this.rest) return;
    const isPlaying = this.clock.playing;
    this.isSaving = true;
    this.root.dataset.saving = value;
    const seconds = Math.round(performance.now() - this.#shownAt) / 1000;
    const unsaved = { token: newToken(), of: now.asked.of.map(({ number }) => number), value, seconds, rater: this.rater.value.trim() || null };
    writeHeld(this.group, { unsaved, isPlaying });
    const reply = await this.#ask({ do: "answer", ...unsaved }, UNSAVED_BUSY);
    if (reply) await this.#take(reply);
  }

  async undo() {
    if (this.isSaving) return;
    const reply = await this.#ask({ do: "undo" }, BUSY);
    if (reply) await this.#take(reply);
  }

  /** End judging for now. The kernel replaces this output by one with the ranking. */
  async rank() {
    if (this.isSaving) return;
    this.clock.pause();
    const reply = await this.#ask({ do: "rank" }, BUSY);
    if (reply?.error) this.#say(reply.error, true);
  }

  /** @param {Record<string, any>} message @param {string} busy @returns {Promise<Reply | null>} */
  async #ask(message, busy) {
    const timer = setTimeout(() => this.#say(busy), BUSY_AFTER);
    // Asked again after a while, unless that is not the same, because a message may be lost with a connection.
    const found = await new Promise((resolve) => {
      const ask = (/** @type {number} */ pause) => {
        askKernel(this.key, message).then((answer) => { clearTimeout(again); resolve(answer); });
        const again = setTimeout(() => { if (REPEATABLE.has(message.do) && this.#forget.length) ask(2 * pause); }, pause);
      };
      ask(AGAIN_AFTER);
    });
    clearTimeout(timer);
    if (!found) return null;
    if (!found.message.gone) return found.message;
    this.#lose();
    return null;
  }

  /** The kernel has ended. */
  #lose() {
    if (this.live.hidden) return;
    this.#say(this.held.unsaved ? UNSAVED_ENDED : ENDED, true);
    this.root.dataset.gone = "";
  }

  /** Show what the kernel asks now, and load what it asks next. @param {Reply} reply */
  async #take(reply) {
    const turn = ++this.#turn;
    delete this.root.dataset.gone;
    delete this.root.dataset.saving;
    this.isSaving = false;
    if (this.held.unsaved && !reply.error) this.saved += 1;
    writeHeld(this.group, { unsaved: null });
    if (document.activeElement !== this.rater) this.rater.value = reply.rater ?? "";
    /** @type {HTMLElement} */ (this.rater.parentElement).hidden = false;
    this.#say(reply.error || [reply.progress, reply.isEnded ? ALL_DONE : ""].filter(Boolean).join(" · "), Boolean(reply.error));
    const before = [this.now, this.next];
    const [now, next] = reply.asked.map((asked) => before.find((round) => round && isSame(round.asked, asked)) ?? this.#prepare(asked));
    if (this.now !== (now ?? null)) this.#show(now ?? null);
    this.next = next ?? null;
    for (const round of before) if (round && round !== this.now && round !== this.next) round.sides.forEach((side) => side.close());
    if (reply.isEnded) return this.rank();
    // Only when this one is there, so that it has the whole connection.
    await Promise.all((now?.sides ?? []).map((side) => side.load()));
    if (turn === this.#turn) next?.sides.forEach((side) => side.load());
    return undefined;
  }

  /** @param {Asked} asked @returns {Round} */
  #prepare(asked) {
    const sides = asked.of.map((judged, place) => new JudgeSide(this.key, judged, this.kind === "pairs" ? "AB"[place] : "To be judged"));
    // On the page, because clips of outputs that are gone are unloaded.
    this.room.append(...sides.map(({ box }) => box));
    return { asked, sides };
  }

  /** @param {Round | null} round */
  async #show(round) {
    // Motion is judged in motion, unless somebody stopped it or wants none.
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const { isPlaying = !isCalm } = this.held;
    this.now = round;
    this.#shownAt = 0;
    this.clock.pause();
    // Whatever was there: after an undo it may come again.
    this.slots.forEach((slot) => this.room.append(...slot.querySelectorAll(".rb-clip")));
    this.root.toggleAttribute("data-ended", !round);
    if (!round) return;
    this.prompt.textContent = this.prompt.title = round.asked.prompt;
    round.sides.forEach((side, place) => this.slots[place].append(side.box));
    this.stage.toggleAttribute("data-wide", round.asked.of.every(({ shape: [width, height] }) => width >= height));
    const clips = round.sides.flatMap(({ clip }) => clip ?? []);
    this.transport.hidden = !clips.length;
    this.clock.clips = clips;
    this.clock.range = null;
    this.clock.measure();
    clips.forEach((clip) => (clip.isInView = this.#isInView));
    const isThere = clips.length ? this.clock.seek(0) : Promise.all(round.sides.map((side) => side.load()));
    await isThere;
    if (this.now !== round) return;
    this.#shownAt = performance.now();
    this.root.dispatchEvent(new Event("reelbook:asked"));
    if (isPlaying && clips.length) this.clock.play();
    else if (clips.length && this.held.isPlaying === undefined) this.#say([this.words.textContent, "Press Play to see them move"].filter(Boolean).join(" · "));
  }

  /** @param {boolean} isInView */
  #see(isInView) {
    if (!isInView && !this.root.isConnected) return this.close();
    if (isInView && !this.#forget.length) this.#open();
    this.#isInView = isInView;
    for (const clip of this.clock.clips) if (clip.isInView !== isInView) isInView ? this.clock.join(clip) : this.clock.leave(clip);
    if (!isInView || this.#isStarted) return undefined;
    this.#isStarted = true;
    return this.start();
  }

  /** A button that leads from the ranking back to the clips. */
  #offer() {
    const ranking = this.root.querySelector("[data-rb-judge-ranking]");
    if (this.root.querySelector("[data-rb-judge-on]")) return;
    const button = document.createElement("button");
    Object.assign(button, { type: "button", textContent: "Go on judging" });
    button.dataset.rbJudgeOn = "";
    button.addEventListener("click", async () => {
      const reply = await this.#ask({ do: "next" }, BUSY);
      if (!reply) return this.#explain(NOT_HERE);
      button.remove();
      ranking?.remove();
      this.root.focus({ preventScroll: true });
      return this.#begin(reply);
    });
    ranking?.after(button);
  }

  async #rename() {
    const rater = this.rater.value.trim() || null;
    writeHeld(this.group, { rater });
    if (this.isSaving) return;
    const reply = await this.#ask({ do: "next", rater }, BUSY);
    if (reply) await this.#take(reply);
  }

  #toggleHelp() {
    this.help.hidden = !this.help.hidden;
  }

  /** @param {string} words @param {boolean} [isWrong] */
  #say(words, isWrong = false) {
    this.words.textContent = words;
    this.words.classList.toggle("rb-judge-wrong", isWrong);
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.ctrlKey || event.altKey || event.metaKey || target.matches("select, textarea, input:not([type=range])") || this.live.hidden) return;
    const name = event.key.toLowerCase();
    const value = /** @type {Record<string, string>} */ (KEYS[this.kind])[name];
    /** @type {Record<string, () => unknown>} */
    const tools = { u: () => this.undo(), backspace: () => this.undo(), "?": () => this.#toggleHelp() };
    const act = value ? () => this.answer(value) : tools[name];
    if (!act) return keys(event, this.clock);
    event.preventDefault();
    event.stopPropagation(); // Jupyter would insert a cell.
    if (!event.repeat) act();
  }
}

/** @param {Asked} one @param {Asked} other */
const isSame = (one, other) => one.of.length === other.of.length && one.of.every(({ number }, place) => number === other.of[place].number);

/** A name for one answer, on pages of any address. */
const newToken = () => [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

for (const root of /** @type {NodeListOf<HTMLElement & {judge?: Judge}>} */ (document.querySelectorAll("[data-rb-judge]"))) {
  if (!root.judge) new Judge(root);
}
