/** The gallery of a studio: cards of all runs, one of them large, some of them compared. */

import { ClipShelf } from "../form/clip.ts";
import { quietButton } from "../form/quiet.ts";
import { runsIsLive, runsLarge, runsLost } from "../form/run.ts";
import { made } from "../page/element.ts";
import { type StudioCard, studioCards, studioText } from "./cards.ts";
import { STUDIO_MOST, studioCompare } from "./compare.ts";
import { studioEarlier } from "./earlier.ts";
import type { StudioLink } from "./link.ts";

export function studioGallery(link: StudioLink) {
  const shelf = new ClipShelf(link);
  const count = made("span", { class: "rbf-caption", role: "status" });
  const search = made("input", {
    type: "search",
    placeholder: "Search",
    "aria-label": "Search in prompts, models and errors",
  });
  const models = made("select", { "aria-label": "Model" });
  const bar = studioPicked(
    () => compare(),
    () => {
      picked.clear();
      draw();
    },
  );
  const slot = made("div", {});
  const empty = made("p", { class: "rbf-caption", text: "Your runs appear here." });
  /** What was chosen to be compared, by key. */
  const picked: Map<string, StudioCard> = new Map();
  const does = {
    open: (card: StudioCard) => open(card),
    pick: (card: StudioCard, isPicked: boolean) => {
      if (isPicked && picked.size < STUDIO_MOST) picked.set(card.key, card);
      else picked.delete(card.key);
      draw();
    },
  };
  const own = studioCards(shelf, "runs of this studio, newest first", does);
  const earlier = studioEarlier(link, studioCards(shelf, "earlier runs from the library, newest first", does), () =>
    draw(),
  );
  const tools = made("div", { class: "rbs-tools" }, search, models);
  const el = made(
    "div",
    { class: "rbs-gallery" },
    made("div", { class: "rbs-bar" }, made("b", { text: "Gallery" }), count),
    tools,
    bar.el,
    slot,
    empty,
    own.el,
    earlier.el,
  );
  let opened = "",
    skew = 0;
  let large: ReturnType<typeof studioLarge> | null = null;
  let beside: ReturnType<typeof studioCompare> | null = null;

  const wanted = () => ({ words: search.value.toLowerCase().split(/\s+/).filter(Boolean), model: models.value });

  const readCards = (): StudioCard[] =>
    link.hasEnded ? link.model.get("cards").map(runsLost) : link.model.get("cards");

  const draw = () => {
    const cards = readCards();
    studioModels(models, [...cards, ...earlier.cards], earlier.models);
    const { words, model } = wanted();
    const found = cards.filter(
      (card) => (!model || card.model === model) && words.every((word) => studioText(card).includes(word)),
    );
    const keys = new Set(picked.keys());
    own.update(found, opened, keys);
    earlier.draw(opened, keys);
    const all = `${cards.length} run${cards.length === 1 ? "" : "s"}`;
    const older = cards[cards.length - 1]?.older;
    const now = !cards.length
      ? ""
      : found.length < cards.length
        ? `${found.length} of ${all}`
        : older
          ? `${all}, ${older} older in the library`
          : all;
    if (count.textContent !== now) count.textContent = now;
    empty.hidden = cards.length + earlier.cards.length > 0;
    bar.show(picked.size);
    large?.picked(picked.has(opened));
    return cards;
  };

  /** @param hasFocus Whether the focus goes back to where this was opened. */
  const close = (hasFocus: boolean = false) => {
    const was = opened;
    large?.dispose();
    beside?.dispose();
    large = beside = null;
    opened = "";
    draw();
    if (hasFocus && was) {
      own.focus(was);
      earlier.focus(was);
    }
  };

  const open = (card: StudioCard) => {
    if (opened === card.key) return close(true);
    close();
    opened = card.key;
    const now = () => (Date.now() + skew) / 1000;
    large = studioLarge(link, shelf, card, {
      now,
      close: () => close(true),
      pick: () => does.pick(card, !picked.has(card.key)),
    });
    slot.append(large.el);
    draw();
    studioSee(large.el);
    large.play();
    return undefined;
  };

  const compare = () => {
    close();
    beside = studioCompare(link, shelf, [...picked.keys()], () => {
      close();
      bar.focus();
    });
    slot.append(beside.el);
    studioSee(beside.el);
  };

  let timer = 0;
  const sought = () => {
    draw();
    clearTimeout(timer);
    timer = window.setTimeout(() => earlier.seek(search.value, models.value), 250);
  };
  search.addEventListener("input", sought);
  models.addEventListener("change", sought);
  const offs = [
    link.on("clock", (content) => {
      skew = 1000 * content.clock - Date.now();
    }),
    link.on("used", (content) => {
      if (content.used !== opened) return;
      large?.say(content.words);
      if (!content.failed) studioUp(el);
    }),
    link.on("trouble", (content) => (beside ?? large)?.say(content.trouble)),
    link.on("ended", () => changed()),
  ];
  const changed = () => {
    const card = [...draw(), ...earlier.cards].find(({ key }) => key === opened);
    if (card) large?.update(link.hasEnded ? runsLost(card) : card);
  };
  link.follow(["cards"], changed);
  const ticking = window.setInterval(() => large?.tick(), 1000);
  // Of a kernel that is restarted the host knows at once.
  const asks = () => link.ask({ do: "clock" });
  link.model.on("comm_live_update", asks);
  asks();
  return {
    el,
    dispose: () => {
      clearInterval(ticking);
      clearTimeout(timer);
      link.model.off("comm_live_update", asks);
      offs.forEach((off) => off());
      close();
      own.dispose();
      earlier.dispose();
      shelf.dispose();
    },
  };
}

/** What was chosen to be compared. */
function studioPicked(compare: () => void, clear: () => void) {
  const status = made("span", { class: "rbf-caption", role: "status" });
  const go = made("button", { type: "button", text: "Compare", onclick: () => compare() });
  const none = quietButton("Clear", clear);
  const el = made("div", { class: "rbf-row rbs-picked", hidden: true }, go, none, status);
  return {
    el,
    focus: () => go.focus(),
    show: (size: number) => {
      el.hidden = size === 0;
      go.disabled = size < 2;
      const words =
        size < 2
          ? "1 chosen; choose one more to compare"
          : `${size} chosen${size === STUDIO_MOST ? ", the maximum" : ""}`;
      if (size && status.textContent !== words) status.textContent = words;
    },
  };
}

/** One run, large. */
function studioLarge(
  link: StudioLink,
  shelf: ClipShelf,
  card: StudioCard,
  { now, close, pick }: { now: () => number; close: () => void; pick: () => void },
) {
  const done = quietButton("Close", close);
  const compare = quietButton("Compare", pick, { title: "Choose this run and another to compare them" });
  const said = made("span", { class: "rbf-caption", role: "status" });
  const file = card.files?.[0];
  const shape = file ? [file.width, file.height] : [16000, 9000];
  const run = runsLarge(link as any, shelf, card, { isNewest: false, shape, now });
  const el = made(
    "section",
    { class: "rbf-runs rbs-large", tabindex: "-1", "aria-label": card.lead || card.name },
    made("div", { class: "rbs-bar" }, made("span", { class: "rbf-caption", text: card.name }), said, compare, done),
    run.el,
  );
  el.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
  });
  const update = (next: StudioCard) => {
    compare.hidden = !next.files?.length;
    run.update(next);
  };
  update(card);
  return {
    el,
    update,
    tick: run.tick,
    /** Whoever opens a clip wants to see it move; of several none plays by itself. */
    play: () => {
      const clips = run.el.querySelectorAll<HTMLElement>(".rbf-clip-play");
      if (clips.length === 1 && !runsIsLive(card)) clips[0].click();
    },
    say: (words: string) => {
      said.textContent = words;
    },
    picked: (isPicked: boolean) => {
      compare.textContent = isPicked ? "Remove from comparison" : "Compare";
    },
    dispose: () => {
      run.dispose();
      el.remove();
    },
  };
}

/** The models that there are runs of. */
function studioModels(select: HTMLSelectElement, cards: StudioCard[], more: string[]) {
  const names = [...new Set([...cards.map((card) => card.model), ...more])].sort();
  if (JSON.stringify(names) === select.dataset.names) return;
  select.dataset.names = JSON.stringify(names);
  const was = select.value;
  select.replaceChildren(
    made("option", { value: "", text: "All models" }),
    ...names.map((name) => made("option", { value: name, text: name.split("/").pop() || name, title: name })),
  );
  select.value = names.includes(was) ? was : "";
}

/** Bring something into view that was just opened. */
function studioSee(el: HTMLElement) {
  el.focus({ preventScroll: true });
  el.scrollIntoView({ block: "nearest" });
}

/** Go to the form, which has been filled. */
function studioUp(el: HTMLElement) {
  const head = el.closest(".widget-vbox")?.querySelector(".rbs-model") as HTMLElement | null | undefined;
  head?.scrollIntoView({ block: "nearest" });
  head?.focus({ preventScroll: true });
}
