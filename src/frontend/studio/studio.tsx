/** The head and the gallery of a studio; the form between them draws itself. */
import { KernelLink } from "../form/kernel.ts";
import { widgetRoot } from "../form/root.ts";
import { makeGallery } from "./gallery.tsx";
import { makeHead } from "./head.tsx";

function render({ model, el }: { model: any; el: HTMLElement }) {
  const link = new KernelLink(model);
  const isHead = model.get("part") === "head";
  const part = isHead ? makeHead(link, el) : makeGallery(link);
  const label = isHead ? "Studio" : "Gallery";
  const root = widgetRoot(STYLE, { class: "rbs", role: "region", "aria-label": label }, part.el);
  el.append(root);
  return () => {
    part.dispose();
    link.dispose();
    root.remove();
  };
}

export default { render };
