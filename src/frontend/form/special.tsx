/** Controls of their own: prompts, seeds, shapes, frames with their seconds, and sizes. */

import { useRef, useState } from "preact/hooks";
import { CONTROLS, Counter, currentOf, type FieldProps, NumberRow, Segments, textFacts } from "./fields.tsx";
import { Quiet, useShelf } from "./ui.tsx";
import { type Choice, type Node, textOf } from "./values.ts";

// The largest number that a throw of the dice gives; every service takes it.
const MAX_SEED = 2147483647;
// Room for the drawing of a shape, in pixels of the page.
const SHAPE_ROOM = 40;

/** A text with its length, and the prompts of earlier runs to begin from again. */
function Prompt(field: FieldProps) {
  const { link, id, path, change } = field;
  const area = useRef<HTMLTextAreaElement>(null);
  const [texts, setTexts] = useState<string[]>([]);
  const shelf = useShelf("Earlier prompts", `${id}-earlier`, async () => {
    const answer = await link.request({ do: "prompts", name: path[0] });
    if (answer.error) shelf.turn(false);
    else setTexts(answer.texts);
  });
  const choose = (chosen: string) => {
    shelf.turn(false);
    area.current?.focus();
    area.current?.select();
    // As if it was typed: Ctrl+Z brings back what stood there.
    if (!document.execCommand("insertText", false, chosen) || area.current?.value !== chosen) change(chosen);
  };
  return (
    <div>
      <textarea class="rbf-text rbf-long rbf-tall" {...textFacts(field)} spellcheck ref={area} />
      <div class="rbf-row">
        <Counter {...field} />
        {/* Only whole fields are columns of the library. */}
        {path.length === 1 && shelf.button}
      </div>
      <div {...shelf.facts}>
        <ul class="rbf-prompts" hidden={!texts.length}>
          {texts.map((text) => (
            <li key={text}>
              <button type="button" class="rbf-prompt" dir="auto" title={text} onClick={() => choose(text)}>
                {text}
              </button>
            </li>
          ))}
        </ul>
        <p class="rbf-caption" hidden={texts.length > 0}>
          No earlier prompts yet.
        </p>
      </div>
    </div>
  );
}

function Seed(field: FieldProps) {
  const { node, value, change } = field;
  const isLocked = (value ?? "") !== "";
  return (
    <div class="rbf-seed rbf-row">
      <NumberRow {...field} placeholder={textOf(node.default ?? "random")} />
      <Quiet title="Draw a random seed" aria-label="Draw a random seed" act={() => change(drawSeed(node))}>
        ⚄
      </Quiet>
      {!node.required && (
        <Quiet
          aria-label="Lock the seed"
          title={isLocked ? "Locked: the same for every run" : "Unlocked: a new seed for each run"}
          aria-pressed={isLocked}
          act={() => change(isLocked ? undefined : drawSeed(node))}
        >
          {isLocked ? "✓ Lock" : "Lock"}
        </Quiet>
      )}
    </div>
  );
}

/** A seed by chance, within the bounds of the field. */
function drawSeed({ min = 0, max = MAX_SEED }: Node) {
  const least = Math.max(0, min);
  const most = Math.max(least, Math.min(MAX_SEED, max));
  return least + Math.floor(Math.random() * (most - least + 1));
}

/** Shapes to scale, with their pixels at the resolution that is chosen. */
function Aspect(field: FieldProps) {
  const { by, sizes = {} } = field.node.beside ?? {};
  const known: Record<string, [number, number]> = sizes[field.link.current(by)] ?? {};
  const draw = ({ value, label }: Choice) => {
    const size = known[String(value)];
    const [width, height] = String(value).split(":").map(Number);
    const scale = SHAPE_ROOM / Math.max(width, height);
    return (
      <>
        <span class="rbf-shape" aria-hidden="true">
          <span class="rbf-shape-box" style={{ width: `${width * scale}px`, height: `${height * scale}px` }} />
        </span>
        <span class="rbf-shape-words">
          <span>{label}</span>
          <span class="rbf-caption rbf-shape-pixels">{size ? size.join("×") : ""}</span>
        </span>
      </>
    );
  };
  return <Segments {...field} draw={draw} />;
}

/** A number of frames, and the seconds that it lasts. */
function Frames(field: FieldProps) {
  const { node, link } = field;
  const rateName: string | undefined = node.beside?.rate;
  const count = positive(currentOf(field));
  const rate = positive(link.current(rateName));
  const seconds = count ? secondsText(count, rate) : "";
  return (
    <div class="rbf-frames rbf-row">
      <NumberRow {...field} />
      frames
      {rateName && <span class="rbf-caption">{rate ? `= ${seconds || "…"} at ${rate}/s` : "at an unknown rate"}</span>}
    </div>
  );
}

/** How long frames last, with two digits behind the point at most. */
export function secondsText(frames: number, rate: number | null) {
  return rate ? `${Number((frames / rate).toFixed(2))} s` : "";
}

export function positive(value: unknown) {
  return typeof value === "number" && value > 0 ? value : null;
}

/** One size, as typed or by the name of a format, with what that means; while its ratio is locked, a width alone is enough. */
function Size(field: FieldProps) {
  const formats: [name: string, size: string][] = field.node.beside ?? [];
  const text = textOf(currentOf(field) ?? "").toLowerCase();
  const format = formats.find((names) => names.some((name) => name.toLowerCase() === text));
  const [ratio, lock] = useState(0);
  const [width, height] = (format?.[1] ?? text).split("x").map(Number);
  const follow = (typed: number) => ratio && typed > 0 && field.change(`${typed}x${Math.round(typed / ratio)}`);
  return (
    <div class="rbf-size rbf-row">
      <input
        type="text"
        {...textFacts(field)}
        class="rbf-size-text"
        list={`${field.id}-formats`}
        placeholder="1080x1920, or a name: story"
        onChange={(event) => follow(Number(event.currentTarget.value))}
      />
      <Quiet
        isOff={!(ratio || width / height)}
        aria-pressed={ratio > 0}
        title="While it is locked, type a width, and the height follows"
        act={() => lock(ratio ? 0 : width / height)}
      >
        {ratio ? "✓ Lock ratio" : "Lock ratio"}
      </Quiet>
      <span class="rbf-caption">{format?.find((name) => name.toLowerCase() !== text)}</span>
      <datalist id={`${field.id}-formats`}>
        {formats.map(([name, size]) => (
          <option key={name} value={name} label={size} />
        ))}
      </datalist>
    </div>
  );
}

Object.assign(CONTROLS, {
  prompt: { Input: Prompt, isWide: true },
  seed: { Input: Seed },
  aspect: { Input: Aspect, isGroup: true, isWide: true },
  frames: { Input: Frames, isWide: true },
  size: { Input: Size },
} satisfies typeof CONTROLS);
