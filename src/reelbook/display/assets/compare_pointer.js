// @ts-check
/** Pointers on the stage of a comparison: drag, pinch, wheel with ctrl, double click; and the handle of the wipe. */

import { made } from "./table_element.js";

const PAN = 40; // CSS pixels.

/** @param {HTMLElement} el @param {import("./compare_camera.js").CompareCamera} camera */
export function comparePointer(el, camera) {
  /** Where each pointer is. @type {Map<number, number[]>} */
  const held = new Map();
  const at = (/** @type {{clientX: number, clientY: number}} */ { clientX, clientY }) => {
    const { left, top } = el.getBoundingClientRect();
    return [clientX - left, clientY - top];
  };
  const span = () => {
    const [one, other] = [...held.values()];
    return Math.hypot(one[0] - other[0], one[1] - other[1]);
  };
  el.addEventListener("pointerdown", (event) => {
    if (event.button || /** @type {HTMLElement} */ (event.target).closest("[role=slider]")) return;
    held.set(event.pointerId, at(event));
    if (!camera.isFitted || held.size > 1) el.setPointerCapture(event.pointerId);
  });
  el.addEventListener("pointermove", (event) => {
    const before = held.get(event.pointerId);
    if (!before) return;
    const now = at(event), wide = held.size > 1 ? span() : 0;
    held.set(event.pointerId, now);
    if (held.size > 1 && wide > 0) camera.zoom(span() / wide, [0, 1].map((axis) => [...held.values()].reduce((sum, point) => sum + point[axis], 0) / held.size));
    else camera.pan(now[0] - before[0], now[1] - before[1]);
  });
  const drop = (/** @type {PointerEvent} */ event) => held.delete(event.pointerId);
  for (const name of /** @type {const} */ (["pointerup", "pointercancel", "pointerleave"])) el.addEventListener(name, drop);
  el.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return; // The page scrolls.
    event.preventDefault();
    camera.zoom(Math.exp(-event.deltaY / 200), at(event));
  }, { passive: false });
  el.addEventListener("dblclick", () => camera.toFit());
  el.addEventListener("keydown", (event) => {
    const far = event.shiftKey ? 5 * PAN : PAN;
    /** @type {Record<string, [number, number]>} */
    const known = { ArrowLeft: [far, 0], ArrowRight: [-far, 0], ArrowUp: [0, far], ArrowDown: [0, -far] };
    if (event.target !== el || camera.isFitted || !(event.key in known) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation(); // Elsewhere arrows step the clips.
    camera.pan(...known[event.key]);
  });
}

/**
 * The handle of the wipe: dragged, or moved by the arrow keys while it has the focus.
 * @param {HTMLElement} view @param {{isDown: boolean, share: number}} choice @param {() => void} changed
 */
export function compareHandle(view, choice, changed) {
  const el = made("div", { class: "rb-compare-handle", role: "slider", tabindex: "0", "aria-label": "Wipe between A and B", "aria-valuemin": "0", "aria-valuemax": "100" });
  view.append(el);
  /** @param {number} share */
  const move = (share) => {
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
    /** @type {Record<string, number>} */
    const known = { ArrowLeft: -step, ArrowUp: -step, ArrowRight: step, ArrowDown: step, Home: -1, End: 1 };
    if (!(event.key in known) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation(); // The clips stay where they are.
    move(choice.share + known[event.key]);
  });
  const place = () => {
    el.toggleAttribute("data-down", choice.isDown);
    el.setAttribute("aria-orientation", choice.isDown ? "vertical" : "horizontal");
    el.setAttribute("aria-valuenow", String(Math.round(100 * choice.share)));
    el.style.setProperty("--at", `${100 * choice.share}%`);
  };
  return { el, place };
}
