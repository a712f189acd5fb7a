/** The head and the gallery of a studio; the form between them draws itself. */
import { KernelLink } from "../form/link.ts";
import { drawWidget } from "../form/ui.tsx";
import { Gallery } from "./gallery.tsx";
import { Head } from "./head.tsx";

function render({ model, el }: { model: any; el: HTMLElement }) {
  const link = new KernelLink(model);
  const isHead = model.get("part") === "head";
  const facts = { class: "rbs", role: "region", "aria-label": isHead ? "Studio" : "Gallery" };
  const remove = drawWidget(el, facts, isHead ? <Head link={link} /> : <Gallery link={link} />);
  return () => {
    remove();
    link.dispose();
  };
}

export default { render };
