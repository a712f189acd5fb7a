/** Requests to the kernel about pictures: previews, earlier outputs, and uploads. */

import type { FormLink } from "./link.ts";

export type PicturePreview = {
  name: string;
  words: string;
  receives: string;
  size: number[] | null;
  url: string;
  error: string;
  film: boolean;
};
export type PicturePage = {
  earlier: { picture: string; words: string }[];
  from: number;
  more: boolean;
  error?: string;
};

export const PICTURE_MOST_BYTES = 50_000_000;
const PICTURE_CHUNK = 4_000_000;

/** Why a picture could not be taken, in words; of a film, its last frame could be. */
export class PictureRefused extends Error {
  film: boolean;

  constructor(words: string, film: boolean = false) {
    super(words);
    this.film = film;
  }
}

const pictureShelves: WeakMap<FormLink, PictureShelf> = new WeakMap();

/** The shelf of one form, shared by all its pictures; each of them calls `leave` in the end. */
export function pictureShelf(link: FormLink) {
  const shelf = pictureShelves.get(link) ?? new PictureShelf(link);
  pictureShelves.set(link, shelf);
  return shelf.enter();
}

export class PictureShelf {
  link: FormLink;
  #users = 0;
  #count = 0;
  #key = `${Date.now().toString(36)}${Math.random().toString(36).slice(2)}`;
  #offs: (() => void)[] = [];
  /** Previews received or requested. */
  #previews: Map<string, Promise<PicturePreview>> = new Map();
  #asked: Map<string, (preview: PicturePreview) => void> = new Map();
  #urls: string[] = [];
  #uploads: Map<string, { arrived: (part: number) => void; done: (content: any) => void }> = new Map();
  #pages: { from: number; done: (page: PicturePage) => void }[] = [];

  constructor(link: FormLink) {
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
    this.#urls = [];
    this.#pages = [];
  }

  /** The preview of a picture, requested once. */
  preview(picture: string): Promise<PicturePreview> {
    const known = this.#previews.get(picture);
    if (known) return known;
    const preview = new Promise((done: (preview: PicturePreview) => void) => this.#asked.set(picture, done));
    this.#previews.set(picture, preview);
    this.link.ask({ do: "shown", picture });
    return preview;
  }

  #received(content: any, buffers: any[]) {
    const done = this.#asked.get(content.picture);
    if (!done) return;
    this.#asked.delete(content.picture);
    // A file may change under its path, and what could not be read may be there later.
    if (content.error || !/^(sha256|film):/.test(content.picture)) this.#previews.delete(content.picture);
    const url = content.thumb && buffers[0] ? URL.createObjectURL(new Blob([buffers[0]], { type: "image/jpeg" })) : "";
    if (url) this.#urls.push(url);
    const { name = "", words = "", receives = "", size = null, error = "", film = false } = content;
    done({ name, words, receives, size, url, error, film });
  }

  /** A page of earlier outputs. */
  earlier(from: number): Promise<PicturePage> {
    const page = new Promise((done: (page: PicturePage) => void) => this.#pages.push({ from, done }));
    this.link
      .ask({ do: "earlier", from })
      .then(
        (isSent: boolean) => isSent || this.#listed({ from, earlier: [], more: false, error: "Not available now." }),
      );
    return page;
  }

  #listed(content: any) {
    const wanted = this.#pages.filter((page) => page.from === content.from);
    this.#pages = this.#pages.filter((page) => page.from !== content.from);
    wanted.forEach((page) => page.done(content));
  }

  /** The last frame of a clip, of an earlier run or by its path. */
  still(picture: string): Promise<string> {
    const id = this.#named();
    const answer = this.#answer(id, () => {});
    this.#send({ do: "still", id, picture });
    return answer;
  }

  /** Upload a picture to the kernel, in parts; resolves to the text that refers to it in a draft. */
  async bring(
    file: Blob,
    name: string,
    {
      still = false,
      most = PICTURE_MOST_BYTES,
      signal,
      onProgress = () => {},
    }: { still?: boolean; most?: number; signal?: AbortSignal; onProgress?: (share: number) => void } = {},
  ): Promise<string> {
    if (file.size > most)
      throw new PictureRefused(
        `${name} has ${pictureBytes(file.size)}; the limit is ${pictureBytes(most)}. Make it smaller.`,
      );
    if (!file.size) throw new PictureRefused(`${name} is empty.`);
    const id = this.#named();
    const of = Math.ceil(file.size / PICTURE_CHUNK);
    let arrived = 0;
    const answer = this.#answer(id, () => onProgress(++arrived / of));
    answer.catch(() => {}); // It may come while parts are still read.
    const stopped = new Promise((_: (reason: any) => void, fail) =>
      signal?.addEventListener("abort", () => fail(new PictureRefused("")), { once: true }),
    );
    stopped.catch(() => this.#uploads.delete(id));
    onProgress(0);
    for (let part = 0; part < of; part += 1) {
      const bytes = await pictureRead(file.slice(part * PICTURE_CHUNK, (part + 1) * PICTURE_CHUNK));
      if (!bytes) this.#uploads.delete(id);
      if (!bytes) throw new PictureRefused(`${name} cannot be read any more: it was moved or changed, or is a folder.`);
      if (signal?.aborted) throw new PictureRefused("");
      this.#send({ do: "upload", id, name, part, of, ...(still ? { still } : {}) }, [bytes]);
    }
    return Promise.race([answer, stopped as Promise<never>]);
  }

  /** Send a part of an upload; end the upload with an error if the kernel is gone. */
  async #send(content: any, buffers?: any[]) {
    if (!(await this.link.ask(content, buffers)))
      this.#uploads.get(content.id)?.done({ error: "The kernel did not accept it." });
  }

  #named() {
    this.#count += 1;
    return `${this.#key}-${this.#count}`;
  }

  #answer(id: string, arrived: (part: number) => void): Promise<string> {
    return new Promise((resolve, reject) => {
      const done = (content: any) => {
        this.#uploads.delete(id);
        if (content.error) reject(new PictureRefused(content.error, Boolean(content.film)));
        else resolve(content.picture);
      };
      this.#uploads.set(id, { arrived, done });
    });
  }
}

async function pictureRead(part: Blob) {
  try {
    return await part.arrayBuffer();
  } catch {
    return null;
  }
}

/** A number of bytes as one says it. */
export function pictureBytes(count: number) {
  if (count < 1000) return `${count} B`;
  return count < 999_500 ? `${Math.round(count / 1e3)} kB` : `${(count / 1e6).toFixed(1).replace(/\.0$/, "")} MB`;
}

/** What somebody drops or pastes: files, else the lines of a text. */
export function pictureSources(data: DataTransfer | null): (File | string)[] {
  if (!data) return [];
  const files = [...data.files];
  if (files.length) return files;
  const lines = (data.getData("text/uri-list") || data.getData("text/plain")).split(/[\r\n]+/);
  return lines.map(pictureTyped).filter((line) => line && !line.startsWith("#"));
}

/** A text as somebody meant it who copied a path with its quotes. */
export function pictureTyped(text: string) {
  const typed = text.trim();
  return /^(["']).+\1$/.test(typed) ? typed.slice(1, -1) : typed;
}

/** Whether a text is a picture itself. */
export const pictureIsData = (text: string) => /^data:[^,]{0,200},/i.test(text);

/** The picture that a text is; the kernel judges what is in it. */
export function pictureFromData(address: string): Blob {
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

/** The name of a picture until the kernel has sent one. */
export function pictureName(picture: unknown) {
  if (typeof picture !== "string" || !picture) return "no picture";
  if (/^(sha256|film|data):/.test(picture)) return "picture";
  return picture.split(/[?#]/)[0].split(/[\\/]/).filter(Boolean).pop() ?? picture;
}
