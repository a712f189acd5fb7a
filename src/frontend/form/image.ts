/** A picture: dropped, pasted, chosen, typed as an address or a path, or taken from an earlier output. */

import { made } from "../page/element.ts";
import { CONTROLS, type Control, type Place } from "./fields.ts";
import { pictureEarlier } from "./image_earlier.ts";
import type { PicturePreview, PictureShelf } from "./image_shelf.ts";
import {
  PictureRefused,
  pictureFromData,
  pictureIsData,
  pictureName,
  pictureShelf,
  pictureSources,
  pictureTyped,
} from "./image_shelf.ts";
import { pictureThumb } from "./image_thumb.ts";

// Milliseconds after the last letter of a path before the file is requested.
const PICTURE_PAUSE = 600;
// Milliseconds without an answer, after which that is said.
const PICTURE_LATE = 2000;
// Letters that a text box shows of a value.
const PICTURE_LONGEST = 2000;
// The longest address that is sent to the kernel for a preview, and the shortest data URL that is taken for a picture.
const PICTURE_MOST_LETTERS = 2_000_000;
const PICTURE_LEAST_DATA = 100;
const PICTURE_KINDS = "image/png, image/jpeg, image/webp, image/gif, image/bmp, image/tiff, image/avif";

/** One picture field. */
class ImageField {
  place: Place;
  shelf: PictureShelf;
  parts: {
    el: HTMLElement;
    thumb: { el: HTMLElement; image: HTMLImageElement; clear: () => void; show(preview: PicturePreview): void };
    words: HTMLElement;
    receives: HTMLElement;
    file: HTMLInputElement;
    choose: HTMLElement;
    clear: HTMLButtonElement;
    actions: HTMLElement;
    busy: { el: HTMLElement; stop: HTMLElement; show(words: string, share?: number): void };
    typed: HTMLInputElement;
    problem: HTMLElement;
    still: HTMLButtonElement;
    live: HTMLElement;
  };
  earlier: { el: HTMLElement; button: HTMLButtonElement; close: () => void };
  off: () => void;
  #value: any;
  /** The picture whose preview is displayed or requested. */
  #picture: string | undefined;
  /** The upload in progress. */
  #coming: AbortController | null = null;
  /** What a button can take the last frame of. */
  #film: File | string | null = null;
  #timer = 0;

  constructor(place: Place) {
    this.place = place;
    this.shelf = pictureShelf(place.link);
    this.parts = imageParts(place);
    this.earlier = pictureEarlier(this.shelf, (picture, words) => this.#take(picture, words));
    const { el, actions, clear, file, typed, still, busy } = this.parts;
    actions.insertBefore(this.earlier.button, clear);
    el.append(this.earlier.el);
    typed.addEventListener("input", () => this.#typed());
    typed.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
    clear.addEventListener("click", () => this.#clear());
    busy.stop.addEventListener("click", () => {
      this.#giveUp();
      file.focus();
    });
    still.addEventListener("click", () => this.#takeLastFrame());
    file.addEventListener("change", () => {
      this.#given([...(file.files ?? [])]);
      file.value = "";
    });
    this.off = imageCatches(el, (sources) => this.#given(sources));
  }

  show(next: any) {
    const isNew = next !== this.#value;
    const { typed, clear, choose } = this.parts;
    const text = imageText(next);
    this.#value = next;
    if (pictureTyped(typed.value) !== text) typed.value = text;
    clear.hidden = next === undefined || next === null || next === "";
    choose.textContent = clear.hidden ? "Choose a file" : "Replace";
    if (isNew || this.#picture === undefined) this.#loadPreview();
  }

  dispose() {
    this.off();
    clearTimeout(this.#timer);
    this.#coming?.abort();
    this.shelf.leave();
  }

  #set(next: any) {
    if (next !== this.#value) this.place.change(next);
    this.show(next);
  }

  #loadPreview() {
    const { thumb, words, receives, typed, live } = this.parts;
    clearTimeout(this.#timer);
    this.#complain("");
    const named = this.#value === undefined ? this.place.node.default : this.#value;
    const picture = (this.#picture = typeof named === "string" ? named : "");
    words.title = receives.textContent = live.textContent = "";
    if (!picture || picture.length > PICTURE_MOST_LETTERS) {
      thumb.clear();
      words.textContent = picture ? "A long address" : "Drop or paste a picture here";
      receives.textContent = picture ? "" : "PNG, JPEG, WebP or GIF";
      return;
    }
    words.textContent = picture.startsWith("sha256:") ? "Picture" : picture.slice(0, 200);
    const isTyping = typed.matches(":focus") && picture === pictureTyped(typed.value);
    this.#timer = window.setTimeout(() => this.#ask(picture), isTyping ? PICTURE_PAUSE : 0);
  }

  async #ask(picture: string) {
    const found = await this.shelf.preview(picture);
    if (this.#picture !== picture) return;
    const { thumb, words, receives } = this.parts;
    thumb.show(found);
    words.textContent = found.words || found.name;
    words.title = found.words;
    receives.textContent = found.error ? "" : found.receives;
    if (found.error) this.#complain(found.error, found.film ? picture : null);
  }

  #complain(words: string, film: File | string | null = null) {
    const { problem, still, file } = this.parts;
    problem.textContent = words;
    problem.hidden = !words;
    this.#film = film;
    // The button that was pressed is about to go.
    if (film === null && still.matches(":focus")) file.focus();
    still.hidden = film === null;
  }

  /** What was dropped, pasted or chosen. */
  #given(sources: (File | string)[]) {
    const [first] = sources;
    if (first === undefined) return;
    if (typeof first !== "string") this.#bring(first);
    else if (pictureIsData(first)) this.#bringData(first);
    else {
      this.#giveUp();
      this.#set(first);
    }
    if (sources.length > 1) this.parts.live.textContent = `Only the first of ${sources.length} pictures is used.`;
  }

  #typed() {
    const { typed } = this.parts;
    const text = pictureTyped(typed.value);
    if (pictureIsData(text) && text.length > PICTURE_LEAST_DATA) {
      typed.value = imageText(this.#value);
      return this.#bringData(text);
    }
    this.#giveUp();
    // An empty box takes nothing away that came from elsewhere.
    if (text || imageText(this.#value)) this.#set(text || undefined);
  }

  #clear() {
    this.#giveUp();
    this.parts.typed.value = "";
    this.#set(undefined);
    this.parts.typed.focus();
  }

  /** Choose an earlier output. */
  #take(picture: string, words: string) {
    this.earlier.close();
    if (picture.startsWith("film:")) this.#upload(words, () => this.shelf.still(picture), null);
    else this.#set(picture);
  }

  #takeLastFrame() {
    const film = this.#film;
    if (film === null) return;
    if (typeof film !== "string") this.#bring(film, true);
    else this.#upload(pictureName(film), () => this.shelf.still(film), null);
  }

  #bringData(address: string) {
    try {
      this.#bring(new File([pictureFromData(address)], "pasted picture"));
    } catch (error) {
      this.#complain((error as Error).message);
    }
  }

  /** @param still Its last frame is wanted. */
  #bring(file: File, still: boolean = false) {
    const name = file.name || "pasted picture";
    const most = this.place.node.beside?.most_bytes;
    this.#upload(name, (signal, onProgress) => this.shelf.bring(file, name, { still, most, signal, onProgress }), file);
  }

  /** Send something to the kernel; the previous value stays until it has arrived. */
  async #upload(
    name: string,
    taken: (signal: AbortSignal, onProgress: (share: number) => void) => Promise<string>,
    source: File | null,
  ) {
    this.#coming?.abort();
    const mine = (this.#coming = new AbortController());
    const busy = (words: string, share = 0) => this.#coming === mine && this.parts.busy.show(words, share);
    this.#complain("");
    busy(`Uploading ${name}`);
    const late = window.setTimeout(
      () => busy(`Uploading ${name}: the kernel is busy, it goes on when it is free`),
      PICTURE_LATE,
    );
    try {
      const picture = await taken(mine.signal, (share) => {
        if (!share) return;
        clearTimeout(late);
        busy(`Uploading ${name}: ${Math.round(100 * share)} %`, share);
      });
      if (this.#coming !== mine) return;
      this.#set(picture);
      this.parts.live.textContent = `${name} is in place.`;
    } catch (error) {
      if (this.#coming !== mine || mine.signal.aborted) return;
      const words =
        error instanceof PictureRefused ? error.message : "The kernel did not accept it. Is it still running?";
      this.#complain(
        this.#value ? `${words} The earlier picture stays.` : words,
        error instanceof PictureRefused && error.film ? source : null,
      );
    } finally {
      clearTimeout(late);
      if (this.#coming === mine) this.#giveUp();
    }
  }

  #giveUp() {
    this.#coming?.abort();
    this.#coming = null;
    this.parts.busy.show("");
  }
}

function makeImage(place: Place): Control {
  const field = new ImageField(place);
  field.show(undefined);
  return { el: field.parts.el, show: (value) => field.show(value), dispose: () => field.dispose(), group: true };
}

/** What the text box shows of a value: what one could have typed there. */
function imageText(value: any) {
  if (value === undefined || value === null) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return /^(sha256|data):/.test(text) || text.length > PICTURE_LONGEST ? "" : text;
}

/** Lets an element take what is dropped on it, and pasted while it has the focus; gives the end of it. */
export function imageCatches(
  el: HTMLElement,
  given: (sources: (File | string)[], at: DragEvent | ClipboardEvent) => void,
) {
  let inside = 0;
  const over = (is: boolean) => el.classList.toggle("rbf-over", is);
  const takes = (event: DragEvent) =>
    [...(event.dataTransfer?.types ?? [])].some((type) => ["Files", "text/uri-list", "text/plain"].includes(type));
  el.addEventListener("dragenter", (event) => {
    if (!takes(event)) return;
    event.preventDefault();
    inside += 1;
    over(true);
  });
  el.addEventListener("dragleave", () => {
    inside = Math.max(inside - 1, 0);
    if (!inside) over(false);
  });
  el.addEventListener("dragover", (event) => {
    if (!takes(event)) return;
    // The page around it would open the file, or put it into a cell.
    event.preventDefault();
    event.stopPropagation();
    if (event.dataTransfer) event.dataTransfer.dropEffect = "copy";
  });
  el.addEventListener("drop", (event) => {
    inside = 0;
    over(false);
    if (!takes(event)) return;
    event.preventDefault();
    event.stopPropagation();
    given(pictureSources(event.dataTransfer), event);
  });
  // On the document: outside of editable elements, browsers dispatch `paste` there.
  const pasted = (event: ClipboardEvent) => {
    const root = el.getRootNode() as Document | ShadowRoot;
    const focused = root.activeElement;
    if (!focused || !el.contains(focused)) return;
    const sources = pictureSources(event.clipboardData);
    const isTyping = focused instanceof HTMLInputElement || focused instanceof HTMLTextAreaElement;
    // Words go into the box where the caret is; pictures come here, wherever it is.
    if (
      !sources.length ||
      (isTyping && sources.every((source) => typeof source === "string" && !pictureIsData(source)))
    )
      return;
    event.preventDefault();
    event.stopPropagation();
    given(sources, event);
  };
  document.addEventListener("paste", pasted, true);
  return () => document.removeEventListener("paste", pasted, true);
}

/** How far something is on its way, and a button that stops it. */
export function imageBusy(label: string) {
  const progress = made("progress", { max: "1", value: "0", "aria-label": label });
  const said = made("span", { class: "rbf-caption" });
  const stop = made("button", { type: "button", class: "rbf-quiet", text: "Cancel" });
  const el = made("div", { class: "rbf-row rbf-image-busy", hidden: true }, progress, said, stop);
  return {
    el,
    stop,
    show(words: string, share = 0) {
      el.hidden = !words;
      said.textContent = words;
      progress.value = share;
    },
  };
}

function imageParts(place: Place) {
  const button = (text: string) => made("button", { type: "button", class: "rbf-quiet", text });
  const thumb = pictureThumb("rbf-image-thumb");
  const words = made("p", { class: "rbf-image-words" });
  const receives = made("p", { class: "rbf-caption" });
  const file = made("input", { type: "file", accept: PICTURE_KINDS, class: "rbf-file" });
  const choose = made("span", { text: "Choose a file" });
  const clear = button("Clear");
  const actions = made(
    "div",
    { class: "rbf-row rbf-image-actions" },
    made("label", { class: "rbf-choose" }, file, choose),
    clear,
  );
  const busy = imageBusy("Upload");
  const typed = made("input", {
    type: "text",
    id: place.id,
    class: "rbf-image-typed",
    placeholder: "or an address or a path",
    "aria-label": "URL or path",
    autocomplete: "off",
    spellcheck: "false",
  });
  const problem = made("p", { class: "rbf-problem", role: "status" });
  const still = button("Use its last frame");
  const live = made("span", { class: "rb-hidden", role: "status" });
  problem.hidden = still.hidden = true;
  const side = made("div", { class: "rbf-image-side" }, words, receives, actions, busy.el);
  const well = made("div", { class: "rbf-image-well", tabindex: "-1" }, thumb.el, side);
  const el = made(
    "div",
    { class: "rbf-image", role: "group", "aria-labelledby": place.labelledBy },
    well,
    typed,
    problem,
    still,
    live,
  );
  return { el, thumb, words, receives, file, choose, clear, actions, busy, typed, problem, still, live };
}

CONTROLS.image = makeImage;
