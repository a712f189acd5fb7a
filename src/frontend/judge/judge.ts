/**
 * Judging without knowing what is judged: two clips on one clock, or one, and an answer by button or key.
 *
 * The kernel chooses what comes and on which side; the page knows it by numbers that say nothing. The next one is loaded while
 * somebody looks at this one, and comes when the answer is on disk. An answer that the kernel cannot take yet waits in the page.
 */

import { Clip, makeClipBox } from "../media/clip.ts";
import { Clock } from "../media/clock.ts";
import { buttons } from "../media/controls.ts";
import { isCalm } from "../media/video.ts";
import { answerKey, isWriting, made, watchSight } from "../page/element.ts";
import { askKernel, bringFile, onKernel } from "../page/kernel_files.ts";

/** What the kernel says of it; `pictures` is 0 for a clip. */
type Judged = { number: number; pictures: number; frames: number; rate: string; shape: [number, number] };
type JudgeSide = { box: HTMLElement; clip: Clip | null; load: () => Promise<void> };

type Asked = { of: Judged[]; prompt: string };
/** What is judged now comes first, and then what comes next. */
type Reply = { asked: Asked[]; progress: string; isEnded?: boolean; error?: string };
type Round = { asked: Asked; sides: JudgeSide[] };
/** An answer that the kernel has yet to save. It is saved once by its token, however often it is sent. */
type Unsaved = { token: string; of: number[]; value: string; seconds: number };

const BUSY_AFTER = 400; // Milliseconds after which it is said that the kernel is busy.
const REST = 250; // Milliseconds in which a second press of a key or a button is one of the answer before.
const BUSY = "The kernel is busy. Judging continues when it is free.";
const UNSAVED_BUSY = "The kernel is busy. Your answer is kept in this page, and saved when the kernel is free.";
const ENDED = "The kernel has ended. All answers are saved; run the cell again to continue.";
const UNSAVED_ENDED =
  "The kernel has ended. Your answer is kept in this page; run the cell again to save it and continue.";
const ALL_DONE = "There is nothing more to judge here.";

/** One panel. */
export class Judge {
  key = this.root.dataset.key ?? "";
  kind = this.root.dataset.rbJudge ?? "";
  clock = new Clock([]);
  /** Milliseconds between one answer and the next. */
  rest = REST;
  /** What somebody sees now, and what comes next. */
  now: Round | null = null;
  next: Round | null = null;
  /** Answers of this panel that are on disk. */
  saved = 0;
  /** It outlives an output, its kernel, and the page when it is loaded again. */
  unsaved: Unsaved | null;
  /** Motion is judged in motion, unless somebody stopped it or wants none. */
  isPlaying = !isCalm();
  #parts = this.#unpack();
  #store = `reelbook-judge-${this.root.dataset.group}`;
  #room = made("div", { class: "rb-room", inert: true });
  #shownAt = 0;
  #isSaving = false;
  #isStarted = false;
  #isInView = false;

  constructor(readonly root: HTMLElement & { judge?: Judge }) {
    root.judge = this;
    this.unsaved = this.#read();
    const { live, slots } = this.#parts;
    live.append(this.#room);
    // While a pair is on the screen: what plays or stops at other times is nobody's wish.
    this.clock.addEventListener("change", () => {
      if (this.isAsking) this.isPlaying = this.clock.playing;
    });
    root.addEventListener("keydown", (event) => this.#onKey(event));
    buttons(root, this.clock, root.dataset.help);
    for (const one of this.#parts.answers) {
      // The focus goes to the panel: a space bar would press the button again.
      one.addEventListener("click", () => {
        root.focus({ preventScroll: true });
        this.answer(one.dataset.rbAnswer ?? "");
      });
    }
    const tools = { undo: () => this.undo(), rank: () => this.rank() };
    for (const [name, act] of Object.entries(tools))
      root.querySelector(`[data-rb-tool="${name}"]`)?.addEventListener("click", act);
    for (const slot of slots) slot.addEventListener("click", () => this.clock.clips.length && this.clock.toggle());
    onKernel(this.key, () => root.isConnected && this.start());
    onKernel(this.key, () => this.lose(), "gone");
    // Off the page, as after a long scroll in Lab, clips give their memory back until they are seen again.
    watchSight(root, (isInView) => this.#see(isInView));
  }

  /** Put what only a script can use on the page, and find its parts. */
  #unpack() {
    const { root } = this;
    const template = root.querySelector<HTMLTemplateElement>("template[data-rb-judge-parts]");
    if (template) template.replaceWith(template.content);
    const find = (name: string) => root.querySelector(name) as HTMLElement;
    return {
      live: find("[data-rb-judge-live]"),
      note: find("[data-rb-judge-note]"),
      prompt: find("[data-rb-judge-prompt]"),
      stage: find(".rb-judge-stage"),
      answers: [...root.querySelectorAll<HTMLElement>("[data-rb-answer]")],
      slots: [...root.querySelectorAll<HTMLElement>(".rb-judge-slot")],
      transport: find("[data-rb-transport]"),
      words: find(".rb-judge-words"),
    };
  }

  /** Whether an answer is expected: what is judged is on the screen. */
  get isAsking() {
    return this.#shownAt > 0 && !this.#isSaving;
  }

  /** Begin, or go on, where a kernel answers. */
  async start() {
    if (this.root.querySelector("[data-rb-judge-ranking]")) return; // The cell is run again to go on.
    await this.#ask(this.unsaved ? { do: "answer", ...this.unsaved } : { do: "next" });
  }

  async answer(value: string) {
    if (!this.now || !this.isAsking || performance.now() - this.#shownAt < this.rest) return;
    this.#isSaving = true;
    this.root.dataset.saving = value;
    const seconds = Math.round(performance.now() - this.#shownAt) / 1000;
    const of = this.now.asked.of.map(({ number }) => number);
    const unsaved = { token: newToken(), of, value, seconds };
    this.#keep(unsaved);
    await this.#ask({ do: "answer", ...unsaved });
  }

  async undo() {
    if (!this.#isSaving) await this.#ask({ do: "undo" });
  }

  /** End judging for now. The kernel replaces this output by one with the ranking. */
  async rank() {
    if (this.#isSaving) return;
    this.clock.pause();
    await this.#ask({ do: "rank" });
  }

  /** The kernel has ended. */
  lose() {
    if (this.#parts.live.hidden) return;
    this.#say(this.unsaved ? UNSAVED_ENDED : ENDED, true);
    this.root.dataset.gone = "";
  }

  /** Ask the kernel, and show what it asks. */
  async #ask(message: Record<string, any>) {
    const timer = setTimeout(() => this.#say(this.unsaved ? UNSAVED_BUSY : BUSY), BUSY_AFTER);
    const reply = await askKernel(this.key, message);
    clearTimeout(timer);
    if (reply?.gone) this.lose();
    else if (reply?.asked) await this.#take(reply);
    else if (reply?.error) this.#say(reply.error, true);
  }

  /** Show what the kernel asks now, and load what it asks next. */
  async #take(reply: Reply) {
    const { live, note } = this.#parts;
    live.hidden = false;
    note.hidden = true;
    delete this.root.dataset.gone;
    delete this.root.dataset.saving;
    this.#isSaving = false;
    if (this.unsaved && !reply.error) this.saved += 1;
    this.#keep(null);
    this.#say(reply.error || `${reply.progress}${reply.isEnded ? ` · ${ALL_DONE}` : ""}`, Boolean(reply.error));
    const before = [this.now, this.next];
    const [now = null, next = null] = reply.asked.map(
      (asked) => before.find((round) => round && nameOf(round.asked) === nameOf(asked)) ?? this.#prepare(asked),
    );
    this.next = next;
    if (this.now !== now) this.#show(now);
    for (const round of before) if (round !== now && round !== next) close(round);
    if (reply.isEnded) return void this.rank();
    // Only when this one is there, so that it has the whole connection.
    await load(now);
    if (this.next === next) load(next);
  }

  #prepare(asked: Asked): Round {
    const sides = asked.of.map((judged, place) =>
      makeSide(this.key, judged, this.kind === "pairs" ? "AB"[place] : "To be judged"),
    );
    // On the page, because clips of outputs that are gone are unloaded.
    this.#room.append(...sides.map(({ box }) => box));
    return { asked, sides };
  }

  async #show(round: Round | null) {
    const { slots, prompt, stage, transport } = this.#parts;
    this.now = round;
    this.#shownAt = 0;
    this.clock.pause();
    // Whatever was there: after an undo it may come again.
    for (const slot of slots) this.#room.append(...slot.querySelectorAll(".rb-clip"));
    this.root.toggleAttribute("data-ended", !round);
    if (!round) return;
    prompt.textContent = prompt.title = round.asked.prompt;
    round.sides.forEach((side, place) => slots[place].append(side.box));
    const isWide = round.asked.of.every(({ shape: [width, height] }) => width >= height);
    stage.toggleAttribute("data-wide", isWide);
    const clips = round.sides.flatMap(({ clip }) => clip ?? []);
    transport.hidden = !clips.length;
    this.clock.clips = clips;
    this.clock.range = null;
    this.clock.measure();
    clips.forEach((clip) => (clip.isInView = this.#isInView));
    await (clips.length ? this.clock.seek(0) : load(round));
    if (this.now !== round) return;
    this.#shownAt = performance.now();
    if (this.isPlaying && clips.length) this.clock.play();
  }

  #see(isInView: boolean) {
    this.#isInView = isInView;
    for (const clip of this.clock.clips) this.clock.see(clip, isInView);
    if (!isInView || this.#isStarted) return;
    this.#isStarted = true;
    this.start();
  }

  #say(words: string, isWrong: boolean = false) {
    this.#parts.words.textContent = words;
    this.#parts.words.classList.toggle("rb-wrong", isWrong);
  }

  #onKey(event: KeyboardEvent) {
    if (isWriting(event) || this.#parts.live.hidden) return;
    const undo = () => this.undo();
    const known: Record<string, () => unknown> = { u: undo, backspace: undo };
    for (const { dataset } of this.#parts.answers)
      known[dataset.rbKey?.toLowerCase() ?? ""] = () => this.answer(dataset.rbAnswer ?? "");
    const act = known[event.key.toLowerCase()];
    // A key that is held down acts once.
    answerKey(event, { [event.key]: act && (() => event.repeat || act()) });
  }

  #read(): Unsaved | null {
    try {
      return JSON.parse(sessionStorage.getItem(this.#store) ?? "null");
    } catch {
      return null;
    }
  }

  #keep(unsaved: Unsaved | null) {
    this.unsaved = unsaved;
    try {
      sessionStorage.setItem(this.#store, JSON.stringify(unsaved));
    } catch {
      // A page may be denied storage; then it lasts as long as the output.
    }
  }
}

const nameOf = ({ of }: Asked) => of.map(({ number }) => number).join();
const load = (round: Round | null) => Promise.all(round?.sides.map((side) => side.load()) ?? []);
function close(round: Round | null) {
  for (const { box, clip } of round?.sides ?? []) {
    clip?.unload();
    box.remove();
  }
}

/** A clip or the pictures of a run in a box of its own. */
function makeSide(key: string, judged: Judged, name: string): JudgeSide {
  const [width, height] = judged.shape;
  const attributes = { role: "img", "aria-label": name, style: `aspect-ratio:${width}/${height}`, class: "rb-clip" };
  const box = judged.pictures ? made("div", attributes) : makeClipBox(judged, attributes);
  const bring = async (place: number) => {
    const file = await bringFile({ key, row: judged.number, place }, () => (box.dataset.waiting = "Fetching…"));
    delete box.dataset.waiting;
    return file;
  };
  const clip = judged.pictures ? null : new Clip(box, () => bring(0));
  const loadPictures = async () => {
    const files = await Promise.all([...Array(judged.pictures).keys()].map(bring));
    const images = files.filter(({ url }) => url).map(({ url }) => made("img", { src: url, alt: "" }));
    await Promise.all(images.map((image) => image.decode().catch(() => null)));
    if (images.length < files.length) box.dataset.broken = files.find(({ words }) => words)?.words ?? "";
    box.style.setProperty("--across", String(Math.ceil(Math.sqrt(images.length))));
    box.toggleAttribute("data-many", images.length > 1);
    box.append(...images);
  };
  let loading: Promise<void> | undefined; // Once: a clip that plays is not put back to its first frame.
  return { box, clip, load: () => (loading ??= clip ? clip.show(0.5 / clip.rate) : loadPictures()) };
}

/** A name for one answer, on pages of any address. */
const newToken = () =>
  [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

for (const root of document.querySelectorAll<HTMLElement & { judge?: Judge }>("[data-rb-judge]"))
  root.judge ??= new Judge(root);
