/** Buttons for a sweep or a race that runs in the kernel, below its panel or with it. */

import { button, made } from "./element.ts";

/** The words of each button, and its title. */
const BUTTONS: Record<string, [string, string]> = {
  pause: ["Pause", "Send nothing more for now; runs already sent continue"],
  resume: ["Resume", "Go on sending"],
  cancel: ["Cancel", "Send nothing more; runs already sent continue"],
};
const STYLE =
  "font:inherit;color:var(--jp-ui-font-color1,inherit);background:transparent;border:1px solid " +
  "var(--jp-border-color1,var(--vscode-panel-border,currentColor));border-radius:6px;padding:3px 12px;cursor:pointer";
/** Which buttons are of use in which state. */
const OF_USE: Record<string, string[]> = {
  preparing: ["cancel"],
  running: ["pause", "cancel"],
  paused: ["resume", "cancel"],
};

const endedText = (noun: string) =>
  `The kernel has ended, and the ${noun} with it. Run its cells again to continue: paid results are fetched, and nothing is paid twice.`;

function render({ model, el }: { model: any; el: HTMLElement }) {
  // marimo names its theme on the body, and puts widgets where no rule of the page reaches.
  for (const name of ["light-theme", "dark-theme"]) el.classList.toggle(name, document.body.classList.contains(name));
  const noun = model.get("noun") ?? "sweep";
  const panel = made("div");
  const said = made("span", { role: "status" });
  const row = made("div", {
    class: "rb",
    role: "group",
    "aria-label": noun,
    "data-lm-suppress-shortcuts": "true",
    style: "gap:8px;align-items:center;min-height:32px;margin:0 0 4px",
    onkeydown: (event: KeyboardEvent) => event.stopPropagation(),
  });
  el.append(panel, row);

  let isAsked = false; // For another state, until that is reached.
  let hasEnded = false;

  const redraw = () => {
    const names = hasEnded ? [] : (OF_USE[model.get("state")] ?? []);
    const hadFocus = row.contains(document.activeElement);
    const buttons = names.map((name) => {
      const act = () => {
        isAsked = true;
        redraw();
        send({ do: name });
      };
      const [label, title] = BUTTONS[name];
      return button(label, act, { title, disabled: isAsked, style: STYLE });
    });
    said.textContent = hasEnded ? endedText(noun) : "";
    row.replaceChildren(...buttons, said);
    row.style.display = buttons.length || said.textContent ? "flex" : "none";
    if (hadFocus) buttons[0]?.focus();
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
  const changed = () => {
    isAsked = false;
    redraw();
  };
  // Rendered by the kernel from escaped text; nothing from a user or a service is markup in it.
  const drawn = () => {
    panel.innerHTML = model.get("html");
  };
  const listeners: [string, () => void][] = [
    // The host reports a restart at once, before any button is pressed.
    ["comm_live_update", () => send({ do: "here" })],
    ["change:state", changed],
    ["change:html", drawn],
  ];
  for (const [name, listener] of listeners) model.on(name, listener);
  drawn();
  redraw();
  return () => {
    for (const [name, listener] of listeners) model.off(name, listener);
  };
}

export default { render };
