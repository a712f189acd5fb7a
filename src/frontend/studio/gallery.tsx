/** The shelf of a studio: all runs of the library as cards, one of them large, some of them chosen. */

import { render } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Card, Drawn, Poster, Quiet, State, UseIn } from "../form/card.tsx";
import type { KernelLink } from "../form/kernel.ts";
import { made } from "../page/element.ts";
import { serveFiles } from "../page/kernel_link.ts";

type Run = {
  key: string;
  status: string;
  mark: string;
  title: string;
  name: string;
  facts: string[];
  error: string;
  file?: number;
  star: boolean;
  hidden: boolean;
};

const PAGE = 24;
const MOST = 12; // Runs that can be compared at once.
const LOST = "The kernel has ended; run the cell again to continue.";
const ONLY: [string, string][] = [
  ["", "All runs"],
  ["starred", "Starred"],
  ["hidden", "Hidden"],
];

/** The viewer of `rb.compare`, as the kernel has drawn it. */
function Comparison({ html, close }: { html: string; close: () => void }) {
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    const el = box.current;
    el?.focus({ preventScroll: true });
    el?.scrollIntoView({ block: "nearest" });
    // Its clips are let go with it.
    return () => (el?.querySelector("[data-rb-compare]") as any)?.compare?.close();
  }, [html]);
  const onKeyDown = (event: KeyboardEvent) => event.key === "Escape" && close();
  return (
    <section ref={box} class="rbs-compare" tabIndex={-1} aria-label="Runs compared" onKeyDown={onKeyDown}>
      <div class="rbs-bar">
        <b>Comparison</b>
        <span class="rbf-caption" role="status">
          {html ? "" : "Loading"}
        </span>
        <Quiet label="Close" act={close} />
      </div>
      {html ? <Drawn html={html} hasScripts /> : null}
    </section>
  );
}

export function makeGallery(link: KernelLink) {
  const { model } = link;
  const unserve = serveFiles({ model });
  const el = made("div", { class: "rbs-gallery" });
  const wish = { text: "", model: "", only: "", count: PAGE };
  const cards: Map<string, string> = new Map();
  const picked: Set<string> = new Set();
  let opened = "",
    said = "",
    asks = "",
    turn = 0,
    timer = 0;
  let compared: string | null = null;

  const shelf = () => model.get("shelf");
  const runs = (): Run[] => shelf().cards;
  const find = (selector: string) => el.querySelector<HTMLElement>(selector);
  const look = (changes: Partial<typeof wish> = {}) => {
    Object.assign(wish, changes);
    turn += 1;
    link.ask({ do: "find", turn, ...wish });
    draw();
  };
  const act = (what: string, keys: string[], more: any = {}) => {
    asks = "";
    said = what === "compare" || what === "save" ? "…" : "";
    link.ask({ do: "act", what, runs: keys, ...more });
    draw();
  };
  const pick = (key: string) => {
    if (!picked.delete(key)) picked.add(key);
    draw();
  };
  const close = () => {
    const was = opened;
    opened = said = "";
    compared = null;
    draw();
    find(`[data-run="${was}"]`)?.focus();
  };
  const open = (key: string) => {
    if (!key || key === opened) return close();
    opened = key;
    said = asks = "";
    compared = null;
    if (!cards.has(key)) link.ask({ do: "show", run: key });
    draw();
    const large = find(".rbs-large");
    large?.focus({ preventScroll: true });
    large?.scrollIntoView({ block: "nearest" });
  };
  /** Go to the run before or after the open one. */
  const step = (by: number) => {
    const keys = runs().map(({ key }) => key);
    const next = keys[keys.indexOf(opened) + by];
    if (next) open(next);
  };
  const onKey = (event: any) => {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key as string];
    if (event.key === "Escape") return close();
    if (!by || /^(SELECT|INPUT)$/.test(event.target.tagName)) return;
    event.preventDefault();
    step(by);
  };

  const drawLarge = () => {
    const run = runs().find(({ key }) => key === opened);
    const places = runs().map(({ key }) => key);
    const at = places.indexOf(opened);
    const use = (message: any) => act(message.what, [opened], message);
    return (
      <section class="rbf-runs rbs-large" tabIndex={-1} aria-label={run?.title ?? `run ${opened}`} onKeyDown={onKey}>
        <div class="rbs-bar">
          <span class="rbf-caption">{run ? `${run.name} · run ${run.key}` : ""}</span>
          <span />
          <Quiet label="‹ Newer" title="↑" aria-disabled={at < 1} act={() => step(-1)} />
          <Quiet label="Older ›" title="↓" aria-disabled={at < 0 || at + 1 >= places.length} act={() => step(1)} />
          <Quiet label="Close" act={close} />
        </div>
        <Card key={opened} label={`run ${opened}`} html={cards.get(opened) ?? ""} said={said}>
          <Quiet label="Use these inputs" act={() => use({ what: "use" })} />
          {run?.file === undefined ? null : <UseIn uses={shelf().uses ?? []} use={use} />}
          {run ? drawTools([run]) : null}
        </Card>
      </section>
    );
  };

  /** What can be done with one run, or with several. */
  const drawTools = (chosen: Run[]) => {
    const keys = chosen.map(({ key }) => key);
    const hasStars = chosen.every(({ star }) => star),
      isHidden = chosen.every(({ hidden }) => hidden);
    if (asks)
      return (
        <span role="alert">
          {asks}{" "}
          <button type="button" onClick={() => act("delete", keys, { sure: true })}>
            Delete
          </button>{" "}
          <Quiet
            label="Keep"
            act={() => {
              asks = "";
              draw();
            }}
          />
        </span>
      );
    return (
      <>
        <Quiet
          label={hasStars ? "★ Starred" : "☆ Star"}
          aria-pressed={hasStars}
          act={() => act(hasStars ? "unmark" : "star", keys)}
        />
        <Quiet label={isHidden ? "Show again" : "Hide"} act={() => act(isHidden ? "unmark" : "hide", keys)} />
        <Quiet
          label="Save to a folder"
          title="Next to the notebook, under readable names"
          act={() => act("save", keys)}
        />
        <Quiet label="Delete…" act={() => act("delete", keys)} />
      </>
    );
  };

  const drawPicked = () => {
    const chosen = runs().filter(({ key }) => picked.has(key));
    if (!picked.size) return null;
    const isMany = picked.size > 1 && picked.size <= MOST;
    return (
      <div class="rbf-row rbs-picked">
        <button
          type="button"
          disabled={!isMany}
          onClick={() => {
            opened = "";
            compared = "";
            act("compare", [...picked]);
          }}
        >
          Compare
        </button>
        {opened ? null : drawTools(chosen)}
        <Quiet
          label="Clear"
          act={() => {
            picked.clear();
            draw();
          }}
        />
        <span class="rbf-caption" role="status">
          {`${picked.size} chosen${picked.size > MOST ? `; ${MOST} can be compared` : ""}`} {opened ? "" : said}
        </span>
      </div>
    );
  };

  const drawCard = (run: Run) => (
    <li key={run.key}>
      <button
        type="button"
        class="rbs-card"
        data-run={run.key}
        aria-pressed={run.key === opened}
        title={[run.error, run.title, ...run.facts].filter(Boolean).join("\n")}
        onClick={() => open(run.key)}
      >
        <Poster fileKey={model.get("key")} file={run.file} sign={run.mark} />
        <span class="rbs-state">
          <span>
            <State mark={run.mark} status={run.status} />
          </span>
          {run.star ? <span title="Starred">★</span> : null}
        </span>
        <span class="rbs-words">
          {run.error ? <span class="rbs-error">{run.error}</span> : null}
          <bdi class="rbs-lead">{run.title}</bdi>
          <span>{run.facts.join(" · ")}</span>
        </span>
      </button>
      <label class="rbs-tick">
        <input
          type="checkbox"
          checked={picked.has(run.key)}
          aria-label={`Choose run ${run.key}, ${run.title}`}
          onChange={() => pick(run.key)}
        />
        <span>Choose</span>
      </label>
    </li>
  );

  const seek = (changes: Partial<typeof wish>) => {
    Object.assign(wish, changes, { count: PAGE });
    clearTimeout(timer);
    timer = window.setTimeout(look, 250);
    draw();
  };

  const draw = () => {
    const { cards: listed, total, of = 0, models, words } = shelf();
    const isLooking = shelf().turn < turn;
    const amount =
      total < of
        ? `${total.toLocaleString("en")} of ${of.toLocaleString("en")} runs`
        : `${of.toLocaleString("en")} run${of === 1 ? "" : "s"}`;
    const empty = of ? "No run in the library matches." : "Your runs appear here.";
    render(
      <>
        <div class="rbs-bar">
          <b>Gallery</b>
          <span class="rbf-caption" role="status">
            {link.hasEnded ? LOST : (words ?? (isLooking ? "Looking" : of ? amount : ""))}
          </span>
        </div>
        <div class="rbs-tools">
          <input
            type="search"
            placeholder="Search"
            aria-label="Search in prompts, models and errors"
            value={wish.text}
            onInput={(event) => seek({ text: event.currentTarget.value })}
          />
          <select
            aria-label="Model"
            value={wish.model}
            onChange={(event) => seek({ model: event.currentTarget.value })}
          >
            <option value="">All models</option>
            {models.map((name: string) => (
              <option key={name} value={name}>
                {name.split("/").pop()}
              </option>
            ))}
          </select>
          <select
            aria-label="Which runs"
            value={wish.only}
            onChange={(event) => seek({ only: event.currentTarget.value })}
          >
            {ONLY.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </div>
        {drawPicked()}
        {opened ? drawLarge() : null}
        {compared === null ? null : <Comparison html={compared} close={close} />}
        {listed.length || isLooking ? null : <p class="rbf-caption">{empty}</p>}
        <ul class="rbs-cards" aria-label="runs of the library, newest first">
          {listed.map(drawCard)}
        </ul>
        {listed.length < total ? (
          <div class="rbf-row">
            <button type="button" disabled={isLooking} onClick={() => look({ count: wish.count + PAGE })}>
              Show more
            </button>
          </div>
        ) : null}
      </>,
      el,
    );
  };

  const offs = [
    link.on("card", ({ card, html }) => {
      cards.set(card, html);
      draw();
    }),
    link.on("acted", ({ acted, what, words, ask, used, html }) => {
      if (html && compared !== null) compared = html;
      asks = ask ?? "";
      said = words ?? "";
      if (what === "delete" && !ask) for (const key of acted) cards.delete(key);
      draw();
      // Go to the form, which has been filled.
      const head = used ? el.closest(".widget-vbox")?.querySelector<HTMLElement>(".rbs-model") : null;
      head?.scrollIntoView({ block: "nearest" });
      head?.focus({ preventScroll: true });
    }),
    link.on("trouble", ({ trouble }) => {
      said = trouble;
      draw();
    }),
    link.on("ended", draw),
  ];
  const changed = () => {
    // A run whose state has changed has another card.
    for (const { key, status } of runs()) if (!/completed|failed|cancelled/.test(status)) cards.delete(key);
    draw();
  };
  model.on("change:shelf", changed);
  // Of a kernel that is restarted the host knows at once.
  const asksAgain = () => look();
  model.on("comm_live_update", asksAgain);
  look();
  return {
    el,
    dispose: () => {
      clearTimeout(timer);
      model.off("comm_live_update", asksAgain);
      model.off("change:shelf", changed);
      for (const off of offs) off();
      render(null, el);
      unserve();
    },
  };
}
