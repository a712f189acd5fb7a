// @ts-check
/** The gallery of a studio: cards of all runs, one of them large, some of them compared. */
import { ClipShelf } from "./form_clip.js";
import { made } from "../../../display/assets/table_element.js";
import { runsIsLive, runsLarge, runsLost } from "./form_run.js";
import { studioCards, studioLost } from "./studio_cards.js";
import { STUDIO_MOST, studioCompare } from "./studio_compare.js";
import { studioEarlier } from "./studio_earlier.js";
import { quietButton } from "./form_quiet.js";

/** @typedef {import("./studio_link.js").StudioLink} StudioLink */
/** @typedef {import("./studio_cards.js").StudioCard} StudioCard */

/** @param {StudioLink} link */
export function studioGallery(link) {
  const shelf = new ClipShelf(/** @type {any} */ (link));
  const count = made("span", { class: "rbf-caption", role: "status" });
  const search = /** @type {HTMLInputElement} */ (made("input", { type: "search", placeholder: "Search", "aria-label": "Search in prompts, models and errors" }));
  const models = /** @type {HTMLSelectElement} */ (made("select", { "aria-label": "Model" }));
  const bar = studioPicked(() => compare(), () => { picked.clear(); draw(); });
  const slot = made("div", {});
  const empty = made("p", { class: "rbf-caption", text: "Your runs appear here." });
  /** What was chosen to be compared, by key. @type {Map<string, StudioCard>} */
  const picked = new Map();
  const does = {
    open: (/** @type {StudioCard} */ card) => open(card),
    pick: (/** @type {StudioCard} */ card, /** @type {boolean} */ isPicked) => {
      if (isPicked && picked.size < STUDIO_MOST) picked.set(card.key, card);
      else picked.delete(card.key);
      draw();
    },
  };
  const own = studioCards(shelf, "runs of this studio, newest first", does);
  const earlier = studioEarlier(link, studioCards(shelf, "earlier runs from the library, newest first", does), () => draw());
  const tools = made("div", { class: "rbs-tools" }, search, models, earlier.button);
  const el = made("div", { class: "rbs-gallery" },
    made("div", { class: "rbs-bar" }, made("b", { text: "Gallery" }), count), tools, bar.el, slot, empty, own.el, earlier.el);
  let opened = "", skew = 0;
  /** @type {ReturnType<typeof studioLarge> | null} */
  let large = null;
  /** @type {ReturnType<typeof studioCompare> | null} */
  let beside = null;

  const wanted = () => ({ words: search.value.toLowerCase().split(/\s+/).filter(Boolean), model: models.value });

  /** @returns {StudioCard[]} */
  const readCards = () => (link.hasEnded ? link.model.get("cards").map(studioLost) : link.model.get("cards"));

  const draw = () => {
    const cards = readCards();
    studioModels(models, [...cards, ...earlier.cards], earlier.models);
    const { words, model } = wanted();
    const found = cards.filter((card) => (!model || card.model === model) && words.every((word) => card.text.includes(word)));
    const keys = new Set(picked.keys());
    own.update(found, opened, keys);
    earlier.draw(opened, keys);
    const all = `${cards.length} run${cards.length === 1 ? "" : "s"}`;
    const older = cards[cards.length - 1]?.older;
    const now = !cards.length ? "" : found.length < cards.length ? `${found.length} of ${all}` : older ? `${all}, ${older} older in the library` : all;
    if (count.textContent !== now) count.textContent = now;
    empty.hidden = cards.length > 0;
    bar.show(picked.size);
    large?.picked(picked.has(opened));
    return cards;
  };

  /** @param {boolean} hasFocus Whether the focus goes back to where this was opened. */
  const close = (hasFocus = false) => {
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

  /** @param {StudioCard} card */
  const open = (card) => {
    if (opened === card.key) return close(true);
    close();
    opened = card.key;
    const now = () => (Date.now() + skew) / 1000;
    large = studioLarge(link, shelf, card, { now, close: () => close(true), pick: () => does.pick(card, !picked.has(card.key)) });
    slot.append(large.el);
    draw();
    studioSee(large.el);
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
    link.on("clock", (content) => { skew = 1000 * content.clock - Date.now(); }),
    link.on("shown", (content) => { if (content.shown === opened) large?.update(content.entry); }),
    link.on("used", (content) => {
      if (content.used !== opened) return;
      large?.say(content.words);
      if (!content.failed) studioUp(el);
    }),
    link.on("trouble", (content) => (beside ?? large)?.say(content.trouble)),
    link.on("ended", () => {
      draw();
      if (link.hasEnded) large?.lost();
    }),
  ];
  link.follow(["cards"], () => {
    const cards = draw();
    large?.changed(cards.find((card) => card.key === opened));
  });
  const ticking = window.setInterval(() => large?.tick(), 1000);
  // Of a kernel that is restarted the host knows at once.
  const asks = () => link.ask({ do: "clock" });
  link.model.on("comm_live_update", asks);
  asks();
  return { el, dispose: () => {
    clearInterval(ticking);
    clearTimeout(timer);
    link.model.off("comm_live_update", asks);
    offs.forEach((off) => off());
    close();
    own.dispose();
    earlier.dispose();
    shelf.dispose();
  } };
}

/** What was chosen to be compared. @param {() => void} compare @param {() => void} clear */
function studioPicked(compare, clear) {
  const status = made("span", { class: "rbf-caption", role: "status" });
  const go = /** @type {HTMLButtonElement} */ (made("button", { type: "button", text: "Compare", onclick: () => compare() }));
  const none = quietButton("Clear", clear);
  const el = made("div", { class: "rbf-row rbs-picked", hidden: true }, go, none, status);
  return {
    el,
    focus: () => go.focus(),
    /** @param {number} size */
    show: (size) => {
      el.hidden = size === 0;
      go.disabled = size < 2;
      const words = size < 2 ? "1 chosen; choose one more to compare" : `${size} chosen${size === STUDIO_MOST ? ", the maximum" : ""}`;
      if (size && status.textContent !== words) status.textContent = words;
    },
  };
}

/**
 * One run, large: fetched when it is opened, and again when its card changes.
 * @param {StudioLink} link @param {ClipShelf} shelf @param {StudioCard} card
 * @param {{now: () => number, close: () => void, pick: () => void}} does
 */
function studioLarge(link, shelf, card, { now, close, pick }) {
  const done = quietButton("Close", close);
  const compare = quietButton("Compare", () => pick(), { title: "Choose this run and another to compare them", hidden: !card.file });
  const said = made("span", { class: "rbf-caption", role: "status" });
  const body = made("div", {});
  const el = made("section", { class: "rbf-runs rbs-large", tabindex: "-1", "aria-label": card.lead || card.name },
    made("div", { class: "rbs-bar" }, made("span", { class: "rbf-caption", text: card.name }), said, compare, done), body);
  /** @type {ReturnType<typeof runsLarge> | null} */
  let run = null;
  /** What the kernel said of it last. @type {any} */
  let latest = null;
  let drawn = JSON.stringify(card);
  const ask = () => link.send({ do: "show", run: card.key }).catch(() => { said.textContent = "The kernel has ended; run the cell again to see it here."; });
  el.addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });
  ask();
  return {
    el,
    tick: () => run?.tick(),
    lost: () => { if (latest) run?.update(runsLost(latest)); },
    say: (/** @type {string} */ words) => { said.textContent = words; },
    /** @param {boolean} isPicked */
    picked: (isPicked) => {
      compare.textContent = isPicked ? "Remove from comparison" : "Compare";
    },
    /** @param {StudioCard | undefined} next */
    changed: (next) => {
      const text = JSON.stringify(next);
      if (!next || text === drawn) return;
      drawn = text;
      compare.hidden = !next.file;
      ask();
    },
    /** @param {any} entry */
    update: (entry) => {
      latest = entry;
      if (run) return run.update(entry);
      const shape = card.file ? [card.file.width, card.file.height] : [16000, 9000];
      run = runsLarge(/** @type {any} */ (link), shelf, entry, { isNewest: false, shape, now });
      body.append(run.el);
      // Whoever opens a clip wants to see it move; of several none plays by itself.
      const clips = /** @type {NodeListOf<HTMLElement>} */ (run.el.querySelectorAll(".rbf-clip-play"));
      if (clips.length === 1 && !runsIsLive(entry)) clips[0].click();
      return undefined;
    },
    dispose: () => {
      run?.dispose();
      el.remove();
    },
  };
}

/** The models that there are runs of. @param {HTMLSelectElement} select @param {StudioCard[]} cards @param {string[]} more */
function studioModels(select, cards, more) {
  const names = [...new Set([...cards.map((card) => card.model), ...more])].sort();
  if (JSON.stringify(names) === select.dataset.names) return;
  select.dataset.names = JSON.stringify(names);
  const was = select.value;
  select.replaceChildren(made("option", { value: "", text: "All models" }), ...names.map((name) => made("option", { value: name, text: name.split("/").pop() || name, title: name })));
  select.value = names.includes(was) ? was : "";
}

/** Bring something into view that was just opened. @param {HTMLElement} el */
function studioSee(el) {
  el.focus({ preventScroll: true });
  el.scrollIntoView({ block: "nearest" });
}

/** Go to the form, which has been filled. @param {HTMLElement} el */
function studioUp(el) {
  const head = /** @type {HTMLElement | null | undefined} */ (el.closest(".widget-vbox")?.querySelector(".rbs-model"));
  head?.scrollIntoView({ block: "nearest" });
  head?.focus({ preventScroll: true });
}
