/** Runs of the library that were made before, some at a time. */

import { made } from "../page/element.ts";
import type { StudioCard, studioCards } from "./cards.ts";
import type { StudioLink } from "./link.ts";

export function studioEarlier(link: StudioLink, list: ReturnType<typeof studioCards>, changed: () => void) {
  const status = made("span", { class: "rbf-caption", role: "status" });
  const more = made("button", { type: "button", text: "Show more", hidden: true });
  const el = made(
    "section",
    { class: "rbs-earlier", "aria-label": "Earlier runs" },
    made("div", { class: "rbs-bar" }, made("b", { text: "Earlier" }), status),
    list.el,
    made("div", { class: "rbf-row" }, more),
  );
  let cards: StudioCard[] = [];
  let models: string[] = [];
  let turn = 0,
    text = "",
    model = "";

  const ask = (from: number) => {
    turn += 1;
    more.disabled = true;
    status.textContent = "Looking";
    link.send({ do: "earlier", turn, from, text, model }).catch(() => {
      status.textContent = "The kernel has ended; run the cell again to see them.";
    });
  };
  const off = link.on("earlier", (content) => {
    // Results of an earlier search, or for another page, are ignored.
    if (content.earlier !== turn || !more.disabled) return;
    const from = content.from ?? 0;
    cards = [...cards.slice(0, from), ...content.cards];
    models = content.models ?? models;
    more.hidden = !content.more;
    more.disabled = false;
    status.textContent =
      content.words ??
      (content.total
        ? `${cards.length} of ${content.total.toLocaleString("en")} in the library`
        : text || model
          ? "No run in the library matches."
          : "No earlier runs.");
    changed();
  });
  more.addEventListener("click", () => ask(cards.length));
  ask(0);
  return {
    el,
    get cards() {
      return cards;
    },
    get models() {
      return models;
    },
    seek: (wanted: string, of: string) => {
      [text, model] = [wanted, of];
      ask(0);
    },
    draw: (opened: string, picked: Set<string>) => list.update(cards, opened, picked),
    focus: (key: string) => list.focus(key),
    dispose: () => {
      off();
      list.dispose();
    },
  };
}
