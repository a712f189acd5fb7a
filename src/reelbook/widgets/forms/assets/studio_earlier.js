// @ts-check
/** Runs of the library that were made before: fetched when somebody wants them, some at a time. */
import { made } from "../../../display/assets/table_element.js";

/** @typedef {import("./studio_link.js").StudioLink} StudioLink */
/** @typedef {import("./studio_cards.js").StudioCard} StudioCard */

/** @param {StudioLink} link @param {ReturnType<typeof import("./studio_cards.js").studioCards>} list @param {() => void} changed */
export function studioEarlier(link, list, changed) {
  const button = made("button", { type: "button", text: "Earlier runs", "aria-expanded": "false" });
  const status = made("span", { class: "rbf-caption", role: "status" });
  const more = /** @type {HTMLButtonElement} */ (made("button", { type: "button", text: "Show more", hidden: true }));
  const el = made("section", { class: "rbs-earlier", "aria-label": "Earlier runs", hidden: true },
    made("div", { class: "rbs-bar" }, made("b", { text: "Earlier" }), status), list.el, made("div", { class: "rbf-row" }, more));
  /** @type {StudioCard[]} */
  let cards = [];
  /** @type {string[]} */
  let models = [];
  let turn = 0, text = "", model = "";

  /** @param {number} from */
  const ask = (from) => {
    turn += 1;
    more.disabled = true;
    status.textContent = "Looking";
    link.send({ do: "earlier", turn, from, text, model }).catch(() => { status.textContent = "The kernel has ended; run the cell again to see them."; });
  };
  const off = link.on("earlier", (content) => {
    // Results of an earlier search, or for another page, are ignored.
    if (content.earlier !== turn || el.hidden || !more.disabled) return;
    const from = content.from ?? 0;
    cards = [...cards.slice(0, from), ...content.cards];
    models = content.models ?? models;
    more.hidden = !content.more;
    more.disabled = false;
    status.textContent = content.words ?? (content.total ? `${cards.length} of ${content.total.toLocaleString("en")} in the library` : text || model ? "No run in the library matches." : "No earlier runs.");
    changed();
  });
  button.addEventListener("click", () => {
    el.hidden = !el.hidden;
    button.setAttribute("aria-expanded", String(!el.hidden));
    if (el.hidden) {
      cards = [];
      changed();
    } else ask(0);
  });
  more.addEventListener("click", () => ask(cards.length));
  return {
    el, button,
    get cards() { return cards; },
    get models() { return models; },
    /** @param {string} wanted @param {string} of */
    seek: (wanted, of) => {
      [text, model] = [wanted, of];
      if (!el.hidden) ask(0);
    },
    /** @param {string} opened @param {Set<string>} picked */
    draw: (opened, picked) => list.update(cards, opened, picked),
    /** @param {string} key */
    focus: (key) => list.focus(key),
    dispose: () => {
      off();
      list.dispose();
    },
  };
}
