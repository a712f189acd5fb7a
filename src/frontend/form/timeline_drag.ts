/** Dragging one of several elements to another place among them. */
import { made } from "../page/element.ts";

// Pixels that a pointer may move before it drags, and from the border where dragging scrolls; pixels of one such step.
const TIMELINE_SLACK = 4;
const TIMELINE_EDGE = 36;
const TIMELINE_SCROLL = 8;

/** Follow a pointer that was pressed on an element, until it is let go. */
export function timelineDrag(
  strip: HTMLElement,
  dragged: HTMLElement,
  start: PointerEvent,
  places: () => HTMLElement[],
  dropped: (before: number) => void,
) {
  const mark = made("span", { class: "rbf-tl-mark" });
  const end = new AbortController();
  let [x, y] = [start.clientX, start.clientY];
  let to = -1;

  const aim = () => {
    to = timelineDrop(places(), x, y, mark);
  };
  const over = (event: PointerEvent) => {
    if (event.pointerId !== start.pointerId) return;
    [x, y] = [event.clientX, event.clientY];
    if (to < 0 && Math.hypot(x - start.clientX, y - start.clientY) < TIMELINE_SLACK) return;
    if (to < 0) {
      dragged.classList.add("rbf-tl-dragged");
      strip.append(mark);
      requestAnimationFrame(scroll);
    }
    aim();
  };
  const scroll = () => {
    if (end.signal.aborted) return;
    const box = strip.getBoundingClientRect();
    const by = y < box.top + TIMELINE_EDGE ? -TIMELINE_SCROLL : y > box.bottom - TIMELINE_EDGE ? TIMELINE_SCROLL : 0;
    if (by && strip.scrollHeight > strip.clientHeight) {
      strip.scrollTop += by;
      aim();
    }
    requestAnimationFrame(scroll);
  };
  const stop = (isWanted: boolean) => {
    end.abort();
    mark.remove();
    dragged.classList.remove("rbf-tl-dragged");
    if (isWanted && to >= 0) dropped(to);
  };
  const { signal } = end;
  const mine = (event: PointerEvent) => event.pointerId === start.pointerId;
  window.addEventListener("pointermove", over, { signal });
  window.addEventListener("pointerup", (event) => mine(event) && stop(true), { signal });
  window.addEventListener("pointercancel", (event) => mine(event) && stop(false), { signal });
  const key = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || to < 0) return;
    event.preventDefault();
    event.stopPropagation();
    stop(false);
  };
  window.addEventListener("keydown", key, { signal, capture: true });
}

/** Before which of these elements a thing would land; `mark` is put there. */
export function timelineDrop(places: HTMLElement[], x: number, y: number, mark?: HTMLElement) {
  let [at, least, isAfter] = [places.length, Infinity, false];
  places.forEach((place, number) => {
    const box = place.getBoundingClientRect();
    const above = Math.max(box.top - y, y - box.bottom, 0);
    const beside = Math.max(box.left - x, x - box.right, 0);
    // Its own row comes first, however near another one is.
    const far = above * 1000 + beside;
    if (far < least) [at, least, isAfter] = [number, far, x > box.left + box.width / 2];
  });
  const nearest = places[at];
  if (mark && nearest) {
    mark.style.left = `${isAfter ? nearest.offsetLeft + nearest.offsetWidth + 2 : nearest.offsetLeft - 4}px`;
    mark.style.top = `${nearest.offsetTop}px`;
    mark.style.height = `${nearest.offsetHeight}px`;
  }
  return Math.min(at + (isAfter ? 1 : 0), places.length);
}
