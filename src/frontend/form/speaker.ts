/** Changes that are read aloud. */
import { made } from "../page/element.ts";

const SPEAK_AFTER = 1000; // Milliseconds from one thing that is read aloud to the next.

/** Reads aloud what is said, one after the other and not too much. */
export function makeSpeaker() {
  const el = made("div", { class: "rb-hidden", role: "status", "aria-live": "polite" });
  const news: Map<string, string> = new Map();
  let timer = 0,
    spoken = -Infinity;
  const speak = () => {
    timer = 0;
    spoken = performance.now();
    const words = [...news.values()].join(". ");
    if (el.textContent !== words) el.textContent = words;
    news.clear();
  };
  return {
    el,
    /** @param words Of several about one thing the last counts. */
    say: (about: string, words: string) => {
      news.delete(about);
      news.set(about, words);
      if (!timer) timer = window.setTimeout(speak, Math.max(0, spoken + SPEAK_AFTER - performance.now()));
    },
    dispose: () => clearTimeout(timer),
  };
}
