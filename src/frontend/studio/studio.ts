/** The head and the gallery of a studio; the form between them draws itself. */
import { widgetRoot } from "../form/root.ts";
import { studioGallery } from "./gallery.ts";
import { studioHead } from "./head.ts";
import { StudioLink } from "./link.ts";

function renderStudio({ model, el }: { model: any; el: HTMLElement }) {
  const link = new StudioLink(model);
  const isHead = model.get("part") === "head";
  const part = isHead ? studioHead(link, el) : studioGallery(link);
  const root = widgetRoot(
    STYLE,
    { class: "rbs", role: "region", "aria-label": isHead ? "Studio" : "Gallery" },
    part.el,
  );
  el.append(root);
  return () => {
    part.dispose();
    link.dispose();
    root.remove();
  };
}

export default { render: renderStudio };
