/** Buttons that look like text. */
import { made } from "../page/element.ts";

/** A button that looks like text. While its `aria-disabled` is true it does nothing, and keeps the focus, which a disabled one would lose. */
export function quietButton(text: string, act: () => void, attributes: Record<string, any> = {}): HTMLButtonElement {
  const press = ({ currentTarget }: any) => {
    if (currentTarget.getAttribute("aria-disabled") !== "true") act();
  };
  return made("button", { type: "button", class: "rbf-quiet", text, ...attributes, onclick: press });
}
