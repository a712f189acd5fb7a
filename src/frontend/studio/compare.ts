/** Runs in the viewer of `rb.compare`: its markup comes from the kernel, and its files from the shelf. */

import { CompareViewer } from "../compare/compare.ts";
import type { ClipShelf } from "../form/clip.ts";
import { quietButton } from "../form/quiet.ts";
import { made } from "../page/element.ts";
import type { StudioLink } from "./link.ts";

export const STUDIO_MOST = 12;

export function studioCompare(link: StudioLink, shelf: ClipShelf, runs: string[], close: () => void) {
  const done = quietButton("Close", close);
  const said = made("span", { class: "rbf-caption", role: "status", text: "Loading" });
  const el = made(
    "section",
    { class: "rbs-compare", tabindex: "-1", "aria-label": `${runs.length} runs compared` },
    made("div", { class: "rbs-bar" }, made("b", { text: "Comparison" }), said, done),
  );
  el.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
  });
  let viewer: CompareViewer | null = null;

  /** @param wanted A run, and the place of the file. */
  const bring = async ({ key, row }: { key: string; row: number }) => {
    const { url, words, blob, index } = await shelf.clip(key, row);
    if (!url || !blob) return { words };
    return { url, blob, index, bytes: index ? new Uint8Array(await blob.arrayBuffer()) : null };
  };

  const off = link.on("compared", ({ compared, markup, differences }) => {
    // Another page of the same notebook may have asked for others.
    if (compared.join() !== runs.join() || Boolean(markup) === Boolean(viewer)) return;
    // Made in the kernel by our own code, which escapes all that comes from elsewhere.
    const { content } = Object.assign(document.createElement("template"), { innerHTML: markup ?? differences });
    if (viewer) return viewer.addDifferences(content);
    el.append(content);
    said.textContent = "";
    if (el.querySelectorAll("[data-rb-item]").length < 2) return;
    viewer = new CompareViewer(el.querySelector("[data-rb-compare]") as HTMLElement, bring);
    if (runs.length > 2) viewer.controls.set({ mode: "side" });
  });
  link.ask({ do: "compare", runs });
  return {
    el,
    say: (words: string) => {
      said.textContent = words;
    },
    dispose: () => {
      off();
      viewer?.close();
      el.remove();
    },
  };
}
