// @ts-check
/** Actions that wait until an element is seen. */

/** @type {WeakMap<Element, () => void>} */
const seenActions = new WeakMap();
/** One for all: there may be a thousand elements. @type {IntersectionObserver | null} */
let seenObserver = null;

/** Calls back once, when an element is in view or near it. @param {Element} element @param {() => void} action @returns {() => void} Forget it. */
export function whenSeen(element, action) {
  const observer = (seenObserver ??= new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      observer.unobserve(target);
      seenActions.get(target)?.();
    }
  }, { rootMargin: "200px" }));
  seenActions.set(element, action);
  observer.observe(element);
  return () => observer.unobserve(element);
}
