/**
 * Frames of clips by their number: decoded with WebCodecs from one keyframe to the next, and held within a budget of memory.
 *
 * Python reads the container and hands over the index; no frame is found by its time, so none can be a neighbour's.
 */

const DECODERS = 3; // As many clips are decoded at once; more would only wait for each other.
const MIN_WINDOW = 4; // So many frames around the wanted one are held, however large they are.

/** What Python knows of a clip. */
export interface Index {
  codec: string;
  /** The decoder's configuration record, in base64. */
  description: string;
  size: number[];
  lengths: number[];
  keys: number[];
  jumps: Record<string, number>;
  numbers?: number[];
  times?: number[];
  rate: string;
  rotation?: number;
  /** Width and height as displayed, if its pixels are not square. */
  display?: number[];
  colours?: VideoColorSpaceInit;
}

/** A frame that is held, and what a decoder of the store works for. */
type Picture = VideoFrame | ImageBitmap;
type Slot = {
  decoder: VideoDecoder | null;
  name: string;
  isBusy: boolean;
  take: (frame: VideoFrame) => void;
  fail: (error: unknown) => void;
};
type Wish = { number: number; resolve: (frame: Picture | null) => void; reject: (error: unknown) => void };

/** Whether this page can decode: WebCodecs exist where the page came over https, from this machine, or from a file. */
export const canDecode = () => "VideoDecoder" in globalThis;

/** The decoded frames of all clips of a viewer. Those used least recently are released first. */
export class FrameStore {
  readonly budget = 256e6; // Bytes of decoded frames that are held.
  used = 0;
  clips: Set<Frames> = new Set();
  /** What shows them, to be unloaded when it is off the page. */
  owners: Set<{ box: Element; unload: () => void }> = new Set();
  #held: Map<string, { frame: Picture; bytes: number }> = new Map();
  #slots: Slot[] = Array.from({ length: DECODERS }, () => {
    return { decoder: null, name: "", isBusy: false, take: (frame) => frame.close(), fail: () => {} };
  });
  /** Clips that wait for a decoder. */
  #waiting: Set<Frames> = new Set();

  get(clip: Frames, number: number) {
    const name = `${clip.id}/${number}`;
    const held = this.#held.get(name);
    if (!held) return undefined;
    this.#held.delete(name); // To the end: used most recently.
    this.#held.set(name, held);
    return held.frame;
  }

  has(clip: Frames, number: number) {
    return this.#held.has(`${clip.id}/${number}`);
  }

  put(clip: Frames, number: number, frame: Picture) {
    const name = `${clip.id}/${number}`;
    this.#drop(name);
    this.#held.set(name, { frame, bytes: clip.frameBytes });
    this.used += clip.frameBytes;
    for (const oldest of this.#held.keys()) {
      if (this.used <= this.budget || oldest === name) break;
      this.#drop(oldest);
    }
  }

  release(clip: Frames) {
    this.#waiting.delete(clip);
    for (const name of [...this.#held.keys()]) if (name.startsWith(`${clip.id}/`)) this.#drop(name);
  }

  /** Decode what a clip wants as soon as a decoder is free; what is waited for comes before what may be wanted soon. */
  enqueue(clip: Frames) {
    if (clip.isBusy) return;
    this.#waiting.add(clip);
    this.#next();
  }

  #next() {
    while (this.#waiting.size) {
      const slot = this.#slots.find(({ isBusy }) => !isBusy);
      if (!slot) return;
      const clip = [...this.#waiting].find(({ isUrgent }) => isUrgent) ?? [...this.#waiting][0];
      this.#waiting.delete(clip);
      slot.isBusy = clip.isBusy = true;
      clip.decode(slot, this).finally(() => {
        slot.isBusy = clip.isBusy = false;
        if (clip.isWanting) this.#waiting.add(clip);
        this.#next();
      });
    }
  }

  #drop(name: string) {
    const held = this.#held.get(name);
    if (!held) return;
    this.#held.delete(name);
    this.used -= held.bytes;
    held.frame.close();
  }
}

/** The frames of one clip. */
export class Frames {
  readonly id = Math.random(); // Clips of other scripts on the page are in the store, too.
  /** Those of one frame; known better when the first is decoded. */
  frameBytes = Math.ceil(this.index.size[0] * this.index.size[1] * 1.5);
  numbers: number[] = this.index.numbers ?? this.index.lengths.map((_, place) => place);
  isBusy = false;
  isClosed = false;
  /** Whether decoding failed; nothing is prepared after that. */
  isBroken = false;
  /** Where the samples are in the bytes. */
  #offsets: number[] = [];
  /** The sample that becomes each frame. */
  #sampleOf: number[] = [];
  /** Made once: each holds a copy of its bytes, and thousands would wait for the garbage collector. */
  #chunks: EncodedVideoChunk[] = [];
  #config: Promise<VideoDecoderConfig> | null = null;
  #isHeldAsFrame = true;
  #wanted: Wish | null = null;
  #ahead = -1;

  /** @param bytes The file. */
  constructor(
    readonly store: FrameStore,
    readonly index: Index,
    readonly bytes: Uint8Array,
  ) {
    let end = 0;
    index.lengths.forEach((length, place) => {
      this.#offsets.push((end += index.jumps[place] ?? 0));
      end += length;
      if (this.numbers[place] >= 0) this.#sampleOf[this.numbers[place]] = place;
    });
    if (end > bytes.length) throw new Error("The index is of another file.");
    store.clips.add(this);
  }

  get count() {
    return this.#sampleOf.length;
  }

  /** @param number The frame if it is decoded. */
  get(number: number) {
    return this.store.get(this, number);
  }

  get isUrgent() {
    return this.#wanted !== null;
  }

  get isWanting() {
    return !this.isClosed && (this.#wanted !== null || this.#ahead >= 0);
  }

  /** The frame, decoded if necessary; null if another one was wanted meanwhile, or the clip was closed. */
  want(number: number): Promise<Picture | null> {
    const held = this.get(number);
    if (held) return Promise.resolve(held);
    this.#wanted?.resolve(null);
    return new Promise((resolve, reject) => {
      this.#wanted = { number, resolve, reject };
      this.store.enqueue(this);
    });
  }

  /** Have the next frames decoded: the first that is missing, and its group. */
  prepare(number: number, count: number) {
    if (this.isBusy || this.#wanted || this.isBroken) return;
    const end = Math.min(number + count, this.count);
    let missing = number;
    while (missing < end && this.store.has(this, missing)) missing += 1;
    if (missing >= end) return;
    this.#ahead = missing;
    this.store.enqueue(this);
  }

  close() {
    this.isClosed = true;
    this.#wanted?.resolve(null);
    this.#wanted = null;
    this.#chunks = [];
    this.store.clips.delete(this);
    this.store.release(this);
  }

  /** Decode the group of the wanted frame. Only the store calls it. */
  async decode(slot: Slot, store: FrameStore) {
    const wanted = this.#wanted;
    const number = wanted?.number ?? this.#ahead;
    this.#ahead = -1;
    try {
      if (this.isClosed || number < 0 || number >= this.count) return;
      const config = await (this.#config ??= this.#configure());
      const { first, last, from, to } = this.#span(number);
      const copies: Promise<void>[] = [];
      slot.take = (frame) => {
        const found = frame.timestamp;
        if (found < from || found > to || this.isClosed || store.has(this, found)) return frame.close();
        copies.push(this.#hold(found, frame, wanted));
      };
      const decoder = this.#decoder(slot, config);
      const failed = new Promise((_, reject) => {
        slot.fail = reject;
      });
      failed.catch(() => {}); // Handled below, unless `decode` throws at once.
      for (let place = first; place <= last; place += 1) decoder.decode((this.#chunks[place] ??= this.#chunk(place)));
      await Promise.race([decoder.flush(), failed]);
      await Promise.all(copies);
      if (!this.isClosed && !store.has(this, number)) throw new Error(`The clip has no frame ${number}.`);
    } catch (error) {
      if (slot.decoder && slot.decoder.state !== "closed") slot.decoder.close();
      slot.decoder = null;
      this.isBroken = true;
      if (this.#wanted) this.#wanted.reject(error);
      this.#wanted = null;
    } finally {
      if (wanted && wanted === this.#wanted) {
        wanted.resolve(this.get(number) ?? null);
        this.#wanted = null;
      }
    }
  }

  async #hold(number: number, frame: VideoFrame, wanted: Wish | null) {
    let held: Picture = frame;
    if (!this.#isHeldAsFrame) {
      held = await createImageBitmap(frame);
      frame.close();
    }
    // A bitmap has four bytes a pixel; a frame as many as its format, which may be finer than 4:2:0.
    this.frameBytes =
      held === frame && frame.format ? frame.allocationSize() : 4 * this.index.size[0] * this.index.size[1];
    this.store.put(this, number, held);
    // Without waiting for the rest of its group.
    if (wanted && wanted.number === number && wanted === this.#wanted) {
      this.#wanted = null;
      wanted.resolve(held);
    }
  }

  /** Which samples are decoded for a frame, from `first` to `last`, and which frames of them are held, `from` to `to`. */
  #span(number: number) {
    const { keys, lengths } = this.index;
    const sample = this.#sampleOf[number];
    let group = keys.findLastIndex((key) => key <= sample);
    // A frame may be shown before the keyframe that it follows in the file, and then needs the group before it too.
    while (group > 0 && number < this.numbers[keys[group]]) group -= 1;
    const first = keys[group];
    let end = (keys.find((key) => key > sample) ?? lengths.length) - 1;
    const share = this.store.budget / (3 * Math.max(this.store.clips.size, 1) * this.frameBytes);
    const window = Math.max(MIN_WINDOW, Math.floor(share));
    let [from, to] = [0, this.count - 1];
    if (end - first >= window) {
      [from, to] = [Math.max(number - Math.floor(window / 4), 0), Math.min(number + window, this.count - 1)];
      for (let place = end; place > sample; place -= 1) {
        if (this.numbers[place] <= to) break;
        end = place - 1;
      }
    }
    return { first, last: end, from, to };
  }

  #chunk(place: number) {
    const start = this.#offsets[place];
    const data = this.bytes.subarray(start, start + this.index.lengths[place]);
    const isKey = this.index.keys.includes(place);
    return new EncodedVideoChunk({ type: isKey ? "key" : "delta", timestamp: this.numbers[place], data });
  }

  /** A configured decoder; one that has decoded the like goes on. */
  #decoder(slot: Slot, config: VideoDecoderConfig): VideoDecoder {
    const name = `${config.codec} ${this.index.description} ${this.index.size} ${JSON.stringify(config.colorSpace ?? null)}`;
    if (slot.decoder && slot.decoder.state === "configured" && slot.name === name) return slot.decoder;
    if (!slot.decoder || slot.decoder.state === "closed") {
      slot.decoder = new VideoDecoder({ output: (frame) => slot.take(frame), error: (error) => slot.fail(error) });
    }
    slot.decoder.configure(config);
    slot.name = name;
    return slot.decoder;
  }

  async #configure(): Promise<VideoDecoderConfig> {
    const { codec, description, size, colours } = this.index;
    const config: VideoDecoderConfig = { codec, codedWidth: size[0], codedHeight: size[1] };
    if (colours) config.colorSpace = colours;
    if (description) config.description = Uint8Array.from(atob(description), (letter) => letter.charCodeAt(0));
    // A decoder in hardware has few pictures, and waits until each is given back; one in software makes as many as are held.
    const soft = { ...config, hardwareAcceleration: "prefer-software" } as VideoDecoderConfig;
    if ((await VideoDecoder.isConfigSupported(soft)).supported) return soft;
    this.#isHeldAsFrame = false;
    if ((await VideoDecoder.isConfigSupported(config)).supported) return config;
    throw new Error(`This browser does not decode ${codec}.`);
  }
}
