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

/** What can be chosen in a select: each value, and what it is called. */
export function Options({ all }: { all: [value: string, label: string][] }) {
  return (
    <>
      {all.map(([value, label]) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </>
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
