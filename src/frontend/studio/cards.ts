/** Small cards of runs: a poster in a box that is there before it, how the run stands, what it was and what it cost. */
import type { ClipShelf } from "../form/clip.ts";
import { drawKeyed } from "../form/keyed.ts";
import { runsIsLive, runsState } from "../form/run.ts";
import { dotted, made } from "../page/element.ts";

export type StudioFile = {
  kind: string;
  width: number;
  height: number;
  frames?: number;
  rate?: number;
  bytes?: number;
  name: string;
};
export type StudioCard = {
  key: string;
  status: string;
  mark: string;
  model: string;
  name: string;
  text: string;
  lead?: string;
  facts?: string[];
  asked?: string[];
  whole?: string;
  paid?: string;
  error?: string;
  percent?: string;
  count?: number;
  file?: StudioFile;
  older?: number;
};
export type StudioOne = {
  el: HTMLElement;
  button: HTMLElement;
  box: HTMLElement;
  state: HTMLElement;
  words: HTMLElement;
  tick: HTMLInputElement;
  label: HTMLElement;
  card: StudioCard;
  drawn: string;
};

const STUDIO_NEAR = "200px"; // So far from what is seen pictures are fetched,
const STUDIO_FAR = "1500px"; // and so far they are let go.

/** @param label What these runs are, for those who do not see them. */
export function studioCards(
  shelf: ClipShelf,
  label: string,
  { open, pick }: { open: (card: StudioCard) => void; pick: (card: StudioCard, isPicked: boolean) => void },
) {
  const list = made("ul", { class: "rbs-cards", "aria-label": label });
  let common = dotted([], { class: "rbf-caption rbs-common" });
  const el = made("div", { class: "rbs-listed" }, common, list);
  const ones: Map<string, StudioOne> = new Map();
  const byBox: WeakMap<Element, StudioOne> = new WeakMap();
  const near = new IntersectionObserver(
    (seen) =>
      seen.forEach(({ target, isIntersecting }) => {
        if (isIntersecting) load(byBox.get(target));
      }),
    { rootMargin: STUDIO_NEAR },
  );
  const far = new IntersectionObserver(
    (seen) =>
      seen.forEach(({ target, isIntersecting }) => {
        if (!isIntersecting) drop(byBox.get(target));
      }),
    { rootMargin: STUDIO_FAR },
  );
  const fine = () => (window.devicePixelRatio > 1.25 ? 320 : 0);

  const load = async (one: StudioOne | undefined) => {
    if (!one?.card.file || one.box.querySelector("img")) return;
    const { key } = one.card;
    const found = await shelf.poster(key, 0, fine());
    if (!one.el.isConnected || one.box.querySelector("img")) return;
    if (found.url) one.box.replaceChildren(made("img", { src: found.url, alt: "" }), ...studioBadge(one.card));
    else one.box.textContent = one.card.mark;
  };

  const drop = (one: StudioOne | undefined) => one?.box.querySelector("img")?.remove();

  const make = (card: StudioCard): StudioOne => {
    const box = made("span", { class: "rbs-box", "aria-hidden": "true" });
    const state = made("span", { class: "rbs-state" });
    const words = made("span", { class: "rbs-words" });
    const button = made("button", { type: "button", class: "rbs-card", "data-run": card.key }, box, state, words);
    const tick = made("input", { type: "checkbox" });
    const tickLabel = made("label", { class: "rbs-tick" }, tick, made("span", { text: "Compare" }));
    const one: StudioOne = {
      el: made("li", {}, button, tickLabel),
      button,
      box,
      state,
      words,
      tick,
      label: tickLabel,
      card,
      drawn: "",
    };
    button.addEventListener("click", () => open(one.card));
    tick.addEventListener("change", () => pick(one.card, tick.checked));
    byBox.set(box, one);
    near.observe(box);
    far.observe(box);
    return one;
  };

  /** @param equal What is the same on all cards, and said once above. */
  const draw = (one: StudioOne, card: StudioCard, equal: Set<string>) => {
    const text = JSON.stringify([card, [...equal]]);
    if (one.drawn === text) return;
    const hadFile = Boolean(one.card.file) && one.drawn !== "";
    one.card = card;
    one.drawn = text;
    const all = studioFacts(card),
      own = all.filter((fact) => !equal.has(fact));
    one.state.replaceChildren(
      made("span", {}, ...runsState(card), card.percent ? ` ${card.percent}` : ""),
      made("span", { class: "rbs-paid", text: card.paid ?? "" }),
    );
    one.words.replaceChildren(
      ...(card.error ? [made("span", { class: "rbs-error", text: card.error })] : []),
      ...(own.length ? [made("bdi", { class: "rbs-lead", text: own[0] })] : []),
      ...(own.length > 1 ? [dotted(own.slice(1))] : []),
    );
    one.button.title = [card.error, card.whole || all.join(" · "), card.name].filter(Boolean).join("\n");
    one.tick.setAttribute("aria-label", `Compare ${card.lead || card.name}`);
    one.label.hidden = !card.file;
    if (!card.file) one.box.textContent = card.percent ?? card.mark;
    else if (!hadFile) {
      one.box.replaceChildren(...studioBadge(card));
      // It may be in view already, and then nobody says so again.
      near.unobserve(one.box);
      near.observe(one.box);
    }
  };

  return {
    el,
    get cards() {
      return [...ones.values()].map((one) => one.card);
    },
    update: (cards: StudioCard[], opened: string, picked: Set<string>) => {
      const equal = studioEqual(cards);
      common.replaceWith((common = dotted([...equal], { class: "rbf-caption rbs-common", hidden: !equal.size })));
      const gone = (one: StudioOne) => {
        near.unobserve(one.box);
        far.unobserve(one.box);
      };
      const drawn = (one: StudioOne, card: StudioCard) => {
        draw(one, card, equal);
        one.button.setAttribute("aria-pressed", String(card.key === opened));
        one.tick.checked = picked.has(card.key);
      };
      drawKeyed(list, ones, cards, { key: (card) => card.key, make, draw: drawn, gone });
      el.hidden = !cards.length;
    },
    focus: (key: string) => ones.get(key)?.button.focus(),
    dispose: () => {
      near.disconnect();
      far.disconnect();
    },
  };
}

/** The facts of a run on its card, the most distinctive first. */
function studioFacts(card: StudioCard) {
  return [card.lead || card.name, ...(card.facts ?? []).filter((fact) => fact !== card.paid), ...(card.asked ?? [])];
}

/** What all of several cards say. */
function studioEqual(cards: StudioCard[]): Set<string> {
  const [first, ...others] = cards.map((card) => new Set(studioFacts(card)));
  return new Set(others.length ? [...first].filter((fact) => others.every((one) => one.has(fact))) : []);
}

/** A run whose kernel is gone, as `runsLost` says it of the large one. */
export function studioLost(card: StudioCard): StudioCard {
  const { percent, ...rest } = card;
  return runsIsLive(card) ? { ...rest, status: "uncertain", mark: "?" } : card;
}

/** How many files a run has, where it is more than one; and that it plays. */
function studioBadge(card: StudioCard) {
  const words = (card.count ?? 0) > 1 ? `${card.count} files` : "";
  const isVideo = card.file?.kind.startsWith("video/");
  return words || isVideo
    ? [made("span", { class: "rbs-badge" }, ...(isVideo ? [made("span", { class: "rbf-clip-triangle" })] : []), words)]
    : [];
}
