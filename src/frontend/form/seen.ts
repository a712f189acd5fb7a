/** Actions that wait until an element is seen. */

const seenActions: WeakMap<Element, () => void> = new WeakMap();
/** One for all: there may be a thousand elements. */
let seenObserver: IntersectionObserver | null = null;

/** Calls back once, when an element is in view or near it. @returns Forget it. */
export function whenSeen(element: Element, action: () => void): () => void {
  const observer = (seenObserver ??= new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (!isIntersecting) continue;
        observer.unobserve(target);
        seenActions.get(target)?.();
      }
    },
    { rootMargin: "200px" },
  ));
  seenActions.set(element, action);
  observer.observe(element);
  return () => observer.unobserve(element);
}
