/** Pictures in a row, each held for its own number of frames: added, ordered, timed and played before the video is paid for. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { CONTROLS, type FieldProps, Frame, NumberRow } from "./fields.tsx";
import { Busy, ChooseFiles, Thumb, useCatches, useEarlier } from "./image.tsx";
import { fileOfData, isData, linesOf, nameOf, type Preview, Refused, type Source } from "./pictures.ts";
import { positive, Seconds } from "./special.tsx";
import { drag, dropPlace } from "./timeline_drag.ts";
import { classes, Quiet, whenSeen } from "./ui.tsx";
import type { Node } from "./values.ts";

/** One picture; `raw` is what is drafted for it. */
interface Item {
  url: any;
  frames: any;
  raw: any;
}

// Lines of what could not be added.
const MAX_TROUBLES = 5;
const STEPS: Record<string, number> = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };

/** The fields of one entry, as its node describes them; a picture alone may be an entry as well. */
function entryFields(node: Node) {
  const forms = [node.item, ...(node.item?.forms ?? [])];
  const fields = forms.find((form) => form?.fields)?.fields ?? [];
  const hold = fields.find(({ kind }) => kind === "whole");
  return {
    image: fields.find(({ kind }) => kind === "image")?.name ?? "url",
    hold: hold?.name ?? "frames",
    least: hold?.min ?? 1,
    longest: hold?.max ?? Infinity,
  };
}

/** For how many frames a picture is held; 0 if that cannot be read. */
function framesOf({ frames }: Item) {
  return Number.isSafeInteger(frames) && frames > 0 ? frames : 0;
}

function secondsText(frames: number, rate: number | null) {
  if (!rate) return "";
  const seconds = frames / rate;
  if (seconds < 60) return `${Number(seconds.toFixed(seconds < 10 ? 2 : 1))} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)} min${whole % 60 ? ` ${whole % 60} s` : ""}`;
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
  const { image, hold, least, longest } = entryFields(node);
  const most = node.most ?? Infinity;
  const rate = positive(link.current(node.beside?.rate) ?? 24);
  const within = (frames: number) => Math.min(Math.max(frames, least), longest);
  const second = within(Math.round(rate ?? 24));
  const read = (drafted: any): Item[] =>
    (Array.isArray(drafted) ? drafted : []).map((raw) =>
      // A picture alone is held for a second.
      typeof raw === "string" ? { url: raw, frames: second, raw } : { url: raw?.[image], frames: raw?.[hold], raw },
    );
  /** What is drafted now, also between two changes of which none is drawn yet. */
  const latest = useRef<any>(value);
  latest.current = value;
  const items = read(value);
  const [chosen, choose] = useState(0);
  const at = Math.min(chosen, Math.max(items.length - 1, 0));
  const item: Item | undefined = items[at];
  const [previews, setPreviews] = useState<Record<string, Preview>>({});
  const [troubles, complain] = useState<string[]>([]);
  const [live, say] = useState("");
  const [busy, setBusy] = useState({ words: "", share: 0 });
  const [isPlaying, play] = useState(false);
  const [shown, show] = useState(-1);
  const [typed, type] = useState("");
  const box = useRef<HTMLDivElement>(null);
  const strip = useRef<HTMLDivElement>(null);
  const file = useRef<HTMLInputElement>(null);
  /** What is being added; what is asked for meanwhile waits for it. */
  const coming = useRef<{ stop: AbortController; done: Promise<void> } | null>(null);
  const takesFocus = useRef(false);
  useEffect(() => () => coming.current?.stop.abort(), []);
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
    latest.current = now.length ? now.map(({ raw }) => raw) : undefined;
    change(latest.current);
    choose(Math.min(Math.max(next, 0), Math.max(now.length - 1, 0)));
    // Whoever goes on has read what could not be added.
    complain([]);
  };
  const entry = (url: any, frames: any, raw: any = {}): Item => {
    const named = typeof raw === "string" ? {} : raw;
    const whole = { ...named, [image]: url, [hold]: frames };
    if (frames === undefined) delete whole[hold];
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

  /** Add these one after the other, after what is being added already. */
  const add = async (sources: Source[], before = Infinity, words?: string) => {
    if (!sources.length) return;
    const stop = coming.current?.stop ?? new AbortController();
    const done = (coming.current?.done ?? Promise.resolve()).then(() => addAll(sources, before, stop.signal, words));
    coming.current = { stop, done };
    await done;
    if (coming.current?.done !== done) return;
    coming.current = null;
    setBusy({ words: "", share: 0 });
  };
  const addAll = async (sources: Source[], before: number, signal: AbortSignal, words?: string) => {
    const lost: string[] = [];
    let added = 0;
    for (const [number, source] of sources.entries()) {
      const now = read(latest.current);
      if (signal.aborted) return;
      if (now.length >= most) {
        lost.push(`At most ${counted(most, "picture")}; ${sources.length - number} left out.`);
        break;
      }
      const name = words ?? nameOf(source);
      const told = sources.length > 1 ? `Adding ${number + 1} of ${sources.length}: ${name}` : `Adding ${name}`;
      const onProgress = (share: number) =>
        signal.aborted || setBusy({ words: told, share: (number + share) / sources.length });
      onProgress(0);
      try {
        const url = await bring(source, name, { signal, onProgress });
        if (signal.aborted) return;
        const current = read(latest.current);
        const place = Math.min(before + added, current.length);
        set(current.toSpliced(place, 0, entry(url, second)), place);
        added += 1;
      } catch (error) {
        if (!signal.aborted && error instanceof Refused) lost.push(error.message);
      }
    }
    if (added) say(`${counted(added, "picture")} added.`);
    complain(lost);
  };
  /** What stands for it in the draft. */
  const bring = async (source: Source, name: string, options: Parameters<typeof link.pictures.upload>[2]) => {
    if (typeof source !== "string") return link.pictures.upload(source, name, options);
    if (isData(source)) return link.pictures.upload(fileOfData(source), name, options);
    return source.startsWith("film:") ? link.pictures.still(source) : source;
  };
  const stop = () => {
    coming.current?.stop.abort();
    coming.current = null;
    setBusy({ words: "", share: 0 });
    file.current?.focus();
  };
  useCatches(box, (sources, event) => {
    const row = strip.current;
    const isOnStrip = row && event instanceof DragEvent && row.contains(event.target as Element);
    add(sorted(sources), isOnStrip ? dropPlace(row, event) : Infinity);
  });
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
  const press = (place: number, event: PointerEvent) => {
    if (event.button || !event.isPrimary || !strip.current) return;
    pick(place);
    // A finger scrolls the page, but for on the grip.
    if (event.pointerType === "touch" && !(event.target as Element).matches(".rbf-tl-grip")) return;
    event.preventDefault();
    drag(strip.current, event, (to) => {
      takesFocus.current = true;
      move(place, to > place ? to - 1 : to);
    });
  };

  const wrongAt = (place: number) =>
    previews[items[place].url]?.error || field.problems.find((problem) => problem.at[0] === place)?.words || "";
  const keys = keysOf(items);
  const total = items.reduce((sum, one) => sum + framesOf(one), 0);
  const length = [counted(total, "frame"), secondsText(total, rate)].filter(Boolean).join(" · ");
  const totals = items.length ? `${counted(items.length, "picture")} · ${length}` : "";
  const visible = troubles.slice(0, MAX_TROUBLES);
  if (troubles.length > visible.length) visible.push(`${troubles.length - visible.length} more could not be added.`);
  return (
    <Frame field={field} isGroup isWide lead={<span class="rbf-caption rbf-tl-total">{totals}</span>}>
      <div class="rbf-tl" role="group" aria-labelledby={`${id}-label`} ref={box}>
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
          >
            {items.map((one, place) => (
              <Tile
                key={keys[place]}
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
                press={(event) => press(place, event)}
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
        <Busy label="Adding pictures" {...busy} stop={stop} />
        <p class="rbf-problem rbf-tl-troubles" role="status" hidden={!visible.length}>
          {visible.map((words) => (
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
                field={{
                  ...field,
                  id: `${id}-hold`,
                  node: { name: "", label: "", kind: "whole", min: least, max: longest, required: true },
                  value: item.frames,
                  problems: field.problems.filter((problem) => problem.at[0] === at).map((one) => ({ ...one, at: [] })),
                  change: (frames) => held([at], frames),
                }}
                hasSlider={false}
                label="Hold this picture, in frames"
              />
              <span>frames</span>
              <Seconds
                key={keys[at]}
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
      </div>
    </Frame>
  );
}

/** For each picture a key that goes with it wherever it is moved: its address, and which of those with the same one it is. */
function keysOf(items: Item[]) {
  const counts: Map<unknown, number> = new Map();
  return items.map(({ url }) => {
    counts.set(url, (counts.get(url) ?? 0) + 1);
    return `${counts.get(url)} ${url}`;
  });
}

function Act({ words, says, act, isOff }: { words: string; says: string; act: () => void; isOff?: boolean }) {
  return (
    <Quiet title={says} aria-label={says} act={act} isOff={!!isOff}>
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
  seen: () => void;
  press: (event: PointerEvent) => void;
}

function Tile({ item, number, of, rate, name, preview, wrong, isChosen, isOn, seen, press }: TileProps) {
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
      class={classes("rbf-tl-tile", (wrong || !frames) && "rbf-tl-wrong", isOn && "rbf-tl-on")}
      role="option"
      ref={el}
      aria-selected={isChosen}
      tabIndex={isChosen ? 0 : -1}
      style={{ "--rbf-hold": wide }}
      aria-label={`picture ${number} of ${of}, ${name}, ${hold}${wrong && `, ${wrong}`}`}
      title={wrong || name}
      onPointerDown={press}
    >
      <Thumb preview={preview} class="rbf-tl-thumb" />
      <span class="rbf-tl-number">{number}</span>
      <span class="rbf-tl-grip" aria-hidden="true">
        ⠿
      </span>
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

CONTROLS.timeline = Timeline;
