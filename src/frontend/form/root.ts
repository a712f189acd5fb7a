/** The element around a form, or around a part of a studio. */
import { made } from "../page/element.ts";

export function widgetRoot(style: string, { class: kind, ...attributes }: Record<string, string>, ...children: Node[]) {
  const root = made(
    "div",
    { class: `rb rbf ${kind} mathjax_ignore tex2jax_ignore`, ...attributes, "data-lm-suppress-shortcuts": "true" },
    made("style", { text: style }),
    ...children,
  );
  // What is typed here is not a command for the notebook around it.
  for (const kind of ["keydown", "keyup", "keypress", "paste", "copy", "cut", "dragstart"])
    root.addEventListener(kind, (event) => event.stopPropagation());
  return root;
}

/**
 * A note for a page that was reloaded: the notebook there gets no later results of this widget.
 * @param el Where the widget is drawn.
 */
export function staleTwin(model: any, el: HTMLElement) {
  const note = made("p", {
    class: "rbf-caption",
    role: "status",
    hidden: true,
    text: "Run the cell again to keep the newest results in the notebook.",
  });
  const own = `[data-rb-twin="${CSS.escape(model.get("twin"))}"]`;
  let timer = 0;
  const check = () => {
    let box = el.parentElement;
    while (box && !box.querySelector(own)) box = box.parentElement;
    const kept = box?.querySelector(own)?.getAttribute("data-rb-kept");
    note.hidden = kept === undefined || kept === null || Number(kept) >= (model.get("kept") ?? 0);
    // An output is drawn some time after the message that brings it.
    if (!note.hidden) wait();
  };
  const wait = () => {
    clearTimeout(timer);
    timer = window.setTimeout(check, 1500);
  };
  model.on("change:kept", wait);
  wait();
  return {
    el: note,
    dispose: () => {
      clearTimeout(timer);
      model.off("change:kept", wait);
    },
  };
}

/**
 * Hides the picture that stays in the notebook while the widget itself is there.
 * @param more Other rules for as long.
 */
export function hideTwin(mark: string, more: string = ""): () => void {
  const own = `[data-rb-twin="${CSS.escape(mark)}"]`;
  const style = made("style", {
    text: `${own}, .jp-OutputArea-child:has(${own}) { display: none !important; } ${more}`,
  });
  document.head.append(style);
  return () => style.remove();
}
