/** The cards of a gallery: a poster in a box that is there before it, how the run stands, what it was and what it cost. */
import { makeCards } from "../form/cards.ts";
import type { ClipShelf } from "../form/clip.ts";
import { runsIsLive, runsState } from "../form/run.ts";
import { dotted, made } from "../page/element.ts";

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
  file?: { kind: string; width: number; height: number };
  older?: number;
};

/** @param label What these runs are, for those who do not see them. */
export function studioCards(
  shelf: ClipShelf,
  label: string,
  { open, pick }: { open: (card: StudioCard) => void; pick: (card: StudioCard, isPicked: boolean) => void },
) {
  const list = made("ul", { class: "rbs-cards", "aria-label": label });
  let common = dotted([], { class: "rbf-caption rbs-common" });
  const el = made("div", { class: "rbs-listed" }, common, list);
  const ticks: Map<string, HTMLInputElement> = new Map();
  /** What is the same on all cards, and said once above. */
  let equal: Set<string> = new Set();
  const cards = makeCards<StudioCard>(list, shelf, {
    classes: ["rbs-card", "rbs-box"],
    open,
    from: (card) => [card, [...equal]],
    sign: (card) => (card.file ? "" : (card.percent ?? card.mark)),
    hasFile: (card) => Boolean(card.file),
    badge: studioBadge,
    title: (card) => [card.error, card.whole || studioFacts(card).join(" · "), card.name].filter(Boolean).join("\n"),
    words: (card) => {
      const own = studioFacts(card).filter((fact) => !equal.has(fact));
      return [
        made(
          "span",
          { class: "rbs-state" },
          made("span", {}, ...runsState(card), card.percent ? ` ${card.percent}` : ""),
          made("span", { class: "rbs-paid", text: card.paid ?? "" }),
        ),
        made(
          "span",
          { class: "rbs-words" },
          card.error ? made("span", { class: "rbs-error", text: card.error }) : null,
          own.length ? made("bdi", { class: "rbs-lead", text: own[0] }) : null,
          own.length > 1 ? dotted(own.slice(1)) : null,
        ),
      ];
    },
    wrap: (button, card) => {
      const tick = made("input", { type: "checkbox" });
      tick.addEventListener("change", () => pick(card(), tick.checked));
      ticks.set(card().key, tick);
      return made("li", {}, button, made("label", { class: "rbs-tick" }, tick, made("span", { text: "Compare" })));
    },
  });

  return {
    el,
    update: (all: StudioCard[], opened: string, picked: Set<string>) => {
      equal = studioEqual(all);
      common.replaceWith((common = dotted([...equal], { class: "rbf-caption rbs-common", hidden: !equal.size })));
      cards.update(all, opened);
      for (const card of all) {
        const tick = ticks.get(card.key);
        if (!tick) continue;
        tick.checked = picked.has(card.key);
        tick.setAttribute("aria-label", `Compare ${card.lead || card.name}`);
        tick.closest("label")?.toggleAttribute("hidden", !card.file);
      }
      el.hidden = !all.length;
    },
    focus: (key: string) => cards.button(key)?.focus(),
    dispose: cards.dispose,
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
