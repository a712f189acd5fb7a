/** Controls of their own: prompts, seeds, durations, shapes, frames with their seconds, and sizes. */

import { useRef, useState } from "preact/hooks";
import {
  CONTROLS,
  Counter,
  currentOf,
  type FieldProps,
  inputFacts,
  NumberRow,
  Segments,
  textFacts,
} from "./fields.tsx";
import { type Entries, List } from "./nested.tsx";
import { Quiet, SignButton, useShelf } from "./ui.tsx";
import { type Choice, findTrack, type Node, readNumber, textOf } from "./values.ts";

// From so many on, earlier prompts can be searched.
const SEARCHED = 8;
// The largest number that a throw of the dice gives; every service takes it.
const MAX_SEED = 2147483647;
// Room for the drawing of a shape, in pixels of the page.
const SHAPE_ROOM = 40;

// Prompts.

/** A text with its length, and the prompts of earlier runs to begin from again. */
function Prompt(field: FieldProps) {
  const { link, id, path, change, isNested } = field;
  const area = useRef<HTMLTextAreaElement>(null);
  const [texts, setTexts] = useState<string[] | null>(null);
  const [wanted, search] = useState("");
  const shelf = useShelf("Earlier prompts", `${id}-earlier`, async () => {
    setTexts(null);
    const answer = await link.request({ do: "prompts", name: String(path[0]) });
    if (answer.error) shelf.turn(false);
    else setTexts(answer.texts);
  });
  const found = (texts ?? []).filter((text) => text.toLowerCase().includes(wanted.trim().toLowerCase()));
  const choose = (chosen: string) => {
    shelf.turn(false);
    area.current?.focus();
    area.current?.select();
    // As if it was typed: Ctrl+Z brings back what stood there.
    if (!document.execCommand("insertText", false, chosen) || area.current?.value !== chosen) change(chosen);
  };
  return (
    <div class="rbf-prompt-place">
      <textarea class="rbf-text rbf-long rbf-tall" {...textFacts(field)} spellcheck ref={area} />
      {/* Only whole fields are columns of the library. */}
      {!isNested && shelf.button}
      <div {...shelf.facts}>
        <input
          type="search"
          class="rbf-text"
          placeholder="Search"
          aria-label="Search in earlier prompts"
          hidden={(texts ?? []).length < SEARCHED}
          value={wanted}
          onInput={(event) => search(event.currentTarget.value)}
        />
        <ul class="rbf-prompts" hidden={!found.length}>
          {found.map((text) => (
            <li key={text}>
              <button type="button" class="rbf-prompt" dir="auto" title={text} onClick={() => choose(text)}>
                {text}
              </button>
            </li>
          ))}
        </ul>
        <p class="rbf-caption" role="status" hidden={found.length > 0}>
          {texts === null ? "Looking" : wanted ? "No prompt contains that." : "No earlier prompts yet."}
        </p>
      </div>
    </div>
  );
}

// Seeds.

function Seed(field: FieldProps) {
  const { node, value, change, link, id, path, isNested } = field;
  /** What was unlocked last, to come back to. */
  const last = useRef<unknown>(undefined);
  const isLocked = (value ?? "") !== "";
  const fallback = node.default ?? null;
  const turn = () => {
    if (isLocked) last.current = value;
    change(isLocked ? undefined : (last.current ?? drawSeed(node)));
  };
  const free = fallback === null ? "A new random seed for each run." : `${fallback} unless you set one.`;
  return (
    <div class="rbf-seed">
      <div class="rbf-special-row">
        <NumberRow
          {...field}
          hasSlider={false}
          placeholder={fallback === null ? "random" : String(fallback)}
          describedBy={`${id}-said`}
        />
        <SignButton sign="dice" says="Draw a random seed" act={() => change(drawSeed(node))} />
        {!node.required && (
          <SignButton
            sign={isLocked ? "locked" : "unlocked"}
            says="Lock the seed"
            title={
              isLocked
                ? "Locked: every run has this seed. Unlock to let the service choose."
                : "Lock a seed, so that every run has the same"
            }
            aria-pressed={isLocked}
            act={turn}
          />
        )}
        {!isNested && link.openSweep && (
          // The kernel proposes this seed and the three after it.
          <Quiet title="Sweep this seed and the three after it" act={() => link.openSweep?.(String(path[0]))}>
            Try four seeds
          </Quiet>
        )}
      </div>
      <span class="rbf-caption rbf-seed-said" id={`${id}-said`} role="status">
        {isLocked ? "The same for every run." : free}
      </span>
    </div>
  );
}

/** A seed by chance, within the bounds of the field. */
function drawSeed(node: Node) {
  const least = Math.max(0, node.min ?? 0);
  const most = Math.max(least, Math.min(MAX_SEED, node.max ?? MAX_SEED));
  const chance = crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32;
  return least + Math.floor(chance * (most - least + 1));
}

// Durations and shapes.

/** Lengths in seconds beside each other. */
function Duration(field: FieldProps) {
  const choices = field.node.choices?.map(({ value, label }) => ({ value, label: `${label} s` }));
  return <Segments {...field} node={{ ...field.node, choices }} />;
}

function Aspect(field: FieldProps) {
  const { by, sizes = {} } = field.node.beside ?? {};
  const known: Record<string, [number, number]> = sizes[field.link.current(by)] ?? {};
  // One scale for all resolutions, so that drawings can be compared.
  const longest = Math.max(...Object.values<Record<string, number[]>>(sizes).flatMap((of) => Object.values(of).flat()));
  const draw = ({ value, label }: Choice) => {
    const size = known[String(value)];
    const [width, height] = size ?? String(value).split(":").map(Number);
    const scale = SHAPE_ROOM / (size ? longest : Math.max(width, height));
    return (
      <>
        <span class="rbf-shape" aria-hidden="true">
          <span
            class="rbf-shape-box"
            style={{ width: `${Math.round(width * scale)}px`, height: `${Math.round(height * scale)}px` }}
          />
        </span>
        <span class="rbf-shape-words">
          <span>{label}</span>
          <span class="rbf-caption rbf-shape-pixels">{size ? `${width}×${height}` : ""}</span>
        </span>
      </>
    );
  };
  return <Segments {...field} drawn={{ class: "rbf-aspect", draw }} />;
}

// Frames.

/** A number of frames, dragged or typed, and the seconds that it lasts, which can be typed as well. */
function Frames(field: FieldProps) {
  const { node, link, change } = field;
  const rateName: string | undefined = node.beside?.rate;
  const count = positive(currentOf(field));
  const rate = positive(link.current(rateName));
  const set = (frames: number) => {
    const step = node.step && node.step > 0 ? node.step : 1;
    const { low, high } = findTrack(node) ?? { low: step, high: Infinity };
    change(Math.min(Math.max(Math.round(frames / step) * step, low), high));
  };
  const words = [`${count ?? "no"} frames`, secondsOf(count, rate) && `${secondsOf(count, rate)} s`];
  return (
    <div class="rbf-frames">
      <NumberRow {...field} slider={{ label: `${node.label}, slider`, words: words.filter(Boolean).join(", ") }} />
      frames
      <span class="rbf-frames-part" hidden={!rateName}>
        <Seconds label={`${node.label}, in seconds`} frames={count} rate={rate} set={set} />
        <span class="rbf-caption rbf-frames-rate">{rate ? `at ${rate}/s` : "at an unknown rate"}</span>
      </span>
    </div>
  );
}

/** Seconds with two digits behind the point, as one types them. */
function secondsOf(frames: number | null, rate: number | null) {
  return frames && rate ? String(Math.round((100 * frames) / rate) / 100) : "";
}

interface SecondsProps {
  label: string;
  frames: number | null;
  rate: number | null;
  /** Hears how many frames typed seconds are. */
  set: (frames: number) => void;
}

/** Frames in seconds. What is being typed stays as it is until it is left. */
export function Seconds({ label, frames, rate, set }: SecondsProps) {
  const [typed, type] = useState<string | null>(null);
  const read = readNumber(typed ?? "");
  return (
    <>
      <span aria-hidden="true">=</span>
      <input
        type="text"
        class="rbf-special-number"
        inputmode="decimal"
        autocomplete="off"
        aria-label={label}
        aria-invalid={!!typed?.trim() && (typeof read !== "number" || read < 0)}
        disabled={!rate}
        value={typed ?? secondsOf(frames, rate)}
        onInput={({ currentTarget: { value } }) => {
          type(value);
          const seconds = readNumber(value);
          if (typeof seconds === "number" && seconds >= 0 && rate) set(seconds * rate);
        }}
        onBlur={() => type(null)}
      />
      s
    </>
  );
}

export function positive(value: unknown) {
  return typeof value === "number" && value > 0 ? value : null;
}

// Sizes.

/** The sizes of the common formats, by their names. */
function formatsOf(node: Node): [name: string, size: string][] {
  const groups: [string, [string, string][]][] = node.beside?.formats ?? [];
  return groups.flatMap(([, formats]) => formats);
}

/** An input that takes sizes, and names from the browser's own list of formats. */
function AddSizes({ field, list }: { field: FieldProps; list: Entries }) {
  const { node, id } = field;
  const [typed, type] = useState("");
  const formats = formatsOf(node);
  /** Add whatever is typed; a problem is displayed at its entry. */
  const commit = (text: string) => {
    type("");
    // A name may have a comma of its own.
    const isName = formats.some(([name]) => name.toLowerCase() === text.trim().toLowerCase());
    const texts = (isName ? [text] : text.split(/[,;\n\r\t]/)).map((one) => one.trim());
    const news = texts.filter((one) => one && !list.values.includes(one));
    if (news.length) list.append(news);
  };
  return (
    <>
      <input
        type="text"
        {...inputFacts(field)}
        class="rbf-size-add"
        list={`${id}-formats`}
        aria-labelledby={`${id}-label`}
        aria-describedby={undefined}
        placeholder="1080x1920, or a name: story"
        enterkeyhint="done"
        value={typed}
        onInput={(event) => {
          const { value } = event.currentTarget;
          if ((event as any).inputType === "insertReplacementText") commit(value);
          else type(value);
        }}
        onPaste={(event) => {
          const text = event.clipboardData?.getData("text") ?? "";
          if (!/[\n\t]/.test(text.trim())) return;
          event.preventDefault(); // The input would join the lines.
          commit(text);
        }}
        onKeyDown={({ key, isComposing }) => key === "Enter" && !isComposing && commit(typed)}
        // What was typed and never confirmed is meant all the same.
        onBlur={() => commit(typed)}
      />
      <datalist id={`${id}-formats`}>
        {formats.map(([name, size]) => (
          <option key={name} value={name} label={size.replace("x", "×")} />
        ))}
      </datalist>
    </>
  );
}

/** One size, as typed, with the name of its format, or the size of that name. */
function Size(field: FieldProps) {
  const text = textOf(currentOf(field) ?? "").toLowerCase();
  const format = formatsOf(field.node).find((names) => names.some((name) => name.toLowerCase() === text));
  return (
    <div class="rbf-size">
      <input type="text" {...textFacts(field)} class="rbf-size-text" />
      <span class="rbf-caption rbf-size-words">{format?.find((name) => name.toLowerCase() !== text)}</span>
    </div>
  );
}

function Sizes(field: FieldProps) {
  return <List {...field} adder={{ Add: AddSizes, item: "Size" }} />;
}

Object.assign(CONTROLS, {
  prompt: { Input: Prompt, isWide: true, Lead: Counter },
  seed: { Input: Seed },
  duration: { Input: Duration, isGroup: true },
  aspect: { Input: Aspect, isGroup: true, isWide: true },
  frames: { Input: Frames, isWide: true },
  size: { Input: Size },
  sizes: { Input: Sizes, isGroup: true, isWide: true },
} satisfies typeof CONTROLS);
