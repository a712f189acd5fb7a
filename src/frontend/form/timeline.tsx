/** Pictures in a row, each held for its own number of frames: added, ordered and timed before the video is paid for. */

import type { HTMLAttributes } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { CONTROLS, type FieldProps, NumberRow } from "./fields.tsx";
import { Thumb, useComing, Well } from "./image.tsx";
import { nameOf, type Preview, type Source } from "./pictures.ts";
import { positive, secondsText } from "./special.tsx";
import { Quiet, whenSeen } from "./ui.tsx";

/** One picture, and for how many frames it is held: whatever is drafted for it. */
interface Item {
  url: any;
  frames: any;
}

const STEPS: Record<string, number> = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };

/** For how many frames a picture is held; 0 if that cannot be read. */
function framesOf({ frames }: Item) {
  return Number.isSafeInteger(frames) && frames > 0 ? frames : 0;
}

function counted(count: number, what: string) {
  return `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
}

/** Files in the order of their names, as numbered pictures are meant; a text keeps its place. */
function sorted(sources: Source[]) {
  if (sources.some((source) => typeof source === "string")) return sources;
  return (sources as File[]).sort((one, other) => one.name.localeCompare(other.name, "en", { numeric: true }));
}

function Timeline(field: FieldProps) {
  const { node, value, change, link, id } = field;
  const most = node.most ?? Infinity;
  const rate = positive(link.current(node.beside?.rate) ?? 24);
  const longest = node.beside?.most ?? Infinity;
  const second = Math.round(rate ?? 24);
  const read = (drafted: any): Item[] =>
    (Array.isArray(drafted) ? drafted : []).map((raw) =>
      // A picture alone is held for a second.
      typeof raw === "string" ? { url: raw, frames: second } : { ...raw },
    );
  const items = read(value);
  const [chosen, choose] = useState(0);
  const at = Math.min(chosen, Math.max(items.length - 1, 0));
  const item: Item | undefined = items[at];
  const [previews, setPreviews] = useState<Record<string, Preview>>({});
  /** Which picture is dragged; -1 where none is. */
  const [dragged, drag] = useState(-1);
  const strip = useRef<HTMLDivElement>(null);
  const takesFocus = useRef(false);
  useLayoutEffect(() => {
    const tile = strip.current?.children[at] ?? strip.current?.parentElement?.querySelector("input[type=file]");
    if (takesFocus.current) (tile as HTMLElement).focus();
    takesFocus.current = false;
  });

  const nameAt = (place: number) => previews[items[place]?.url]?.name || nameOf(items[place]?.url);
  const set = (now: Item[], next = at) => {
    takesFocus.current ||= !!strip.current?.matches(":focus-within");
    change(now.length ? now : undefined);
    choose(Math.min(Math.max(next, 0), Math.max(now.length - 1, 0)));
    // Whoever goes on has read what could not be added.
    coming.refuse([]);
  };
  const hold = (places: number[], frames: any) =>
    set(items.map((old, place) => (places.includes(place) ? { ...old, frames } : old)));
  const move = (from: number, to: number) => {
    const target = Math.min(Math.max(to, 0), items.length - 1);
    if (target === from) return;
    set(items.toSpliced(from, 1).toSpliced(target, 0, items[from]), target);
    link.say(`${nameAt(from)} is now picture ${target + 1} of ${items.length}.`);
  };
  const remove = () => {
    // What had the focus is gone with the last picture.
    takesFocus.current = items.length === 1;
    set(items.toSpliced(at, 1));
    link.say(`${nameAt(at)} is removed. ${counted(items.length - 1, "picture")} left.`);
  };
  /** What is drafted now, also between two changes of which none is drawn yet. */
  const readNow = () => read(link.draft[node.name]);
  const coming = useComing(link, (url) => set([...readNow(), { url, frames: second }], readNow().length));
  const add = async (sources: Source[]) => {
    const room = Math.max(most - readNow().length, 0);
    await coming.add(sorted(sources).slice(0, room));
    const left = `At most ${counted(most, "picture")}; ${sources.length - room} left out.`;
    if (sources.length > room) coming.refuse((all) => [...all, left]);
  };
  const pick = (place: number) => {
    takesFocus.current = true;
    choose(Math.min(Math.max(place, 0), items.length - 1));
  };
  const key = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    const by = STEPS[event.key];
    const to = by ? at + by : { Home: 0, End: items.length - 1 }[event.key];
    if (to !== undefined && event.altKey) move(at, to);
    else if (to !== undefined) pick(to);
    else if (/^(Delete|Backspace)$/.test(event.key) && !event.altKey) remove();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const wrongAt = (place: number) =>
    previews[items[place].url]?.error || field.problems.find((problem) => problem.at[0] === place)?.words || "";
  const total = items.reduce((sum, one) => sum + framesOf(one), 0);
  const totals = [counted(items.length, "picture"), counted(total, "frame"), secondsText(total, rate)];
  return (
    <Well
      field={field}
      class="rbf-tl"
      isMany
      given={add}
      words={coming.words}
      problems={coming.refused}
      chooses="Add files"
      tools={<span class="rbf-caption rbf-tl-total">{item && totals.filter(Boolean).join(" · ")}</span>}
    >
      <div
        class="rbf-tl-strip"
        role="listbox"
        aria-labelledby={`${id}-label`}
        aria-describedby={`${id}-hint`}
        aria-orientation="horizontal"
        hidden={!item}
        ref={strip}
        onKeyDown={key}
      >
        {items.map((one, place) => (
          <Tile
            key={place}
            item={one}
            name={nameAt(place)}
            which={`picture ${place + 1} of ${items.length}`}
            rate={rate}
            preview={previews[one.url]}
            wrong={wrongAt(place)}
            isChosen={place === at}
            seen={async () => {
              const preview = await link.pictures.preview(one.url);
              setPreviews((all) => ({ ...all, [one.url]: preview }));
            }}
            facts={{
              class: "rbf-tl-tile",
              onPointerDown: () => pick(place),
              onDragStart: (event) => {
                // A kind of its own, so that nothing else takes it.
                event.dataTransfer?.setData("application/x-reelbook-picture", "");
                drag(place);
              },
              onDragOver: (event) => dragged >= 0 && event.preventDefault(),
              onDrop: () => {
                if (dragged >= 0) move(dragged, place);
              },
              onDragEnd: () => drag(-1),
            }}
          />
        ))}
      </div>
      {item ? (
        <div class="rbf-tl-hold-panel">
          <p class="rbf-problem" hidden={!previews[item.url]?.error}>
            {previews[item.url]?.error}
          </p>
          <div class="rbf-row rbf-tl-one">
            <span>Hold</span>
            <NumberRow
              {...field}
              id={`${id}-hold`}
              node={{ name: "", label: "", kind: "whole", min: 1, max: longest, required: true }}
              value={item.frames}
              problems={field.problems.filter((problem) => problem.at[0] === at).map((one) => ({ ...one, at: [] }))}
              change={(frames) => hold([at], frames)}
              label="Hold this picture, in frames"
            />
            <span>{["frames", secondsText(framesOf(item), rate)].filter(Boolean).join(" = ")}</span>
            <Quiet
              aria-label="Hold all pictures as long as this one"
              isOff={items.length < 2 || !framesOf(item)}
              act={() => hold([...items.keys()], item.frames)}
            >
              Hold all as long
            </Quiet>
            <span class="rbf-tl-acts">
              <Quiet aria-label="Move earlier" isOff={!at} act={() => move(at, at - 1)}>
                ←
              </Quiet>
              <Quiet aria-label="Move later" isOff={at === items.length - 1} act={() => move(at, at + 1)}>
                →
              </Quiet>
              <Quiet aria-label="Remove this picture" act={remove}>
                Remove
              </Quiet>
            </span>
          </div>
          <p class="rbf-caption" id={`${id}-hint`}>
            Drag to reorder, or Alt+← and Alt+→. Delete removes. Pasted pictures, addresses and paths are added.
          </p>
        </div>
      ) : (
        <p class="rbf-caption">Drop or paste pictures, addresses or paths here, in their order</p>
      )}
    </Well>
  );
}

interface TileProps {
  item: Item;
  name: string;
  which: string;
  rate: number | null;
  preview: Preview | undefined;
  wrong: string;
  isChosen: boolean;
  seen: () => void;
  /** What is done with it by mouse and finger, and how it looks meanwhile. */
  facts: HTMLAttributes<HTMLDivElement>;
}

function Tile({ item, name, which, rate, preview, wrong, isChosen, seen, facts }: TileProps) {
  const el = useRef<HTMLDivElement>(null);
  const { url } = item;
  useEffect(() => {
    if (typeof url === "string" && url && el.current) return whenSeen(el.current, seen);
  }, [url]);
  const frames = framesOf(item);
  const held = frames ? counted(frames, "frame") : "no number of frames";
  const short = [`${frames.toLocaleString("en")} f`, secondsText(frames, rate)].filter(Boolean).join(" · ");
  return (
    <div
      {...facts}
      role="option"
      ref={el}
      data-wrong={!!wrong || !frames}
      aria-selected={isChosen}
      tabIndex={isChosen ? 0 : -1}
      aria-label={[which, name, held, wrong].filter(Boolean).join(", ")}
      title={wrong || name}
      draggable
    >
      <Thumb preview={preview} class="rbf-tl-thumb" />
      <span class="rbf-tl-hold">{frames ? short : "how long?"}</span>
    </div>
  );
}

CONTROLS.timeline = { Input: Timeline, isGroup: true, isWide: true };
