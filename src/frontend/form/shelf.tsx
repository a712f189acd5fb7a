/** A button and the part that it opens; Escape closes it, and the focus goes back to the button. */

import { useRef, useState } from "preact/hooks";
import { Quiet } from "./fields.tsx";

/** @param opened Called when it was opened. */
export function useShelf(label: string, id: string, opened: () => void) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const turn = (opens: boolean) => {
    // What has the focus in it is about to be hidden.
    if (!opens && box.current?.matches(":focus-within")) button.current?.focus();
    setOpen(opens);
    if (opens) opened();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !isOpen) return;
    event.preventDefault();
    event.stopPropagation();
    turn(false);
  };
  return {
    isOpen,
    turn,
    button: (
      <Quiet
        act={() => turn(!isOpen)}
        buttonRef={button}
        aria-expanded={isOpen}
        aria-controls={id}
        onKeyDown={onKeyDown}
      >
        {label}
      </Quiet>
    ),
    facts: { ref: box, id, role: "group" as const, "aria-label": label, hidden: !isOpen, onKeyDown },
  };
}
