// @ts-check
/** The element around a form, or around a part of a studio. */
import { made } from "../../../display/assets/table_element.js";

/** @param {string} style @param {Record<string, string>} attributes @param {Node[]} children */
export function widgetRoot(style, { class: kind, ...attributes }, ...children) {
  const root = made("div", { class: `rb rbf ${kind} mathjax_ignore tex2jax_ignore`, ...attributes, "data-lm-suppress-shortcuts": "true" }, made("style", { text: style }), ...children);
  // What is typed here is no command for the notebook around it.
  for (const kind of ["keydown", "keyup", "keypress", "paste", "copy", "cut", "dragstart"]) root.addEventListener(kind, (event) => event.stopPropagation());
  return root;
}

/** Hides the picture that stays in the notebook while the widget itself is there. @param {string} mark @param {string} [more] Other rules for as long. @returns {() => void} */
export function hideTwin(mark, more = "") {
  const own = `[data-rb-twin="${CSS.escape(mark)}"]`;
  const style = made("style", { text: `${own}, .jp-OutputArea-child:has(${own}) { display: none !important; } ${more}` });
  document.head.append(style);
  return () => style.remove();
}
