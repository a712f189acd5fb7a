// @ts-check
/** Runs beside each other: clips on one clock, pictures as they are. */
import { clipBox, clipReserve } from "./form_clip.js";
import { dom } from "./form_dom.js";

/** @typedef {import("./form_clip.js").ClipShelf} ClipShelf */
/** @typedef {import("./studio_cards.js").StudioCard} StudioCard */

export const STUDIO_MOST = 12;

/**
 * @param {ClipShelf} shelf @param {StudioCard[]} cards @param {any} clock What the clock's modules export.
 * @param {() => void} close
 */
export function studioCompare(shelf, cards, clock, close) {
  const done = dom("button", { type: "button", class: "rbf-quiet", text: "Close" });
  const said = dom("span", { class: "rbf-caption", role: "status", text: "Loading" });
  const grid = dom("div", { class: "rbs-beside" });
  const el = dom("section", { class: "rbs-compare", tabindex: "-1", "aria-label": `${cards.length} runs side by side` },
    dom("div", { class: "rbs-bar" }, dom("b", { text: "Side by side" }), said, done));
  const stage = document.createElement("template");
  // A text of ours with nothing in it that comes from elsewhere.
  stage.innerHTML = STUDIO_CLOCK;
  const group = /** @type {HTMLElement} */ (stage.content.firstElementChild);
  group.classList.remove("rb");
  group.setAttribute("aria-label", "clips on one clock");
  group.querySelector("[data-rb-clips]")?.replaceWith(grid);
  el.append(group);
  done.addEventListener("click", close);
  el.addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });

  let isOver = false;
  /** @type {any} */
  let running = null;
  /** @type {string[]} */
  const held = [];
  const places = cards.map((card) => studioPlace(card));
  grid.append(...places.map((place) => place.el));

  const load = async () => {
    const found = await Promise.all(places.map(async ({ card, frame, note }) => {
      shelf.poster(card.key, 0, 320).then(({ url }) => { if (url && !isOver) frame.prepend(dom("img", { src: url, alt: "" })); });
      const found = await shelf.clip(card.key, 0, () => {});
      if (found.url) held.push(card.key);
      else note.textContent = found.words;
      return { card, frame, url: found.url, found };
    }));
    if (isOver) return leave();
    said.textContent = "";
    const films = found.filter(({ card, url }) => url && card.file?.kind.startsWith("video/"));
    for (const { card, frame, url } of found) {
      if (!url || films.some((film) => film.card === card)) continue;
      frame.replaceChildren(dom("img", { src: url, alt: card.lead || card.name }));
    }
    for (const { card, frame, url } of films) {
      frame.dataset.frames = String(card.file?.frames ?? 1);
      frame.dataset.rate = String(card.file?.rate ?? 24);
      const video = /** @type {HTMLVideoElement} */ (dom("video", { src: url, playsinline: true, disablepictureinpicture: true, preload: "none", tabindex: "-1", "aria-label": card.lead || card.name }));
      video.muted = true;
      frame.append(video);
    }
    if (films.length) running = studioClock(group, films, clock);
    return undefined;
  };

  const leave = () => { held.splice(0).forEach((key) => shelf.leave(key, 0)); };
  load();
  return {
    el,
    dispose: () => {
      isOver = true;
      running?.();
      leave();
      el.remove();
    },
  };
}

/** @param {StudioCard} card */
function studioPlace(card) {
  const frame = dom("div", { class: "rb-clip" });
  const { width, height } = card.file ?? { width: 16, height: 9 };
  clipReserve(frame, clipBox(width, height, { isVideo: true, isAlone: true }));
  frame.style.width = "100%";
  const note = dom("p", { class: "rbf-caption" });
  const caption = dom("div", { class: "rbf-caption", title: card.whole ?? "" }, dom("bdi", { text: [card.lead || card.name, ...(card.facts ?? [])].join(" · ") }));
  return { card, frame, note, el: dom("div", { class: "rbs-place" }, frame, caption, note) };
}

/**
 * Put these on one clock that ends with them.
 * @param {HTMLElement} group @param {{frame: HTMLElement, found: any}[]} films
 * @param {any} made
 */
function studioClock(group, films, { Clip: ClipOf, Clock: ClockOf, buttons: buttonsOf, keys: keysOf, watchView: watchViewOf, watchPage: watchPageOf }) {
  const clips = films.map(({ frame, found }) => new ClipOf(frame, async () => (
    { url: found.url, index: found.index, bytes: new Uint8Array(await found.blob.arrayBuffer()) })));
  const clock = new ClockOf(clips);
  buttonsOf(group, clock);
  group.addEventListener("keydown", (event) => keysOf(event, clock));
  films.forEach(({ frame }) => frame.addEventListener("click", () => clock.toggle()));
  const forget = [watchViewOf(clock).stop, watchPageOf(clock)];
  return () => {
    forget.forEach((action) => action());
    clock.close();
  };
}
