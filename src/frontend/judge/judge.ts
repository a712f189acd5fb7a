/**
 * Judging without knowing what is judged: two clips on one clock, or one, and an answer by button or key.
 *
 * The kernel chooses what comes and on which side; the page knows it by numbers that say nothing. The next one is loaded while
 * somebody looks at this one, and comes when the answer is on disk. An answer that the kernel cannot take yet waits in the page.
 */

import { Clock, watchPage } from "../media/clock.ts";
import { buttons, keys } from "../media/controls.ts";
import { askKernel, onKernel } from "../page/kernel_files.ts";
import { readHeld, writeHeld } from "./kept.ts";
import { type Judged, JudgeSide } from "./side.ts";

/** What is to be judged. */
export type Asked = { of: Judged[]; prompt: string };
/** The next ones come first. */
export type Reply = {
  asked: Asked[];
  progress: string;
  rater: string | null;
  isEnded?: boolean;
  error?: string;
  gone?: string;
};
export type Round = { asked: Asked; sides: JudgeSide[] };

const BUSY_AFTER = 400; // Milliseconds after which it is said that the kernel is busy.
const AGAIN_AFTER = 4000; // Milliseconds after which an unanswered message is sent again, then after twice as long.
const REPEATABLE = new Set(["next", "answer"]); // An answer is saved once, by its token.
const REST = 250; // Milliseconds in which a second press of a key or a button is one of the answer before.
const KEYS = {
  pairs: { a: "left", b: "right", t: "tie", x: "bad", s: "skip" },
  stars: { 1: "1", 2: "2", 3: "3", 4: "4", 5: "5", s: "skip" },
  keep: { k: "keep", r: "reject", s: "skip" },
};
const BUSY = "The kernel is busy. Judging continues when it is free.";
const UNSAVED_BUSY = "The kernel is busy. Your answer is kept in this page, and saved when the kernel is free.";
const ENDED = "The kernel has ended. All answers are saved; run the cell again to continue.";
const UNSAVED_ENDED =
  "The kernel has ended. Your answer is kept in this page; run the cell again to save it and continue.";
const NOT_HERE = "The kernel has ended, so there are no more questions. Run the cell again to continue judging.";
const ALL_DONE = "There is nothing more to judge here.";

/** One panel. */
export class Judge {
  root: HTMLElement & { judge?: Judge };
  key: string;
  group: string;
  kind: "pairs" | "stars" | "keep";
  live: HTMLElement;
  note: HTMLElement;
  prompt: HTMLElement;
  words: HTMLElement;
  help: HTMLElement;
  transport: HTMLElement;
  rater: HTMLInputElement;
  slots: HTMLElement[];
  stage: HTMLElement;
  room: HTMLDivElement;
  clock: Clock;
  /** Milliseconds between one answer and the next. */
  rest = REST;
  /** What somebody sees now, and what comes next. */
  now: Round | null = null;
  next: Round | null = null;
  /** Whether an answer is on its way. */
  isSaving = false;
  /** Answers of this panel that are on disk. */
  saved = 0;
  #shownAt = 0;
  #turn = 0;
  #isStarted = false;
  #isInView = false;
  /** What ends listening; empty while the panel is off the page. */
  #forget: (() => void)[] = [];

  constructor(root: HTMLElement & { judge?: Judge }) {
    this.root = root;
    root.judge = this;
    this.key = root.dataset.key ?? "";
    this.group = root.dataset.group ?? "";
    const parts = root.querySelector("template[data-rb-judge-parts]") as HTMLTemplateElement | null;
    if (parts) {
      root.append(parts.content.cloneNode(true));
      parts.remove();
      root.querySelector(".rb-judge-head")?.append(root.querySelector("[data-rb-judge-rater]") as HTMLElement);
    }
    this.kind = root.dataset.rbJudge as "pairs" | "stars" | "keep";
    const one = (name: string) => root.querySelector(name) as HTMLElement;
    this.live = one("[data-rb-judge-live]");
    this.note = one("[data-rb-judge-note]");
    this.prompt = one("[data-rb-judge-prompt]");
    this.words = one(".rb-judge-words");
    this.help = one("[data-rb-judge-help]");
    this.transport = one("[data-rb-transport]");
    this.rater = one("[data-rb-judge-rater] input") as HTMLInputElement;
    this.slots = [...root.querySelectorAll(".rb-judge-slot")] as HTMLElement[];
    this.stage = one(".rb-judge-stage");
    this.room = document.createElement("div");
    this.room.className = "rb-judge-room";
    this.room.inert = true;
    this.live.append(this.room);
    this.clock = new Clock([]);
    buttons(this.live, this.clock);
    // While a pair is on the screen: what plays or stops at other times is nobody's wish.
    this.clock.addEventListener("change", () => {
      if (this.isAsking) writeHeld(this.group, { isPlaying: this.clock.playing });
    });
    root.addEventListener("keydown", (event) => this.#onKey(event));
    for (const button of root.querySelectorAll("[data-rb-answer]") as NodeListOf<HTMLElement>) {
      // The focus goes to the panel: a space bar would press the button again.
      button.addEventListener("click", () => {
        root.focus({ preventScroll: true });
        this.answer(button.dataset.rbAnswer ?? "");
      });
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
    const gone = (event: Event) => {
      if ((event as CustomEvent).detail.key === this.key) self.deref()?.lose();
    };
    addEventListener("reelbook:gone", gone);
    this.#forget = [
      watchPage(this.clock),
      onKernel(this.key, () => self.deref()?.start()),
      () => removeEventListener("reelbook:gone", gone),
    ];
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

  /** For somebody who wants no motion, until they have played a clip or answered. */
  get #hint() {
    const isStill = this.#shownAt > 0 && this.clock.clips.length > 0 && this.held.isPlaying === undefined;
    return isStill ? "Press Play to see them move" : "";
  }

  get held() {
    return readHeld(this.group);
  }

  /** Begin, or go on, where a kernel answers. */
  async start() {
    if (this.root.querySelector("[data-rb-judge-ranking]")) return this.#offer();
    const { unsaved, rater } = this.held;
    const reply = await this.#ask(
      unsaved ? { do: "answer", ...unsaved } : { do: "next", ...(rater === undefined ? {} : { rater }) },
      unsaved ? UNSAVED_BUSY : BUSY,
    );
    return reply ? this.#begin(reply) : undefined;
  }

  #begin(reply: Reply) {
    this.live.hidden = false;
    this.note.hidden = true;
    return this.#take(reply);
  }

  /** Say something above what is there. */
  #explain(words: string) {
    this.note.textContent = words;
    this.note.hidden = false;
    this.note.setAttribute("role", "status");
  }

  async answer(value: string) {
    const now = this.now;
    if (!now || !this.isAsking || performance.now() - this.#shownAt < this.rest) return;
    const isPlaying = this.clock.playing;
    this.isSaving = true;
    this.root.dataset.saving = value;
    const seconds = Math.round(performance.now() - this.#shownAt) / 1000;
    const unsaved = {
      token: newToken(),
      of: now.asked.of.map(({ number }) => number),
      value,
      seconds,
      rater: this.rater.value.trim() || null,
    };
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

  async #ask(message: Record<string, any>, busy: string): Promise<Reply | null> {
    const timer = setTimeout(() => this.#say(busy), BUSY_AFTER);
    // Asked again after a while, unless that is not the same, because a message may be lost with a connection.
    const found = await new Promise<Awaited<ReturnType<typeof askKernel>>>((resolve) => {
      const ask = (pause: number) => {
        askKernel(this.key, message).then((answer) => {
          clearTimeout(again);
          resolve(answer);
        });
        const again = setTimeout(() => {
          if (REPEATABLE.has(message.do) && this.#forget.length) ask(2 * pause);
        }, pause);
      };
      ask(AGAIN_AFTER);
    });
    clearTimeout(timer);
    if (!found) return null;
    if (!found.message.gone) return found.message;
    this.lose();
    return null;
  }

  /** The kernel has ended. */
  lose() {
    if (this.live.hidden) return;
    this.#say(this.held.unsaved ? UNSAVED_ENDED : ENDED, true);
    this.root.dataset.gone = "";
  }

  /** Show what the kernel asks now, and load what it asks next. */
  async #take(reply: Reply) {
    const turn = ++this.#turn;
    delete this.root.dataset.gone;
    delete this.root.dataset.saving;
    this.isSaving = false;
    if (this.held.unsaved && !reply.error) this.saved += 1;
    writeHeld(this.group, { unsaved: null });
    if (document.activeElement !== this.rater) this.rater.value = reply.rater ?? "";
    (this.rater.parentElement as HTMLElement).hidden = false;
    this.#say(
      reply.error || [reply.progress, reply.isEnded ? ALL_DONE : "", this.#hint].filter(Boolean).join(" · "),
      Boolean(reply.error),
    );
    const before = [this.now, this.next];
    const [now, next] = reply.asked.map(
      (asked) => before.find((round) => round && isSame(round.asked, asked)) ?? this.#prepare(asked),
    );
    if (this.now !== (now ?? null)) this.#show(now ?? null);
    this.next = next ?? null;
    for (const round of before)
      if (round && round !== this.now && round !== this.next) round.sides.forEach((side) => side.close());
    if (reply.isEnded) return this.rank();
    // Only when this one is there, so that it has the whole connection.
    await Promise.all((now?.sides ?? []).map((side) => side.load()));
    if (turn === this.#turn) next?.sides.forEach((side) => side.load());
    return undefined;
  }

  #prepare(asked: Asked): Round {
    const sides = asked.of.map(
      (judged, place) => new JudgeSide(this.key, judged, this.kind === "pairs" ? "AB"[place] : "To be judged"),
    );
    // On the page, because clips of outputs that are gone are unloaded.
    this.room.append(...sides.map(({ box }) => box));
    return { asked, sides };
  }

  async #show(round: Round | null) {
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
    this.stage.toggleAttribute(
      "data-wide",
      round.asked.of.every(({ shape: [width, height] }) => width >= height),
    );
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
    else if (this.#hint) this.#say([this.words.textContent, this.#hint].filter(Boolean).join(" · "));
  }

  #see(isInView: boolean) {
    if (!isInView && !this.root.isConnected) return this.close();
    if (isInView && !this.#forget.length) this.#open();
    this.#isInView = isInView;
    for (const clip of this.clock.clips)
      if (clip.isInView !== isInView) isInView ? this.clock.join(clip) : this.clock.leave(clip);
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

  #say(words: string, isWrong: boolean = false) {
    this.words.textContent = words;
    this.words.classList.toggle("rb-judge-wrong", isWrong);
  }

  #onKey(event: KeyboardEvent) {
    const target = event.target as HTMLElement;
    if (
      event.ctrlKey ||
      event.altKey ||
      event.metaKey ||
      target.matches("select, textarea, input:not([type=range])") ||
      this.live.hidden
    )
      return;
    const name = event.key.toLowerCase();
    const value = (KEYS[this.kind] as Record<string, string>)[name];
    const tools: Record<string, () => unknown> = {
      u: () => this.undo(),
      backspace: () => this.undo(),
      "?": () => this.#toggleHelp(),
    };
    const act = value ? () => this.answer(value) : tools[name];
    if (!act) return keys(event, this.clock);
    event.preventDefault();
    event.stopPropagation(); // Jupyter would insert a cell.
    if (!event.repeat) act();
  }
}

const isSame = (one: Asked, other: Asked) =>
  one.of.length === other.of.length && one.of.every(({ number }, place) => number === other.of[place].number);

/** A name for one answer, on pages of any address. */
const newToken = () =>
  [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

for (const root of document.querySelectorAll("[data-rb-judge]") as NodeListOf<HTMLElement & { judge?: Judge }>) {
  if (!root.judge) new Judge(root);
}
