// @ts-check
/** A run under way, as the kernel renders it; the last state stays. */

/** @param {{model: any, el: HTMLElement}} view */
function render({ model, el }) {
  // marimo names its theme on the body, and puts widgets where no rule of the page reaches.
  for (const name of ["light-theme", "dark-theme"]) el.classList.toggle(name, document.body.classList.contains(name));
  const panel = document.createElement("div");
  el.append(panel);
  // Rendered by the kernel from escaped text; nothing from a user or a service is markup in it.
  const drawn = () => { panel.innerHTML = model.get("html"); };
  model.on("change:html", drawn);
  drawn();
  return () => model.off("change:html", drawn);
}

export default { render };
