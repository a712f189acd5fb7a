/** Runs as small pictures to choose from, with a few words each. */

import { made } from "../page/element.ts";
import type { ClipShelf } from "./clip.ts";
import { whenSeen } from "./seen.ts";

export interface CardKind<C> {
  /** The classes of a button and of the box for its picture. */
  classes: [string, string];
  /** What stands below the picture. */
  words: (card: C) => Node[];
  title: (card: C) => string;
  /** What stands where there is no picture. */
  sign: (card: C) => string;
  hasFile: (card: C) => boolean;
  /** What stands on the picture. */
  badge?: (card: C) => Node[];
  /** What a card is drawn from; all of it, where this says nothing else. */
  from?: (card: C) => unknown;
  open: (card: C) => void;
  /** Put a button into an entry of its own. */
  wrap?: (button: HTMLButtonElement, card: () => C) => HTMLElement;
}

type Cell<C> = {
  el: HTMLElement;
  button: HTMLButtonElement;
  box: HTMLElement;
  card: C;
  drawn: string;
  end: () => void;
};

/** @param list Where the buttons stand; each stays as long as its run. */
export function makeCards<C extends { key: string }>(list: HTMLElement, shelf: ClipShelf, kind: CardKind<C>) {
  const cells: Map<string, Cell<C>> = new Map();

  const make = (card: C): Cell<C> => {
    const box = made("span", { class: kind.classes[1], "aria-hidden": "true" });
    const button = made("button", { type: "button", class: kind.classes[0], "data-run": card.key }, box);
    const cell: Cell<C> = { el: button, button, box, card, drawn: "", end: () => {} };
    if (kind.wrap) cell.el = kind.wrap(button, () => cell.card);
    button.addEventListener("click", () => kind.open(cell.card));
    return cell;
  };

  const draw = (cell: Cell<C>) => {
    const { card, box, button } = cell;
    const from = JSON.stringify(kind.from?.(card) ?? card);
    if (from === cell.drawn) return;
    cell.drawn = from;
    button.replaceChildren(box, ...kind.words(card));
    button.title = kind.title(card);
    if (box.querySelector("img")) return;
    const fill = (inside: Node | string) => box.replaceChildren(inside, ...(kind.badge?.(card) ?? []));
    fill(kind.sign(card));
    cell.end();
    if (!kind.hasFile(card)) return;
    cell.end = whenSeen(box, async () => {
      const { url } = await shelf.poster(card.key, 0, devicePixelRatio > 1.25 ? 320 : 0);
      if (url && box.isConnected) fill(made("img", { src: url, alt: "" }));
    });
  };

  return {
    /** @param cards In their order. */
    update(cards: C[], selected: string) {
      const keys = new Set(cards.map(({ key }) => key));
      for (const [key, cell] of cells) {
        if (keys.has(key)) continue;
        cell.end();
        cell.el.remove();
        cells.delete(key);
      }
      cards.forEach((card, place) => {
        const cell = cells.get(card.key) ?? make(card);
        cells.set(card.key, cell);
        cell.card = card;
        draw(cell);
        cell.button.setAttribute("aria-pressed", String(card.key === selected));
        // Moved only where it is not in its place: a move takes the focus away.
        if (list.children[place] !== cell.el) list.insertBefore(cell.el, list.children[place] ?? null);
      });
    },
    button: (key: string) => cells.get(key)?.button,
    dispose: () => cells.forEach((cell) => cell.end()),
  };
}
