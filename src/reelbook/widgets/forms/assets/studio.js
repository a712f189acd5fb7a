// @ts-check
/** The head and the gallery of a studio; the form between them draws itself. */
import { widgetRoot } from "./form_root.js";
import { studioGallery } from "./studio_gallery.js";
import { studioHead } from "./studio_head.js";
import { StudioLink } from "./studio_link.js";

/** @param {{model: any, el: HTMLElement}} view */
function renderStudio({ model, el }) {
  const link = new StudioLink(model);
  const isHead = model.get("part") === "head";
  const part = isHead ? studioHead(link, el) : studioGallery(link);
  const root = widgetRoot(STUDIO_STYLE, { class: "rbs", role: "region", "aria-label": isHead ? "Studio" : "Gallery" }, part.el);
  el.append(root);
  return () => {
    part.dispose();
    link.dispose();
    root.remove();
  };
}
