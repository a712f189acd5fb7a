/** Buttons for a sweep or a race that runs in the kernel, below its panel or with it. */

const LABELS: Record<string, string> = { pause: "Pause", resume: "Resume", cancel: "Cancel" };
const queuedLabel = (model: any) => {
  const back = model.get("credits_back");
  return `Cancel ${model.get("queued").toLocaleString("en")} queued${back ? ` · ${back.toLocaleString("en")} credits back` : ""}`;
};
const TITLES: Record<string, string> = {
  pause: "Send nothing more for now; runs already sent continue",
  resume: "Go on sending",
  cancel: "Send nothing more; runs already sent continue",
  cancel_queued: "Ask the service to drop its queued runs; those in progress continue",
};
/** Which buttons are of use in which state. */
const OF_USE: Record<string, string[]> = {
  preparing: ["cancel"],
  running: ["pause", "cancel"],
  paused: ["resume", "cancel"],
};

const endedText = (noun: string) =>
  `The kernel has ended, and the ${noun} with it. Run its cells again to continue: paid results are fetched, and nothing is paid twice.`;

/** @param name The variable that holds it. */
const staleText = (noun: string, name: string) =>
  `The panel above has not changed since this page was reopened. Run ${name ? `\`${name}\` in a cell` : "the cell again"} to see the ${noun}.`;

function render({ model, el }: { model: any; el: HTMLElement }) {
  // marimo names its theme on the body, and puts widgets where no rule of the page reaches.
  for (const name of ["light-theme", "dark-theme"]) el.classList.toggle(name, document.body.classList.contains(name));
  const noun = model.get("noun") ?? "sweep";
  const panel = document.createElement("div");
  const row = document.createElement("div");
  row.className = "rb";
  row.setAttribute("role", "group");
  row.setAttribute("aria-label", noun);
  row.setAttribute("data-lm-suppress-shortcuts", "true");
  row.style.cssText = "display:flex;gap:8px;align-items:center;min-height:32px;margin:0 0 4px";
  row.addEventListener("keydown", (event) => event.stopPropagation());
  const said = document.createElement("span");
  said.setAttribute("role", "status");
  el.append(panel, row);

  /** The requested state, until it is reached. */
  let asked: string | null = null;
  let hasEnded = false,
    isStale = false;

  const redraw = () => {
    const state = model.get("state");
    const names = hasEnded ? [] : model.get("queued") ? ["cancel_queued"] : (OF_USE[state] ?? []);
    const focused = row.contains(document.activeElement);
    row.replaceChildren();
    row.hidden = !names.length && !hasEnded && !isStale && !model.get("said");
    row.style.display = row.hidden ? "none" : "flex";
    for (const name of names) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = LABELS[name] ?? queuedLabel(model);
      button.title = TITLES[name];
      button.disabled = asked !== null;
      button.style.cssText =
        "font:inherit;color:var(--jp-ui-font-color1,inherit);background:transparent;border:1px solid " +
        "var(--jp-border-color1,var(--vscode-panel-border,currentColor));border-radius:6px;padding:3px 12px;cursor:pointer";
      button.addEventListener("click", () => {
        asked = state;
        redraw();
        send({ do: name });
      });
      row.append(button);
    }
    said.textContent = hasEnded ? endedText(noun) : isStale ? staleText(noun, model.get("name")) : model.get("said");
    row.append(said);
    if (focused) row.querySelector("button")?.focus();
  };

  let timer = 0;
  /** Whether the picture above has all that has ended. A page that was opened again gets no updates of it. */
  const check = () => {
    const own = `[data-rb-twin="${CSS.escape(model.get("twin") || "none")}"]`;
    let box = el.parentElement;
    while (box && !box.querySelector(own)) box = box.parentElement;
    const kept = box?.querySelector(own)?.getAttribute("data-rb-kept");
    const was = isStale;
    isStale = Boolean(kept) && Number(kept) < model.get("kept");
    if (isStale !== was) redraw();
    // An output is drawn some time after the message that brings it.
    if (isStale) soon();
  };
  const soon = () => {
    clearTimeout(timer);
    timer = window.setTimeout(check, 1500);
  };

  /** Send a message; display an error if the kernel is gone. */
  const send = async (message: any) => {
    const before = hasEnded;
    try {
      await model.send(message);
      hasEnded = false;
    } catch {
      hasEnded = true;
    }
    if (hasEnded !== before) redraw();
  };
  // The host reports a restart at once, before any button is pressed.
  const lived = () => send({ do: "here" });

  const changed = () => {
    asked = null;
    redraw();
  };
  // Rendered by the kernel from escaped text; nothing from a user or a service is markup in it.
  const drawn = () => {
    panel.innerHTML = model.get("html");
  };

  model.on("comm_live_update", lived);
  model.on("change:kept", soon);
  model.on("change:state", changed);
  model.on("change:html", drawn);
  model.on("change:queued", redraw);
  model.on("change:said", changed);
  drawn();
  redraw();
  soon();
  return () => {
    clearTimeout(timer);
    model.off("comm_live_update", lived);
    model.off("change:kept", soon);
    model.off("change:state", changed);
    model.off("change:html", drawn);
    model.off("change:queued", redraw);
    model.off("change:said", changed);
  };
}

export default { render };
