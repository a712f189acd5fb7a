/** A picture: dropped, pasted, chosen, typed as an address or a path, or taken from an earlier output. */

import type { ComponentChildren, Ref } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { CONTROLS, type FieldProps, inputFacts, useSpelling } from "./fields.tsx";
import type { FormLink } from "./link.ts";
import { type EarlierPage, isData, meantText, nameOf, type Preview, type Source, sourcesOf } from "./pictures.ts";
import { classes, Quiet, Sign, useShelf, whenSeen } from "./ui.tsx";
import { textOf } from "./values.ts";

// Milliseconds after the last letter of a path before the file is requested, and without an answer before that is said.
const PREVIEW_PAUSE = 600;
const BUSY_AFTER = 1900;
const KINDS = "image/png, image/jpeg, image/webp, image/gif, image/bmp, image/tiff, image/avif";

/** A box for one picture, which is there before it, so that nothing jumps. */
export function Thumb({ preview, class: kind }: { preview?: Preview | null; class: string }) {
  const sign = preview?.error ? "wrong" : preview ? "away" : "none";
  return (
    <span class={classes("rbf-thumb", kind, preview?.error && "rbf-thumb-wrong")}>
      {preview?.url ? <img src={preview.url} alt="" draggable={false} /> : <Sign sign={sign} class="rbf-sign" />}
    </span>
  );
}

/** How far something is on its way, and a button that stops it. */
export function Busy({ label, words, share, stop }: { label: string; words: string; share: number; stop: () => void }) {
  return (
    <div class="rbf-row rbf-image-busy" hidden={!words}>
      <progress max={1} value={share} aria-label={label} />
      <span class="rbf-caption">{words}</span>
      <Quiet act={stop}>Cancel</Quiet>
    </div>
  );
}

/** Brings pictures to the kernel, one after the other. */
export function useBringing({ pictures }: FormLink) {
  const [busy, setBusy] = useState({ words: "", share: 0 });
  const [refused, refuse] = useState<string[]>([]);
  const coming = useRef({ ends: new AbortController(), done: Promise.resolve() });
  useEffect(() => () => coming.current.ends.abort(), []);
  const stop = () => {
    coming.current.ends.abort();
    coming.current = { ends: new AbortController(), done: Promise.resolve() };
    setBusy({ words: "", share: 0 });
  };
  /** @param taken Hears what stands for each in the draft. */
  const bring = (sources: Source[], taken: (picture: string) => void, title?: string) => {
    const { signal } = coming.current.ends;
    const bringAll = async () => {
      const lost: string[] = [];
      for (const [number, source] of sources.entries()) {
        if (signal.aborted) return;
        const which = sources.length > 1 ? ` ${number + 1} of ${sources.length}:` : "";
        const words = `Adding${which} ${title ?? nameOf(source)}`;
        const show = (share: number, more = "") =>
          signal.aborted || setBusy({ words: words + more, share: (number + share) / sources.length });
        show(0);
        const late = setTimeout(() => show(0, ": the kernel is busy, it goes on when it is free"), BUSY_AFTER);
        const onProgress = (share: number) => {
          clearTimeout(late);
          show(share);
        };
        try {
          const picture = await pictures.take(source, { signal, onProgress });
          if (!signal.aborted) taken(picture);
        } catch (error) {
          lost.push((error as Error).message);
        } finally {
          clearTimeout(late);
        }
      }
      if (signal.aborted) return;
      refuse(lost);
      setBusy({ words: "", share: 0 });
    };
    coming.current.done = coming.current.done.then(bringAll);
    return coming.current.done;
  };
  return { busy, refused, refuse, bring, stop };
}

interface ChooseFilesProps {
  words: string;
  accept: string;
  isMultiple?: boolean;
  inputRef: Ref<HTMLInputElement>;
  given: (files: File[]) => void;
}

/** The browser's own file input, so that keyboards and screen readers know it; only its label is seen. */
export function ChooseFiles({ words, accept, isMultiple = false, inputRef, given }: ChooseFilesProps) {
  return (
    <label class="rbf-choose">
      <input
        type="file"
        class="rbf-file"
        accept={accept}
        multiple={isMultiple}
        ref={inputRef}
        onChange={({ currentTarget }) => {
          given([...(currentTarget.files ?? [])]);
          currentTarget.value = "";
        }}
      />
      <span>{words}</span>
    </label>
  );
}

type CatcherProps = {
  id: string;
  class: string;
  given: (sources: Source[], at: DragEvent | ClipboardEvent) => void;
  children: ComponentChildren;
};

/** The box of a field, which takes what is dropped on it, and pasted while it has the focus. */
export function Catcher({ id, class: name, given, children }: CatcherProps) {
  const box = useRef<HTMLDivElement>(null);
  const [isOver, over] = useState(false);
  const latest = useRef(given);
  latest.current = given;
  useEffect(() => {
    const pasted = (event: ClipboardEvent) => {
      const el = box.current;
      const focused = (el?.getRootNode() as Document | ShadowRoot | undefined)?.activeElement;
      if (!focused || !el?.contains(focused)) return;
      const sources = sourcesOf(event.clipboardData);
      const isTyping = focused.matches("input, textarea");
      // Words go into the box where the caret is; pictures come here, wherever it is.
      if (!sources.length || (isTyping && sources.every((one) => typeof one === "string" && !isData(one)))) return;
      event.preventDefault();
      event.stopPropagation();
      latest.current(sources, event);
    };
    // On the document: outside of editable elements, browsers dispatch `paste` there.
    document.addEventListener("paste", pasted, true);
    return () => document.removeEventListener("paste", pasted, true);
  }, []);
  const dragged = (event: DragEvent) => {
    const types = event.dataTransfer?.types ?? [];
    if (!["Files", "text/uri-list", "text/plain"].some((type) => types.includes(type))) return;
    // The page around it would open the file, or put it into a cell.
    event.preventDefault();
    event.stopPropagation();
    if (event.dataTransfer) event.dataTransfer.dropEffect = "copy";
    over(event.type !== "drop");
    if (event.type === "drop") given(sourcesOf(event.dataTransfer), event);
  };
  const onDragLeave = (event: DragEvent) => box.current?.contains(event.relatedTarget as Element | null) || over(false);
  return (
    <div
      class={classes(name, isOver && "rbf-over")}
      role="group"
      aria-labelledby={`${id}-label`}
      ref={box}
      onDragEnter={dragged}
      onDragOver={dragged}
      onDrop={dragged}
      onDragLeave={onDragLeave}
    >
      {children}
    </div>
  );
}

/** A button, and the earlier outputs to choose from that it opens: pictures, and clips by their last frame. */
export function useEarlier(link: FormLink, id: string, choose: (picture: string, words: string) => void) {
  const [page, set] = useState<EarlierPage | null>(null);
  const open = async (before: EarlierPage["earlier"]) => {
    const found = await link.pictures.earlier(before.length);
    set({ ...found, earlier: [...before, ...found.earlier] });
  };
  const shelf = useShelf("Earlier output", `${id}-earlier`, () => open([]));
  const words = page?.earlier.length ? "The newest first." : "No earlier outputs yet.";
  const el = (
    <div {...shelf.facts} class="rbf-earlier">
      <ul class="rbf-earlier-list">
        {page?.earlier.map((entry) => (
          <Earlier key={entry.picture} link={link} {...entry} choose={choose} />
        ))}
      </ul>
      <div class="rbf-row">
        <Quiet hidden={!page?.more} act={() => open(page?.earlier ?? [])}>
          More
        </Quiet>
        <p class="rbf-caption" role="status">
          {page ? page.error || words : "Looking"}
        </p>
      </div>
    </div>
  );
  return { el, button: shelf.button, close: () => shelf.turn(false) };
}

interface EarlierProps {
  link: FormLink;
  picture: string;
  words: string;
  choose: (picture: string, words: string) => void;
}

function Earlier({ link, picture, words, choose }: EarlierProps) {
  const button = useRef<HTMLButtonElement>(null);
  const [preview, setPreview] = useState<Preview | null>(null);
  useEffect(
    () => whenSeen(button.current as Element, async () => setPreview(await link.pictures.preview(picture))),
    [],
  );
  return (
    <li>
      <button
        type="button"
        class="rbf-earlier-one"
        title={preview?.error ? `${words}: ${preview.error}` : words}
        aria-label={words}
        ref={button}
        onClick={() => choose(picture, words)}
      >
        {preview?.url && <img alt="" src={preview.url} />}
      </button>
    </li>
  );
}

/** What the text box shows of a value: what one could have typed there. */
function shownText(value: unknown) {
  return /^(sha256|data):/.test(String(value ?? "")) ? "" : textOf(value ?? "");
}

function ImageField(field: FieldProps) {
  const { node, value, change, link, id } = field;
  const { pictures } = link;
  const file = useRef<HTMLInputElement>(null);
  const typing = useRef<HTMLInputElement>(null);
  const { busy, refused, refuse, bring, stop } = useBringing(link);
  const [live, say] = useState("");
  const [preview, setPreview] = useState<Preview | null>(null);
  const [spelt, spell] = useSpelling(shownText(value), shownText, meantText);
  const named = value === undefined ? node.default : value;
  const picture = typeof named === "string" ? named : "";
  const isSet = (value ?? "") !== "";

  useEffect(() => {
    let isCurrent = true;
    refuse([]);
    setPreview(null);
    const isTyping = typing.current?.matches(":focus") && spelt;
    const show = async () => {
      const found = await pictures.preview(picture);
      if (isCurrent) setPreview(found);
    };
    const timer = picture ? setTimeout(show, isTyping ? PREVIEW_PAUSE : 0) : 0;
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [picture]);

  /** Put this here; the previous value stays until the kernel has it. */
  const put = (source: Source, name = nameOf(source)) => {
    stop();
    refuse([]);
    say("");
    const taken = (found: string) => {
      change(found);
      say(`${name} is in place.`);
    };
    bring([source], taken, name);
  };
  const given = (sources: Source[]) => {
    if (sources.length) put(sources[0]);
    if (sources.length > 1) say(`Only the first of ${sources.length} pictures is used.`);
  };
  const earlier = useEarlier(link, id, (chosen, words) => {
    earlier.close();
    put(chosen, words);
  });
  const typed = (text: string) => {
    const meant = meantText(text);
    if (isData(meant)) {
      spell(null);
      return put(meant);
    }
    stop();
    spell(text);
    // An empty box takes nothing away that came from another place.
    if (meant || shownText(value)) change(meant || undefined);
  };
  const problem = refused[0] ?? preview?.error;
  const untold = picture ? shownText(picture) || "Picture" : "Drop or paste a picture here";
  return (
    <Catcher id={id} class="rbf-image" given={given}>
      <div class="rbf-image-well" tabIndex={-1}>
        <Thumb preview={picture ? preview : null} class="rbf-image-thumb" />
        <div class="rbf-image-side">
          <p class="rbf-image-words" title={preview?.words}>
            {(picture && (preview?.words || preview?.name)) || untold}
          </p>
          <p class="rbf-caption">{picture ? !preview?.error && preview?.receives : "PNG, JPEG, WebP or GIF"}</p>
          <div class="rbf-row rbf-image-actions">
            <ChooseFiles words={isSet ? "Replace" : "Choose a file"} accept={KINDS} inputRef={file} given={given} />
            {earlier.button}
            <Quiet
              hidden={!isSet}
              act={() => {
                stop();
                spell(null);
                change(undefined);
                typing.current?.focus();
              }}
            >
              Clear
            </Quiet>
          </div>
          <Busy
            label="Upload"
            {...busy}
            stop={() => {
              stop();
              file.current?.focus();
            }}
          />
        </div>
      </div>
      <input
        type="text"
        {...inputFacts(field)}
        class="rbf-image-typed"
        placeholder="or an address or a path"
        aria-label="URL or path"
        aria-labelledby={undefined}
        value={spelt}
        ref={typing}
        onInput={(event) => typed(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Enter" && event.preventDefault()}
      />
      <p class="rbf-problem" role="status" hidden={!problem}>
        {problem} {refused.length > 0 && isSet && "The earlier picture stays."}
      </p>
      <span class="rb-hidden" role="status">
        {live}
      </span>
      {earlier.el}
    </Catcher>
  );
}

CONTROLS.image = { Input: ImageField, isGroup: true, isWide: true };
