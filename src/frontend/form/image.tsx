/** A picture: dropped, pasted, chosen, typed as an address or a path, or taken from an earlier output. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { CONTROLS, type FieldProps, inputFacts, useSpelling } from "./fields.tsx";
import type { FormLink } from "./link.ts";
import { type EarlierOutput, meantText, nameOf, type Preview, type Source, sourcesOf } from "./pictures.ts";
import { classes, Quiet, useShelf, whenSeen } from "./ui.tsx";
import { textOf } from "./values.ts";

const PREVIEW_PAUSE = 300; // Milliseconds after the last letter of a path before the file is requested.

/** A box for one picture, which is there before it, so that nothing jumps. */
export function Thumb({ preview, class: kind }: { preview?: Preview | null; class: string }) {
  return (
    <span class={classes("rbf-thumb", kind)} aria-hidden="true">
      {preview?.url ? <img src={preview.url} alt="" draggable={false} /> : preview?.error && "✕"}
    </span>
  );
}

/** Brings pictures to the kernel, one after the other; `taken` hears what stands for each in the draft. */
export function useComing(link: FormLink, taken: (picture: string) => void) {
  const [words, say] = useState("");
  const [refused, refuse] = useState<string[]>([]);
  const coming = useRef({ done: Promise.resolve() });
  /** Forget what is on its way. */
  const stop = () => {
    coming.current = { done: Promise.resolve() };
    say("");
    refuse([]);
  };
  const add = (sources: Source[]) => {
    const mine = coming.current;
    const addAll = async () => {
      const lost: string[] = [];
      for (const [number, source] of sources.entries()) {
        const name = nameOf(source);
        const which = sources.length > 1 ? ` ${number + 1} of ${sources.length}:` : "";
        if (mine === coming.current) say(`Adding${which} ${name}`);
        try {
          const picture = await link.pictures.take(source);
          if (mine !== coming.current) return;
          taken(picture);
          link.say(`${name} is in place.`);
        } catch (error) {
          lost.push((error as Error).message);
        }
      }
      if (mine !== coming.current) return;
      refuse(lost);
      say("");
    };
    mine.done = mine.done.then(addAll);
    return mine.done;
  };
  return { words, refused, refuse, add, stop };
}

interface WellProps {
  field: FieldProps;
  class: string;
  isMany?: boolean;
  given: (sources: Source[]) => void;
  /** How far pictures are on their way. */
  words: string;
  problems: (string | undefined)[];
  chooses: string;
  /** What stands above, beside and below the buttons. */
  children: ComponentChildren;
  tools?: ComponentChildren;
  typing?: ComponentChildren;
}

/** Where pictures are given: it takes what is dropped on it, pasted while it has the focus, chosen, or made earlier. */
export function Well(props: WellProps) {
  const { field, class: kind, isMany = false, given, words, problems, chooses, children, tools, typing } = props;
  const { id, link } = field;
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
      const isTyping = focused.matches("input:not([type=file]), textarea");
      // Words go into the box where the caret is; pictures come here, wherever it is.
      if (!sources.length || (isTyping && sources.every((one) => typeof one === "string"))) return;
      event.preventDefault();
      event.stopPropagation();
      latest.current(sources);
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
    if (event.type === "drop") given(sourcesOf(event.dataTransfer));
  };
  const [earlier, setEarlier] = useState<{ earlier?: EarlierOutput[]; error?: string } | null>(null);
  const shelf = useShelf("Earlier output", `${id}-earlier`, async () => setEarlier(await link.pictures.earlier()));
  const found = earlier?.earlier?.length ? "The newest first; of a clip, its last frame." : "No earlier outputs yet.";
  return (
    <div
      class={classes(kind, isOver && "rbf-over")}
      role="group"
      aria-labelledby={`${id}-label`}
      ref={box}
      onDragEnter={dragged}
      onDragOver={dragged}
      onDrop={dragged}
      onDragLeave={(event) => box.current?.contains(event.relatedTarget as Element | null) || over(false)}
    >
      <div class="rbf-well" tabIndex={-1}>
        {children}
        <div class="rbf-row">
          {/* The browser's own file input, so that keyboards and screen readers know it; only its label is seen. */}
          <label class="rbf-choose">
            <input
              type="file"
              class="rbf-file"
              accept="image/*"
              multiple={isMany}
              onChange={({ currentTarget }) => {
                given([...(currentTarget.files ?? [])]);
                currentTarget.value = "";
              }}
            />
            <span>{chooses}</span>
          </label>
          {shelf.button}
          {tools}
        </div>
        <p class="rbf-caption" role="status" hidden={!words}>
          {words}
        </p>
      </div>
      {typing}
      <p class="rbf-problem rbf-well-problems" role="status" hidden={!problems.some(Boolean)}>
        {problems.filter(Boolean).map((problem) => (
          <span key={problem}>{problem}</span>
        ))}
      </p>
      <div {...shelf.facts} class="rbf-earlier">
        <ul class="rbf-earlier-list">
          {earlier?.earlier?.map((entry) => (
            <Earlier
              key={entry.picture}
              link={link}
              {...entry}
              choose={() => {
                if (!isMany) shelf.turn(false);
                given([entry.picture]);
              }}
            />
          ))}
        </ul>
        <p class="rbf-caption" role="status">
          {earlier ? (earlier.error ?? found) : "Looking"}
        </p>
      </div>
    </div>
  );
}

function Earlier({ link, picture, words, choose }: EarlierOutput & { link: FormLink; choose: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  const [preview, setPreview] = useState<Preview | null>(null);
  useEffect(
    () => whenSeen(button.current as Element, async () => setPreview(await link.pictures.preview(picture))),
    [],
  );
  return (
    <li>
      <button type="button" class="rbf-earlier-one" title={words} aria-label={words} ref={button} onClick={choose}>
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
  const { node, value, change, link } = field;
  const typing = useRef<HTMLInputElement>(null);
  const { words, refused, add, stop } = useComing(link, change);
  const [preview, setPreview] = useState<Preview | null>(null);
  const [spelt, spell] = useSpelling(shownText(value), shownText, meantText);
  const named = value === undefined ? node.default : value;
  const picture = typeof named === "string" ? named : "";
  const isSet = (value ?? "") !== "";

  useEffect(() => {
    let isCurrent = true;
    setPreview(null);
    const show = async () => {
      const found = await link.pictures.preview(picture);
      if (isCurrent) setPreview(found);
    };
    const timer = picture ? setTimeout(show, spelt ? PREVIEW_PAUSE : 0) : 0;
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [picture]);

  /** The previous value stays until the kernel has the new one. */
  const given = ([source]: Source[]) => {
    stop();
    if (source) add([source]);
  };
  const typed = (text: string) => {
    const meant = meantText(text);
    stop();
    spell(text);
    // An empty box takes nothing away that came from another place.
    if (meant || shownText(value)) change(meant || undefined);
  };
  const clear = () => {
    stop();
    spell(null);
    change(undefined);
    typing.current?.focus();
  };
  const stays = isSet ? " The earlier picture stays." : "";
  const untold = picture ? shownText(picture) || "Picture" : "Drop or paste a picture here";
  return (
    <Well
      field={field}
      class="rbf-image"
      given={given}
      words={words}
      problems={[refused[0] ? refused[0] + stays : preview?.error]}
      chooses={isSet ? "Replace" : "Choose a file"}
      tools={
        <Quiet hidden={!isSet} act={clear}>
          Clear
        </Quiet>
      }
      typing={
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
      }
    >
      <Thumb preview={picture ? preview : null} class="rbf-image-thumb" />
      <p class="rbf-image-words" title={preview?.words}>
        {(picture && (preview?.words || preview?.name)) || untold}
      </p>
      <p class="rbf-caption">{picture ? !preview?.error && preview?.receives : "PNG, JPEG, WebP or GIF"}</p>
    </Well>
  );
}

CONTROLS.image = { Input: ImageField, isGroup: true, isWide: true };
