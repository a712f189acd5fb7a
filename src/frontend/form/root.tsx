/** The element around a form, or around a part of a studio. */

import { type ComponentChild, render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { made } from "../page/element.ts";

/** Draws a widget into its output. @returns Take it away. */
export function drawWidget(
  el: HTMLElement,
  { class: kind, ...facts }: Record<string, string>,
  content: ComponentChild,
) {
  const root = made("div", {
    class: `rb rbf ${kind} mathjax_ignore tex2jax_ignore`,
    ...facts,
    "data-lm-suppress-shortcuts": "true",
  });
  // What is typed here is not a command for the notebook around it.
  for (const kind of ["keydown", "keyup", "keypress", "paste", "copy", "cut", "dragstart"])
    root.addEventListener(kind, (event) => event.stopPropagation());
  render(
    <>
      <style>{STYLE}</style>
      {content}
    </>,
    root,
  );
  el.append(root);
  return () => {
    render(null, root);
    root.remove();
  };
}

const twinOf = (model: any) => `[data-rb-twin="${CSS.escape(model.get("twin"))}"]`;

/** Hides the picture that stays in the notebook while the widget itself is there; `more` are other rules for as long. */
export function useHiddenTwin(model: any, more = "") {
  useEffect(() => {
    const own = twinOf(model);
    const text = `${own}, .jp-OutputArea-child:has(${own}) { display: none !important; } ${more}`;
    const style = made("style", { text });
    document.head.append(style);
    return () => style.remove();
  }, []);
}

/** A note for a page that was reloaded: the notebook there gets no later results of this widget. */
export function StaleNote({ model }: { model: any }) {
  const note = useRef<HTMLParagraphElement>(null);
  const [isStale, tell] = useState(false);
  useEffect(() => {
    let timer = 0;
    const check = () => {
      let box: Element | null = note.current;
      while (box && !box.querySelector(twinOf(model))) box = box.parentElement;
      const kept = box?.querySelector(twinOf(model))?.getAttribute("data-rb-kept") ?? Infinity;
      const isOld = Number(kept) < (model.get("kept") ?? 0);
      tell(isOld);
      if (isOld) wait();
    };
    // An output is drawn some time after the message that brings it.
    const wait = () => {
      clearTimeout(timer);
      timer = window.setTimeout(check, 1500);
    };
    model.on("change:kept", wait);
    wait();
    return () => {
      clearTimeout(timer);
      model.off("change:kept", wait);
    };
  }, []);
  return (
    <p class="rbf-caption" role="status" ref={note} hidden={!isStale}>
      Run the cell again to keep the newest results in the notebook.
    </p>
  );
}
