// @ts-check
/** A run under way, as the kernel renders it; the last state stays. */

/** @param {{model: any, el: HTMLElement}} view */
function render({ model, el }) {
  const panel = document.createElement("div");
  el.append(panel);
  // Rendered by the kernel from escaped text; nothing from a user or a service is markup in it.
  const drawn = () => { panel.innerHTML = model.get("html"); };
  model.on("change:html", drawn);
  drawn();
  return () => model.off("change:html", drawn);
}

export default { render };
