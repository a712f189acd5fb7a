/** What is dragged: a handle on a picture or on a time line, which the arrow keys move as well. */

import { made } from "../page/element.ts";
import { answerKey } from "../page/keys.ts";

/** Follow a pointer while it is pressed. */
export function drag(el: HTMLElement, move: (event: PointerEvent) => void) {
  el.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    event.preventDefault(); // Nothing is selected by dragging; but the focus comes here.
    el.focus({ preventScroll: true });
    el.setPointerCapture(event.pointerId);
  });
  el.addEventListener("pointermove", (event) => {
    if (el.hasPointerCapture(event.pointerId)) move(event);
  });
}

/** @param at The value under the pointer. */
export function makeHandle(
  attributes: Record<string, any>,
  value: {
    get: () => number;
    set: (value: number) => void;
    at: (event: PointerEvent) => number;
    most: () => number;
    step: number;
  },
) {
  const el = made("div", { role: "slider", tabindex: "0", ...attributes });
  drag(el, (event) => value.set(value.at(event)));
  el.addEventListener("keydown", (event) => {
    const far = event.shiftKey ? 10 * value.step : value.step;
    const [less, more] = [() => value.set(value.get() - far), () => value.set(value.get() + far)];
    answerKey(event, {
      ArrowLeft: less,
      ArrowUp: less,
      ArrowRight: more,
      ArrowDown: more,
      Home: () => value.set(0),
      End: () => value.set(value.most()),
    });
  });
  return el;
}
