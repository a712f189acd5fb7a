/** Pictures in a row, each held for its own number of frames: added, ordered, timed and played before the video is paid for. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { CONTROLS, type FieldProps, NumberRow } from "./fields.tsx";
import { Busy, Catcher, ChooseFiles, Thumb, useBringing, useEarlier } from "./image.tsx";
import { linesOf, nameOf, type Preview, type Source } from "./pictures.ts";
import { positive, Seconds } from "./special.tsx";
import { classes, Quiet, whenSeen } from "./ui.tsx";
import type { Node } from "./values.ts";

/** One picture; `raw` is what is drafted for it. */
interface Item {
  url: any;
  frames: any;
  raw: any;
}

const STEPS: Record<string, number> = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };

/** Where the number of frames of one entry is described; a picture alone may be an entry as well. */
function findHold({ item }: Node) {
  const fields = [item, ...(item?.forms ?? [])].flatMap((form) => form?.fields ?? []);
  return fields.find(({ name }) => name === "frames");
}

/** For how many frames a picture is held; 0 if that cannot be read. */
function framesOf({ frames }: Item) {
  return Number.isSafeInteger(frames) && frames > 0 ? frames : 0;
}

function secondsText(frames: number, rate: number | null) {
  return rate ? `${Number((frames / rate).toFixed(2))} s` : "";
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
  const { min: least = 1, max: longest = Infinity } = findHold(node) ?? {};
  const most = node.most ?? Infinity;
  const rate = positive(link.current(node.beside?.rate) ?? 24);
  const within = (frames: number) => Math.min(Math.max(frames, least), longest);
  const second = within(Math.round(rate ?? 24));
  const read = (drafted: any): Item[] =>
    (Array.isArray(drafted) ? drafted : []).map((raw) =>
      // A picture alone is held for a second.
      typeof raw === "string" ? { url: raw, frames: second, raw } : { url: raw?.url, frames: raw?.frames, raw },
    );
  const items = read(value);
  /** What is drafted now, also between two changes of which none is drawn yet. */
  const readNow = () => read(link.draft[node.name]);
  const [chosen, choose] = useState(0);
  const at = Math.min(chosen, Math.max(items.length - 1, 0));
  const item: Item | undefined = items[at];
  const [previews, setPreviews] = useState<Record<string, Preview>>({});
  const { busy, refused, refuse, bring, stop } = useBringing(link);
  const [live, say] = useState("");
  const [isPlaying, play] = useState(false);
  const [shown, show] = useState(-1);
  const [typed, type] = useState("");
  /** Before which picture what is dragged would land. */
  const [landing, land] = useState(-1);
  const strip = useRef<HTMLDivElement>(null);
  const file = useRef<HTMLInputElement>(null);
  const takesFocus = useRef(false);
  /** Which picture is dragged; -1 where none of these is. */
  const dragged = useRef(-1);
  const tile = () => strip.current?.children[at] as HTMLElement | undefined;
  useLayoutEffect(() => {
    if (takesFocus.current) (tile() ?? file.current)?.focus();
    takesFocus.current = false;
  });
  useLayoutEffect(() => {
    // The strip alone scrolls to what was chosen, and never the page.
    const [el, row] = [tile(), strip.current];
    if (!el || !row) return;
    if (el.offsetTop < row.scrollTop) row.scrollTop = el.offsetTop;
    row.scrollTop = Math.max(row.scrollTop, el.offsetTop + el.offsetHeight - row.clientHeight);
  }, [at]);

  const nameAt = (place: number, all = items) => previews[all[place]?.url]?.name || nameOf(all[place]?.url);
  const set = (now: Item[], next = at) => {
    takesFocus.current ||= !!strip.current?.matches(":focus-within");
    change(now.length ? now.map(({ raw }) => raw) : undefined);
    choose(Math.min(Math.max(next, 0), Math.max(now.length - 1, 0)));
    // Whoever goes on has read what could not be added.
    refuse([]);
  };
  const entry = (url: any, frames: any, raw: any = {}): Item => {
    const whole = { ...(typeof raw === "string" ? {} : raw), url, frames };
    if (frames === undefined) delete whole.frames;
    return { url, frames, raw: whole };
  };
  const held = (places: number[], frames: any) =>
    set(items.map((old, place) => (places.includes(place) ? entry(old.url, frames, old.raw) : old)));
  const move = (from: number, to: number) => {
    const target = Math.min(Math.max(to, 0), items.length - 1);
    if (target === from) return;
    const now = items.toSpliced(from, 1).toSpliced(target, 0, items[from]);
    set(now, target);
    say(`${nameAt(from)} is now picture ${target + 1} of ${items.length}.`);
  };
  const remove = () => {
    // What had the focus is gone with the last picture.
    takesFocus.current = items.length === 1;
    set(items.toSpliced(at, 1));
    say(`${nameAt(at)} is removed. ${counted(items.length - 1, "picture")} left.`);
  };

  /** Add these, the first before this place. */
  const add = async (sources: Source[], before = Infinity, title?: string) => {
    const room = Math.max(most - readNow().length, 0);
    let added = 0;
    const taken = (url: string) => {
      const now = readNow();
      const place = Math.min(before + added, now.length);
      set(now.toSpliced(place, 0, entry(url, second)), place);
      added += 1;
    };
    if (sources.length) await bring(sources.slice(0, room), taken, title);
    if (added) say(`${counted(added, "picture")} added.`);
    const left = `At most ${counted(most, "picture")}; ${sources.length - room} left out.`;
    if (sources.length > room) refuse((all) => [...all, left]);
  };
  /** Before which picture lies what a drag points at. */
  const placeOf = ({ target, clientX }: DragEvent) => {
    const tile = (target as Element).closest(".rbf-tl-tile");
    if (!tile) return landing < 0 ? items.length : landing;
    const { left, width } = tile.getBoundingClientRect();
    return [...(tile.parentElement?.children ?? [])].indexOf(tile) + (clientX > left + width / 2 ? 1 : 0);
  };
  const given = (sources: Source[], event: DragEvent | ClipboardEvent) => {
    const isOnStrip = event instanceof DragEvent && strip.current?.contains(event.target as Element);
    add(sorted(sources), isOnStrip ? placeOf(event) : Infinity);
  };
  const earlier = useEarlier(link, id, (picture, words) => add([picture], Infinity, words));

  const key = (event: KeyboardEvent) => {
    if (!items.length || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const by = STEPS[event.key];
    const to = by ? at + by : { Home: 0, End: items.length - 1 }[event.key];
    if (to !== undefined && event.altKey) move(at, to);
    else if (to !== undefined) pick(Math.min(Math.max(to, 0), items.length - 1));
    else if (/^(Delete|Backspace)$/.test(event.key) && !event.altKey) remove();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const pick = (place: number) => {
    takesFocus.current = true;
    choose(place);
    if (place === at) tile()?.focus();
  };
  const dragOver = (event: DragEvent) => {
    if (dragged.current >= 0) event.preventDefault();
    land(placeOf(event));
  };
  const drop = (event: DragEvent) => {
    const from = dragged.current;
    land(-1);
    if (from < 0) return;
    event.preventDefault();
    const to = placeOf(event);
    takesFocus.current = true;
    move(from, to > from ? to - 1 : to);
  };

  const wrongAt = (place: number) =>
    previews[items[place].url]?.error || field.problems.find((problem) => problem.at[0] === place)?.words || "";
  const total = items.reduce((sum, one) => sum + framesOf(one), 0);
  const length = [counted(total, "frame"), secondsText(total, rate)].filter(Boolean).join(" · ");
  const totals = items.length ? `${counted(items.length, "picture")} · ${length}` : "";
  return (
    <Catcher id={id} class="rbf-tl" given={given}>
      <div class="rbf-tl-well" tabIndex={-1}>
        <div
          class="rbf-tl-strip"
          role="listbox"
          aria-labelledby={`${id}-label`}
          aria-describedby={`${id}-hint`}
          aria-orientation="horizontal"
          hidden={!items.length}
          ref={strip}
          onKeyDown={key}
          onDragOver={dragOver}
          onDragLeave={() => land(-1)}
          onDrop={drop}
        >
          {items.map((one, place) => (
            <Tile
              key={place}
              item={one}
              number={place + 1}
              of={items.length}
              rate={rate}
              name={nameAt(place)}
              preview={previews[one.url]}
              wrong={wrongAt(place)}
              isChosen={place === at}
              isOn={place === shown}
              seen={async () => {
                const preview = await link.pictures.preview(one.url);
                setPreviews((all) => ({ ...all, [one.url]: preview }));
              }}
              lands={landing === place ? "before" : landing === items.length && place === landing - 1 ? "after" : ""}
              pick={() => pick(place)}
              drag={(place) => {
                dragged.current = place;
              }}
            />
          ))}
        </div>
        <p class="rbf-tl-empty" hidden={!!items.length}>
          Drop or paste pictures here, in their order
        </p>
        <div class="rbf-row">
          <ChooseFiles
            words="Add files"
            accept="image/*"
            isMultiple
            inputRef={file}
            given={(files) => add(sorted(files))}
          />
          {earlier.button}
          <Quiet
            hidden={!total}
            aria-expanded={isPlaying}
            act={() => {
              play(!isPlaying);
              show(-1);
            }}
          >
            {isPlaying ? "Close preview" : "Preview"}
          </Quiet>
          <span class="rbf-caption rbf-tl-total">{totals}</span>
        </div>
      </div>
      <input
        type="text"
        class="rbf-image-typed"
        placeholder="or addresses or paths, and Enter"
        aria-label="URLs or paths"
        autocomplete="off"
        spellcheck={false}
        value={typed}
        onInput={(event) => type(event.currentTarget.value)}
        onPaste={(event) => {
          const lines = linesOf(event.clipboardData?.getData("text") ?? "");
          if (lines.length < 2) return;
          event.preventDefault(); // The input would join the lines.
          add(lines);
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          event.stopPropagation();
          add(linesOf(typed));
          type("");
        }}
      />
      {earlier.el}
      <Busy
        label="Adding pictures"
        {...busy}
        stop={() => {
          stop();
          file.current?.focus();
        }}
      />
      <p class="rbf-problem rbf-tl-troubles" role="status" hidden={!refused.length}>
        {refused.map((words) => (
          <span key={words}>{words}</span>
        ))}
      </p>
      {item && (
        <div class="rbf-tl-hold-panel">
          <p class="rbf-tl-title">{`Picture ${at + 1} of ${items.length}: ${nameAt(at)}`}</p>
          <p class="rbf-problem" hidden={!previews[item.url]?.error}>
            {previews[item.url]?.error}
          </p>
          <div class="rbf-row rbf-tl-one">
            <span>Hold</span>
            <NumberRow
              {...field}
              id={`${id}-hold`}
              node={{ name: "", label: "", kind: "whole", min: least, max: longest, required: true }}
              value={item.frames}
              problems={field.problems.filter((problem) => problem.at[0] === at).map((one) => ({ ...one, at: [] }))}
              change={(frames) => held([at], frames)}
              hasSlider={false}
              label="Hold this picture, in frames"
            />
            <span>frames</span>
            <Seconds
              key={at}
              label="Hold this picture, in seconds"
              frames={framesOf(item)}
              rate={rate}
              set={(frames) => held([at], within(Math.round(frames)))}
            />
            <Act
              words="Hold all as long"
              says="Hold all pictures as long as this one"
              isOff={items.length < 2 || !framesOf(item)}
              act={() => held([...items.keys()], item.frames)}
            />
            <span class="rbf-tl-acts">
              <Act words="←" says="Move earlier (Alt+Left)" isOff={!at} act={() => move(at, at - 1)} />
              <Act
                words="→"
                says="Move later (Alt+Right)"
                isOff={at === items.length - 1}
                act={() => move(at, at + 1)}
              />
              <Act
                words="Duplicate"
                says="Duplicate this picture"
                isOff={items.length >= most}
                act={() => set(items.toSpliced(at + 1, 0, item), at + 1)}
              />
              <Act words="Remove" says="Remove this picture (Delete)" act={remove} />
            </span>
          </div>
        </div>
      )}
      <p class="rbf-caption" id={`${id}-hint`} hidden={!item}>
        Drag to reorder, or Alt+← and Alt+→. Delete removes.
      </p>
      {isPlaying && total > 0 && rate && <Played items={items} rate={rate} previews={previews} shows={show} />}
      <span class="rb-hidden" role="status">
        {live}
      </span>
    </Catcher>
  );
}

interface ActProps {
  words: string;
  says: string;
  act: () => void;
  isOff?: boolean;
}

function Act({ words, says, ...more }: ActProps) {
  return (
    <Quiet title={says} aria-label={says} {...more}>
      {words}
    </Quiet>
  );
}

interface TileProps {
  item: Item;
  number: number;
  of: number;
  rate: number | null;
  name: string;
  preview: Preview | undefined;
  wrong: string;
  isChosen: boolean;
  isOn: boolean;
  /** Where what is dragged would land, if it is at this one. */
  lands: string;
  seen: () => void;
  pick: () => void;
  drag: (place: number) => void;
}

function Tile({ item, number, of, rate, name, preview, wrong, isChosen, isOn, lands, seen, pick, drag }: TileProps) {
  const el = useRef<HTMLDivElement>(null);
  const { url } = item;
  useEffect(() => {
    if (typeof url === "string" && url && el.current) return whenSeen(el.current, seen);
  }, [url]);
  const frames = framesOf(item);
  const seconds = secondsText(frames, rate);
  const hold = frames ? counted(frames, "frame") : "no number of frames";
  // The wider the longer it is held, and ever less so.
  const wide = Math.min(Math.log2(1 + frames / (rate ?? 24)), 4).toFixed(3);
  return (
    <div
      class={classes(
        "rbf-tl-tile",
        (wrong || !frames) && "rbf-tl-wrong",
        isOn && "rbf-tl-on",
        lands && `rbf-tl-${lands}`,
      )}
      role="option"
      ref={el}
      aria-selected={isChosen}
      tabIndex={isChosen ? 0 : -1}
      style={{ "--rbf-hold": wide }}
      aria-label={`picture ${number} of ${of}, ${name}, ${hold}${wrong && `, ${wrong}`}`}
      title={wrong || name}
      draggable
      onDragStart={(event) => {
        // A kind of its own, so that nothing else takes it.
        event.dataTransfer?.setData("application/x-reelbook-picture", "");
        drag(number - 1);
      }}
      onDragEnd={() => drag(-1)}
      onPointerDown={pick}
    >
      <Thumb preview={preview} class="rbf-tl-thumb" />
      <span class="rbf-tl-number">{number}</span>
      <span class="rbf-tl-hold">
        {frames ? `${frames.toLocaleString("en")} f${seconds && ` · ${seconds}`}` : "how long?"}
      </span>
    </div>
  );
}

interface PlayedProps {
  items: Item[];
  rate: number;
  previews: Record<string, Preview>;
  /** Hears which picture is on; -1 at the end. */
  shows: (place: number) => void;
}

/** Plays the pictures on the page before the video is paid for: each for as long as it is held. */
function Played({ items, rate, previews, shows }: PlayedProps) {
  const [frame, setFrame] = useState(0);
  const holds = items.map(framesOf);
  const total = holds.reduce((sum, hold) => sum + hold, 0);
  useEffect(() => {
    const began = performance.now();
    let next = requestAnimationFrame(function tick(now) {
      const at = Math.floor(((now - began) / 1000) * rate);
      setFrame(Math.max(Math.min(at, total - 1), 0));
      if (at < total) next = requestAnimationFrame(tick);
    });
    return () => cancelAnimationFrame(next);
  }, [rate, holds.join()]);
  let place = 0;
  for (let end = holds[0]; end <= frame && place < items.length - 1; end += holds[place]) place += 1;
  useEffect(() => shows(place), [place]);
  const { url } = items[place];
  const [width, height] = previews[items[0].url]?.size ?? [16, 9];
  return (
    <div class="rbf-tl-player" role="group" aria-label="Preview" data-frame={frame} data-picture={place}>
      <div class="rbf-tl-stage" style={{ aspectRatio: `${width} / ${height}` }}>
        {previews[url]?.url ? <img src={previews[url].url} alt="" /> : <span class="rbf-tl-away">{nameOf(url)}</span>}
      </div>
      <span class="rbf-caption">{`${frame + 1} of ${total} · ${(frame / rate).toFixed(2)} s`}</span>
    </div>
  );
}

CONTROLS.timeline = { Input: Timeline, isGroup: true, isWide: true };
