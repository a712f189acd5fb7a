/** The element around a form or a part of a studio, buttons, signs, and what opens. */

import { type ButtonHTMLAttributes, type ComponentChild, type Ref, render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { made } from "../page/element.ts";

/** Draws a widget into its output. @returns Take it away. */
export function drawWidget(
  el: HTMLElement,
  { class: kind, ...facts }: Record<string, string>,
  content: ComponentChild,
) {
  const root = made("div", {
    class: `rb rbf ${kind} mathjax_ignore tex2jax_ignore`,
    ...facts,
    "data-lm-suppress-shortcuts": "true",
  });
  // What is typed here is not a command for the notebook around it.
  for (const kind of ["keydown", "keyup", "keypress", "paste", "copy", "cut", "dragstart"])
    root.addEventListener(kind, (event) => event.stopPropagation());
  render(
    <>
      <style>{STYLE}</style>
      {content}
    </>,
    root,
  );
  el.append(root);
  return () => {
    render(null, root);
    root.remove();
  };
}

/** Hides the picture that stays in the notebook while the widget itself is there; `more` are other rules for as long. */
export function useHiddenTwin(model: any, more = "") {
  useEffect(() => {
    const own = `[data-rb-twin="${CSS.escape(model.get("twin"))}"]`;
    const text = `${own}, .jp-OutputArea-child:has(${own}) { display: none !important; } ${more}`;
    const style = made("style", { text });
    document.head.append(style);
    return () => style.remove();
  }, []);
}

export function classes(...names: (string | false | undefined | null)[]) {
  return names.filter(Boolean).join(" ");
}

interface ButtonProps extends Omit<ButtonHTMLAttributes, "class"> {
  class?: string;
  isOff?: boolean;
  act: () => void;
  buttonRef?: Ref<HTMLButtonElement>;
}

/** A button that looks like text, or as its class says. While it is off it does nothing, and keeps the focus, which a disabled one would lose. */
export function Quiet({ isOff = false, act, buttonRef, class: kind, ...more }: ButtonProps) {
  const press = () => isOff || act();
  const off = isOff ? { "aria-disabled": "true" as const } : {};
  return <button type="button" class={kind ?? "rbf-quiet"} ref={buttonRef} onClick={press} {...off} {...more} />;
}

/** The button of what costs something. */
export function Primary({ isOff = false, class: kind, ...more }: ButtonProps) {
  return <Quiet class={classes("rbf-primary", kind)} isOff={isOff} aria-disabled={isOff} {...more} />;
}

const SIGNS = {
  remove: "M4 4l8 8M12 4l-8 8",
  locked: "M4 7.5h8V13H4zM5.5 7.5V5.5a2.5 2.5 0 0 1 5 0v2",
  unlocked: "M4 7.5h8V13H4zM5.5 7.5V5a2.5 2.5 0 0 1 4.8-1",
  dice: "M3.5 3h9a.5.5 0 0 1 .5.5v9a.5.5 0 0 1-.5.5h-9a.5.5 0 0 1-.5-.5v-9a.5.5 0 0 1 .5-.5zM5.8 5.8h.01M10.2 5.8h.01M8 8h.01M5.8 10.2h.01M10.2 10.2h.01",
  // What stands where there is no picture to see.
  none: "M3 3h10v10H3zM3 11l3-3 2.5 2.5L10.5 9l2.5 2.5M10 6h.01",
  away: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM2.5 8h11M8 2.5c2.2 2 2.2 9 0 11M8 2.5c-2.2 2-2.2 9 0 11",
  wrong: "M8 3v6.5M8 12.5h.01",
};

export type SignName = keyof typeof SIGNS;

/** A small drawing in the colour of the words around it; nothing for those who hear the page. */
export function Sign({ sign, class: kind = "rbf-special-sign" }: { sign: SignName; class?: string }) {
  return (
    <svg viewBox="0 0 16 16" width={16} height={16} class={kind} aria-hidden="true" focusable="false">
      <path d={SIGNS[sign]} />
    </svg>
  );
}

/** A small button that shows a sign and says what it does. */
export function SignButton({ sign, says, ...more }: ButtonProps & { sign: SignName; says: string }) {
  return (
    <Quiet class="rbf-special-sign-button" title={says} aria-label={says} {...more}>
      <Sign sign={sign} />
    </Quiet>
  );
}

/** A button and the part that it opens; the focus goes back to the button. */
export function useShelf(label: string, id: string, opened: () => void) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const turn = (opens: boolean) => {
    setOpen(opens);
    if (opens) opened();
    else button.current?.focus();
  };
  return {
    turn,
    button: (
      <Quiet act={() => turn(!isOpen)} buttonRef={button} aria-expanded={isOpen} aria-controls={id}>
        {label}
      </Quiet>
    ),
    facts: { id, role: "group" as const, "aria-label": label, hidden: !isOpen },
  };
}

/** Calls back once, when an element is in view or near it. @returns Forget it. */
export function whenSeen(element: Element, action: () => void): () => void {
  const observer = new IntersectionObserver(
    ([{ isIntersecting }]) => {
      if (!isIntersecting) return;
      observer.disconnect();
      action();
    },
    { rootMargin: "200px" },
  );
  observer.observe(element);
  return () => observer.disconnect();
}
