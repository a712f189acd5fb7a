/** The pictures of a form: what the kernel has to show of them, uploads, and what people drop, paste and type. */

import type { KernelLink } from "./link.ts";

/** What the kernel says of a picture; `url` is that of a small copy. */
export interface Preview {
  name: string;
  words: string;
  receives: string;
  url: string;
  error?: string;
}
/** A picture of an earlier run, or the last frame of a clip. */
export type EarlierOutput = { picture: string; words: string };
/** What is given for a picture: a file, or a text. */
export type Source = File | string;

const PART_BYTES = 4_000_000;

export class Pictures {
  #link: KernelLink;

  constructor(link: KernelLink) {
    this.#link = link;
  }

  async preview(picture: string): Promise<Preview> {
    const answer = await this.#link.request({ do: "shown", picture });
    return { name: nameOf(picture), words: "", receives: "", url: "", ...answer };
  }

  earlier(): Promise<{ earlier?: EarlierOutput[]; error?: string }> {
    return this.#link.request({ do: "earlier" });
  }

  /** The text that stands for it in a draft, once the kernel has it. */
  async take(source: Source): Promise<string> {
    if (source instanceof File) return this.#upload(source);
    if (!source.startsWith("film:")) return source;
    return takenOf(await this.#link.request({ do: "still", picture: source }));
  }

  /** Upload a picture to the kernel, one part after the other. */
  async #upload(file: File): Promise<string> {
    const name = nameOf(file);
    const of = Math.max(1, Math.ceil(file.size / PART_BYTES));
    const upload = `${Date.now().toString(36)}${Math.random().toString(36).slice(2)}`;
    for (let part = 0; ; part += 1) {
      const bytes = await file
        .slice(part * PART_BYTES, (part + 1) * PART_BYTES)
        .arrayBuffer()
        .catch(() => null);
      if (!bytes) throw new Error(`${name} cannot be read any more: it was moved or changed, or is a folder.`);
      const answer = await this.#link.request({ do: "upload", upload, name, part, of }, [bytes]);
      if (answer.error || answer.picture) return takenOf(answer);
    }
  }
}

function takenOf(answer: any): string {
  if (answer.error) throw new Error(answer.error);
  return answer.picture;
}

/** What somebody drops or pastes: files, else the lines of a text. */
export function sourcesOf(data: DataTransfer | null): Source[] {
  if (data?.files.length) return [...data.files];
  const text = data?.getData("text/uri-list") || data?.getData("text/plain") || "";
  const lines = text.split(/[\r\n]+/).map(meantText);
  return lines.filter((line) => line && line[0] !== "#");
}

/** A text as somebody meant it who copied a path with its quotes. */
export function meantText(text: string) {
  const typed = text.trim();
  return /^(["']).+\1$/.test(typed) ? typed.slice(1, -1) : typed;
}

/** The name of what is given, until the kernel has sent one. */
export function nameOf(source: unknown): string {
  if (source instanceof File) return source.name || "pasted picture";
  if (typeof source !== "string" || !source) return "no picture";
  if (/^(sha256|film|data):/.test(source)) return "picture";
  return source.split(/[?#]/)[0].split(/[\\/]/).filter(Boolean).pop() ?? source;
}
