/** Buttons that look like text. */
import { made } from "../page/element.ts";

/** A button that looks like text. While its `aria-disabled` is true it does nothing, and keeps the focus, which a disabled one would lose. */
export function quietButton(text: string, act: () => void, attributes: Record<string, any> = {}): HTMLButtonElement {
  const press = ({ currentTarget }: any) => {
    if (currentTarget.getAttribute("aria-disabled") !== "true") act();
  };
  return made("button", { type: "button", class: "rbf-quiet", text, ...attributes, onclick: press });
}

/**
 * A button and the part that it opens; Escape closes it, and the focus goes back to the button.
 * @param opened Called when it was opened or closed.
 */
export function makeShelf(label: string, id: string, parts: HTMLElement[], opened: (isOpen: boolean) => void) {
  const button = quietButton(label, () => turn(el.hidden as boolean), {
    "aria-expanded": "false",
    "aria-controls": id,
  });
  const el = made("div", { id, role: "group", "aria-label": label, hidden: true }, ...parts);
  const turn = (isOpen: boolean) => {
    const hadFocus = el.matches(":focus-within");
    el.hidden = !isOpen;
    button.setAttribute("aria-expanded", String(isOpen));
    if (hadFocus && !isOpen) button.focus();
    opened(isOpen);
  };
  for (const part of [button, el] as HTMLElement[])
    part.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || el.hidden) return;
      event.preventDefault();
      event.stopPropagation();
      turn(false);
    });
  return { button, el, turn };
}
