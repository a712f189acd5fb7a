/** What was made, as the kernel has drawn it, with what can be done with it; and small pictures to choose from. */

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { enhanceFigures } from "../page/figure.ts";
import { askFile } from "../page/kernel_files.ts";
import { openPosters } from "../page/posters.ts";
import { Options, whenSeen } from "./ui.tsx";

/** HTML that the kernel has made from escaped words; its figures play, and its posters open. */
export function Drawn({ html, hasScripts = false }: { html: string; hasScripts?: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    el.innerHTML = html;
    // Scripts of what is drawn run only where the page has nothing that does the same.
    for (const script of hasScripts ? el.querySelectorAll("script") : []) {
      const other = document.createElement("script");
      for (const { name, value } of script.attributes) other.setAttribute(name, value);
      other.textContent = script.textContent;
      script.replaceWith(other);
    }
    if (hasScripts) return;
    enhanceFigures(el);
    openPosters(el);
  }, [html]);
  return <div ref={box} class="rbf-drawn rbf-run-media" />;
}

/** The poster of a file, fetched when it is in view; a sign where there is none. */
export function Poster({ fileKey, file, sign }: { fileKey: string; file?: number; sign: string }) {
  const box = useRef<HTMLSpanElement>(null);
  const [url, setUrl] = useState("");
  useEffect(() => {
    if (file === undefined || !box.current) return;
    return whenSeen(box.current, () =>
      askFile({ key: fileKey, row: file, copy: 320 }).then((found) => setUrl(found.url ?? "")),
    );
  }, [file]);
  return (
    <span ref={box} class="rbf-run-thumb" aria-hidden="true">
      {url && file !== undefined ? <img src={url} alt="" /> : sign}
    </span>
  );
}

/** Which frame of the clip is displayed. */
function frameShown(box: Element) {
  const figure = box.querySelector<HTMLElement>("[data-rb-figure]:has(video)");
  const video = figure?.querySelector("video");
  return video ? Math.floor(video.currentTime * Number(figure?.dataset.rbRate ?? 24) + 0.001) : 0;
}

/** The models that can take the picture that is looked at. */
export function UseIn({ uses = [], act }: { uses?: [string, string][]; act: (message: any) => void }) {
  if (!uses.length) return null;
  return (
    <select
      class="rbf-use-in"
      aria-label="Use the frame displayed in"
      title="The frame that is displayed becomes the picture of this model"
      onChange={({ currentTarget: select }) => {
        const box = select.closest(".rbf-run");
        if (select.value && box) act({ what: "use_in", model: select.value, file: 0, frame: frameShown(box) });
        select.value = "";
      }}
    >
      <option value="">Use in …</option>
      <Options all={uses} />
    </select>
  );
}

/** How an entry stands: a sign and its word. */
export function State({ mark, status, kind = "" }: { mark: string; status: string; kind?: string }) {
  return (
    <>
      <span class="rbf-run-mark" aria-hidden="true" data-state={status}>
        {mark}
      </span>
      <b>{kind + status}</b>
    </>
  );
}

interface CardProps {
  label: string;
  html?: string;
  said?: string;
  state?: ComponentChildren;
  /** What can be done with it. */
  children: ComponentChildren;
  below?: ComponentChildren;
}

/** One card, large. */
export function Card({ label, html = "", said = "", state, children, below }: CardProps) {
  return (
    <section class="rbf-run" aria-label={label}>
      <Drawn html={html} />
      {state}
      <div class="rbf-row rbf-run-actions" role="group" aria-label={`actions of ${label}`}>
        {children}
      </div>
      <p class="rbf-caption" role="status">
        {said}
      </p>
      {below}
    </section>
  );
}
