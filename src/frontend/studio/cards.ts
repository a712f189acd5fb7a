/** The cards of a gallery: a poster in a box that is there before it, how the run stands, what it was and what it cost. */
import { makeCards } from "../form/cards.ts";
import type { ClipShelf } from "../form/clip.ts";
import { type RunEntry, runsState } from "../form/run.ts";
import { dotted, made } from "../page/element.ts";

/** A run as a form has it, and what tells it from those of other models. */
export type StudioCard = RunEntry & { model: string; name: string; asked?: string[]; paid?: string };

const STUDIO_ERROR_LETTERS = 160;

const studioFile = (card: StudioCard) => card.files?.[0];
const studioPercent = (card: StudioCard) => (card.fraction ? `${Math.round(100 * card.fraction)}%` : "");
const studioError = (card: StudioCard) => (card.error || studioFile(card)?.words || "").slice(0, STUDIO_ERROR_LETTERS);

/** The words of a card by which it is found. */
export const studioText = (card: StudioCard) =>
  [card.whole ?? card.lead, card.model, card.error, card.status].join(" ").toLowerCase();

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
    from: ({ line, log, lines, since, ...card }) => [card, [...equal]],
    sign: (card) => (studioFile(card) ? "" : studioPercent(card) || card.mark),
    hasFile: (card) => Boolean(studioFile(card)),
    badge: studioBadge,
    title: (card) =>
      [studioError(card), card.whole || studioFacts(card).join(" · "), card.name].filter(Boolean).join("\n"),
    words: (card) => {
      const own = studioFacts(card).filter((fact) => !equal.has(fact));
      return [
        made(
          "span",
          { class: "rbs-state" },
          made("span", {}, ...runsState(card), studioPercent(card) ? ` ${studioPercent(card)}` : ""),
          made("span", { class: "rbs-paid", text: card.paid ?? "" }),
        ),
        made(
          "span",
          { class: "rbs-words" },
          studioError(card) ? made("span", { class: "rbs-error", text: studioError(card) }) : null,
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
        tick.closest("label")?.toggleAttribute("hidden", !studioFile(card));
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

/** How many files a run has, where it is more than one; and that it plays. */
function studioBadge(card: StudioCard) {
  const count = card.files?.length ?? 0;
  const words = count > 1 ? `${count} files` : "";
  const isVideo = studioFile(card)?.kind.startsWith("video/");
  return words || isVideo
    ? [made("span", { class: "rbs-badge" }, ...(isVideo ? [made("span", { class: "rbf-clip-triangle" })] : []), words)]
    : [];
}
