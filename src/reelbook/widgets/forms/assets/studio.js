// @ts-check
/** The head and the gallery of a studio; the form between them draws itself. */
import { made } from "../../../display/assets/table_element.js";
import { studioGallery } from "./studio_gallery.js";
import { studioHead } from "./studio_head.js";
import { StudioLink } from "./studio_link.js";

/** @param {{model: any, el: HTMLElement}} view */
function renderStudio({ model, el }) {
  const link = new StudioLink(model);
  const isHead = model.get("part") === "head";
  const part = isHead ? studioHead(link) : studioGallery(link);
  const root = made("div", { class: "rb rbf rbs mathjax_ignore tex2jax_ignore", role: "region", "aria-label": isHead ? "Studio" : "Gallery", "data-lm-suppress-shortcuts": "true" },
    made("style", { text: STUDIO_STYLE }), part.el);
  // What is typed here is no command for the notebook around it.
  for (const kind of ["keydown", "keyup", "keypress", "paste", "copy", "cut", "dragstart"]) root.addEventListener(kind, (event) => event.stopPropagation());
  el.append(root);
  return () => {
    part.dispose();
    link.dispose();
    root.remove();
  };
}
