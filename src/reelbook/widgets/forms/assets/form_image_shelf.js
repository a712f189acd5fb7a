// @ts-check
/** Requests to the kernel about pictures: previews, earlier outputs, and uploads. */

/** @typedef {import("./form_link.js").FormLink} FormLink */
/** @typedef {{name: string, words: string, receives: string, size: number[] | null, url: string, error: string, film: boolean}} PicturePreview */
/** @typedef {{earlier: {picture: string, words: string}[], from: number, more: boolean, error?: string}} PicturePage */

export const PICTURE_MOST_BYTES = 50_000_000;
const PICTURE_CHUNK = 4_000_000;
// Parts of an upload in transit at once; more would only wait in the browser's memory.
const PICTURE_AHEAD = 2;
const PICTURE_PARALLEL = 4;

/** Why a picture could not be taken, in words; of a film, its last frame could be. */
export class PictureRefused extends Error {
  /** @param {string} words @param {boolean} [film] */
  constructor(words, film = false) {
    super(words);
    this.film = film;
  }
}

/** @type {WeakMap<FormLink, PictureShelf>} */
const pictureShelves = new WeakMap();

/** The shelf of one form, shared by all its pictures; each of them calls `leave` in the end. @param {FormLink} link */
export function pictureShelf(link) {
  const shelf = pictureShelves.get(link) ?? new PictureShelf(link);
  pictureShelves.set(link, shelf);
  return shelf.enter();
}

export class PictureShelf {
  #users = 0;
  #count = 0;
  #key = `${Date.now().toString(36)}${Math.random().toString(36).slice(2)}`;
  /** @type {(() => void)[]} */
  #offs = [];
  /** Previews received or requested. @type {Map<string, Promise<PicturePreview>>} */
  #previews = new Map();
  /** @type {Map<string, (preview: PicturePreview) => void>} */
  #asked = new Map();
  /** @type {string[]} */
  #waiting = [];
  /** @type {string[]} */
  #urls = [];
  /** @type {Map<string, {arrived: (part: number) => void, done: (content: any) => void}>} */
  #uploads = new Map();
  /** @type {{from: number, done: (page: PicturePage) => void}[]} */
  #pages = [];

  /** @param {FormLink} link */
  constructor(link) {
    this.link = link;
  }

  enter() {
    if (!this.#users++) {
      this.#offs = [
        this.link.on("thumb", (content, buffers) => this.#received(content, buffers)),
        this.link.on("arrived", (content) => this.#uploads.get(content.arrived)?.arrived(content.part)),
        this.link.on("uploaded", (content) => this.#uploads.get(content.uploaded)?.done(content)),
        this.link.on("earlier", (content) => this.#listed(content)),
      ];
    }
    return this;
  }

  leave() {
    if (--this.#users) return;
    this.#offs.forEach((off) => off());
    this.#urls.forEach((url) => URL.revokeObjectURL(url));
    this.#previews.clear();
    this.#asked.clear();
    this.#urls = this.#waiting = this.#pages = [];
  }

  /** The preview of a picture, requested once. @param {string} picture @returns {Promise<PicturePreview>} */
  preview(picture) {
    const known = this.#previews.get(picture);
    if (known) return known;
    const preview = new Promise((/** @type {(preview: PicturePreview) => void} */ done) => this.#asked.set(picture, done));
    this.#previews.set(picture, preview);
    this.#waiting.push(picture);
    this.#ask();
    return preview;
  }

  #ask() {
    const under = this.#asked.size - this.#waiting.length;
    for (const picture of this.#waiting.splice(0, Math.max(PICTURE_PARALLEL - under, 0))) this.link.ask({ do: "shown", picture });
  }

  /** @param {any} content @param {any[]} buffers */
  #received(content, buffers) {
    const done = this.#asked.get(content.picture);
    if (!done) return;
    this.#asked.delete(content.picture);
    this.#waiting = this.#waiting.filter((picture) => picture !== content.picture);
    // A file may change under its path, and what could not be read may be there later.
    if (content.error || !/^(sha256|film):/.test(content.picture)) this.#previews.delete(content.picture);
    const url = content.thumb && buffers[0] ? URL.createObjectURL(new Blob([buffers[0]], { type: "image/jpeg" })) : "";
    if (url) this.#urls.push(url);
    const { name = "", words = "", receives = "", size = null, error = "", film = false } = content;
    done({ name, words, receives, size, url, error, film });
    this.#ask();
  }

  /** A page of earlier outputs. @param {number} from @returns {Promise<PicturePage>} */
  earlier(from) {
    const page = new Promise((/** @type {(page: PicturePage) => void} */ done) => this.#pages.push({ from, done }));
    this.link.ask({ do: "earlier", from }).then((/** @type {boolean} */ isSent) => isSent || this.#listed({ from, earlier: [], more: false, error: "Not to be had now." }));
    return page;
  }

  /** @param {any} content */
  #listed(content) {
    const wanted = this.#pages.filter((page) => page.from === content.from);
    this.#pages = this.#pages.filter((page) => page.from !== content.from);
    wanted.forEach((page) => page.done(content));
  }

  /** The last frame of a clip, of an earlier run or by its path. @param {string} picture @returns {Promise<string>} */
  still(picture) {
    const id = this.#named();
    const answer = this.#answer(id, () => {});
    this.#send({ do: "still", id, picture });
    return answer;
  }

  /**
   * Upload a picture to the kernel, in parts; resolves to the text that refers to it in a draft.
   * @param {Blob} file
   * @param {string} name
   * @param {{still?: boolean, most?: number, signal?: AbortSignal, onProgress?: (share: number) => void}} [options]
   * @returns {Promise<string>}
   */
  async bring(file, name, { still = false, most = PICTURE_MOST_BYTES, signal, onProgress = () => {} } = {}) {
    if (file.size > most) throw new PictureRefused(`${name} has ${pictureBytes(file.size)}; the limit is ${pictureBytes(most)}. Make it smaller.`);
    if (!file.size) throw new PictureRefused(`${name} is empty.`);
    const id = this.#named();
    const of = Math.ceil(file.size / PICTURE_CHUNK);
    let arrived = 0;
    let more = () => {};
    const answer = this.#answer(id, () => {
      arrived += 1;
      onProgress(arrived / of);
      more();
    });
    const ended = answer.then(() => true, () => true);
    const stopped = new Promise((/** @type {(reason: any) => void} */ _, fail) => signal?.addEventListener("abort", () => fail(new PictureRefused("")), { once: true }));
    stopped.catch(() => this.#give(id));
    onProgress(0);
    for (let part = 0; part < of; part += 1) {
      while (part - arrived >= PICTURE_AHEAD) {
        const room = new Promise((/** @type {(value: void) => void} */ go) => (more = go));
        if ((await Promise.race([room, ended, stopped])) === true) return answer;
      }
      const bytes = await pictureRead(file.slice(part * PICTURE_CHUNK, (part + 1) * PICTURE_CHUNK));
      if (!bytes) this.#give(id);
      if (!bytes) throw new PictureRefused(`${name} cannot be read any more: it was moved or changed, or is a folder.`);
      if (signal?.aborted) throw new PictureRefused("");
      this.#send({ do: "upload", id, name, part, of, ...(still ? { still } : {}) }, [bytes]);
    }
    return Promise.race([answer, /** @type {Promise<never>} */ (stopped)]);
  }

  /** @param {string} id */
  #give(id) {
    if (!this.#uploads.delete(id)) return;
    this.link.ask({ do: "forget", id });
  }

  /** Send a part of an upload; end the upload with an error if the kernel is gone. @param {any} content @param {any[]} [buffers] */
  async #send(content, buffers) {
    if (!(await this.link.ask(content, buffers))) this.#uploads.get(content.id)?.done({ error: "The kernel did not accept it." });
  }

  #named() {
    this.#count += 1;
    return `${this.#key}-${this.#count}`;
  }

  /** @param {string} id @param {(part: number) => void} arrived @returns {Promise<string>} */
  #answer(id, arrived) {
    return new Promise((resolve, reject) => {
      const done = (/** @type {any} */ content) => {
        this.#uploads.delete(id);
        if (content.error) reject(new PictureRefused(content.error, Boolean(content.film)));
        else resolve(content.picture);
      };
      this.#uploads.set(id, { arrived, done });
    });
  }
}

/** @param {Blob} part */
async function pictureRead(part) {
  try {
    return await part.arrayBuffer();
  } catch {
    return null;
  }
}

/** A number of bytes as one says it. @param {number} count */
export function pictureBytes(count) {
  if (count < 1000) return `${count} B`;
  return count < 999_500 ? `${Math.round(count / 1e3)} kB` : `${(count / 1e6).toFixed(1).replace(/\.0$/, "")} MB`;
}

/** What somebody drops or pastes: files, else the lines of a text. @param {DataTransfer | null} data @returns {(File | string)[]} */
export function pictureSources(data) {
  if (!data) return [];
  const files = [...data.files];
  if (files.length) return files;
  const lines = (data.getData("text/uri-list") || data.getData("text/plain")).split(/[\r\n]+/);
  return lines.map(pictureTyped).filter((line) => line && !line.startsWith("#"));
}

/** A text as somebody meant it who copied a path with its quotes. @param {string} text */
export function pictureTyped(text) {
  const typed = text.trim();
  return /^(["']).+\1$/.test(typed) ? typed.slice(1, -1) : typed;
}

/** Whether a text is a picture itself. @param {string} text */
export const pictureIsData = (text) => /^data:[^,]{0,200},/i.test(text);

/** The picture that a text is; the kernel judges what is in it. @param {string} address @returns {Blob} */
export function pictureFromData(address) {
  const comma = address.indexOf(",");
  const [head, body] = [address.slice(0, comma), address.slice(comma + 1)];
  try {
    if (!/;\s*base64\s*$/i.test(head)) return new Blob([decodeURIComponent(body)]);
    const plain = decodeURIComponent(body).replace(/\s/g, "").replace(/-/g, "+").replace(/_/g, "/").replace(/=+$/, "");
    return new Blob([Uint8Array.from(atob(plain), (letter) => letter.charCodeAt(0))]);
  } catch {
    throw new PictureRefused("The data: address is damaged or cut short.");
  }
}

/** The name of a picture until the kernel has sent one. @param {unknown} picture */
export function pictureName(picture) {
  if (typeof picture !== "string" || !picture) return "no picture";
  if (/^(sha256|film|data):/.test(picture)) return "picture";
  return picture.split(/[?#]/)[0].split(/[\\/]/).filter(Boolean).pop() ?? picture;
}
