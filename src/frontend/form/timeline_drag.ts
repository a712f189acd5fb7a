/** Dragging one of several elements to another place among them. */
import { made } from "../page/element.ts";

// Pixels that a pointer may move before it drags.
const SLACK = 4;

/** Follow a pointer that was pressed on an element of a strip, until it is let go; Escape leaves all as it was. */
export function drag(strip: HTMLElement, start: PointerEvent, dropped: (before: number) => void) {
  const dragged = start.currentTarget as HTMLElement;
  const mark = made("span", { class: "rbf-tl-mark" });
  const end = new AbortController();
  const { signal } = end;
  let to = -1;
  const stop = (isWanted: boolean) => {
    end.abort();
    mark.remove();
    dragged.classList.remove("rbf-tl-dragged");
    if (isWanted && to >= 0) dropped(to);
  };
  const on = <E extends PointerEvent | KeyboardEvent>(kind: string, act: (event: E) => void) =>
    window.addEventListener(kind, (event) => act(event as E), { signal, capture: true });
  const isMine = (event: PointerEvent) => event.pointerId === start.pointerId;
  on("pointermove", (event: PointerEvent) => {
    const far = Math.hypot(event.clientX - start.clientX, event.clientY - start.clientY);
    if (!isMine(event) || (to < 0 && far < SLACK)) return;
    if (to < 0) {
      dragged.classList.add("rbf-tl-dragged");
      strip.append(mark);
    }
    to = dropPlace(strip, event, mark);
  });
  on("pointerup", (event: PointerEvent) => isMine(event) && stop(true));
  on("pointercancel", (event: PointerEvent) => isMine(event) && stop(false));
  on("keydown", (event: KeyboardEvent) => {
    if (event.key !== "Escape" || to < 0) return;
    event.preventDefault();
    event.stopPropagation();
    stop(false);
  });
}

/** Before which tile of a strip a thing would land; `mark` is put there. */
export function dropPlace(strip: HTMLElement, { clientX, clientY }: MouseEvent, mark?: HTMLElement) {
  const tiles = [...strip.querySelectorAll<HTMLElement>(".rbf-tl-tile")];
  const far = tiles.map((tile) => {
    const box = tile.getBoundingClientRect();
    const above = Math.max(box.top - clientY, clientY - box.bottom, 0);
    const beside = Math.max(box.left - clientX, clientX - box.right, 0);
    // Its own row comes first, however near another one is.
    return above * 1000 + beside;
  });
  const at = far.indexOf(Math.min(...far));
  const nearest = tiles[at];
  if (!nearest) return 0;
  const box = nearest.getBoundingClientRect();
  const isAfter = clientX > box.left + box.width / 2;
  if (mark) {
    mark.style.left = `${isAfter ? nearest.offsetLeft + nearest.offsetWidth + 2 : nearest.offsetLeft - 4}px`;
    mark.style.top = `${nearest.offsetTop}px`;
    mark.style.height = `${nearest.offsetHeight}px`;
  }
  return at + (isAfter ? 1 : 0);
}
