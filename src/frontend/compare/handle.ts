/** The handle of the wipe. */

import { made } from "../page/element.ts";
import { answerKey } from "../page/keys.ts";

/** Dragged, or moved by the arrow keys while it has the focus. */
export function compareHandle(view: HTMLElement, choice: { isDown: boolean; share: number }, changed: () => void) {
  const el = made("div", {
    class: "rb-compare-handle",
    role: "slider",
    tabindex: "0",
    "aria-label": "Wipe between A and B",
    "aria-valuemin": "0",
    "aria-valuemax": "100",
  });
  view.append(el);
  const move = (share: number) => {
    choice.share = Math.min(Math.max(share, 0), 1);
    changed();
  };
  el.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    el.setPointerCapture(event.pointerId);
    event.preventDefault(); // Nothing is selected by dragging; but the focus comes here.
    el.focus({ preventScroll: true });
  });
  el.addEventListener("pointermove", (event) => {
    if (!el.hasPointerCapture(event.pointerId)) return;
    const { left, top, width, height } = view.getBoundingClientRect();
    move(choice.isDown ? (event.clientY - top) / height : (event.clientX - left) / width);
  });
  el.addEventListener("keydown", (event) => {
    const step = event.shiftKey ? 0.1 : 0.01;
    const [less, more] = [() => move(choice.share - step), () => move(choice.share + step)];
    answerKey(event, {
      ArrowLeft: less,
      ArrowUp: less,
      ArrowRight: more,
      ArrowDown: more,
      Home: () => move(0),
      End: () => move(1),
    });
  });
  const place = () => {
    el.toggleAttribute("data-down", choice.isDown);
    el.setAttribute("aria-orientation", choice.isDown ? "vertical" : "horizontal");
    el.setAttribute("aria-valuenow", String(Math.round(100 * choice.share)));
    el.style.setProperty("--at", `${100 * choice.share}%`);
  };
  return { el, place };
}
