/** Posters that open: a click plays the clip in the place of its poster, or below a row of small posters. */

import { made } from "./element.ts";
import { watchKernel } from "./kernel_files.ts";
import { detail, LARGE, player, sayAbsence, setPoster } from "./player.ts";

function opens(poster: HTMLImageElement) {
  const [key, row] = (poster.dataset.rbOpens ?? "").split(" ");
  const path = poster.dataset.rbPath ?? "",
    label = poster.alt;
  const button = made("button", { type: "button", class: "rb-opens", "aria-expanded": "false" });
  setPoster(button, false, path, label);
  watchKernel(key, (isThere) => {
    setPoster(button, isThere, path, label);
    sayAbsence(small ?? button.parentElement ?? button, isThere);
  });
  poster.replaceWith(button);
  button.append(poster);
  const small = button.closest("[data-rb-posters]");
  const playing = (size: [number, number]) =>
    player({ key, row: Number(row), place: 0, path, label, known: null, isPreview: false }, size, [
      poster.cloneNode() as HTMLElement,
    ]);
  let open: HTMLElement | null = null;
  const close = () => {
    open?.remove();
    open = null;
    button.setAttribute("aria-expanded", "false");
    button.focus({ preventScroll: true });
  };
  button.addEventListener("click", () => {
    if (!small) return button.replaceWith(playing([poster.clientWidth, poster.clientHeight]));
    if (open) return close();
    const shrink = Math.min(LARGE[0] / poster.naturalWidth, LARGE[1] / poster.naturalHeight);
    open = detail(label, [playing([poster.naturalWidth * shrink, poster.naturalHeight * shrink])], close);
    button.setAttribute("aria-expanded", "true");
    if (!small.querySelector(":scope > .rb-stage"))
      small.append(made("div", { class: "rb-stage", "data-lm-suppress-shortcuts": "true" }));
    small.querySelector(":scope > .rb-stage")?.append(open);
    open.addEventListener("keydown", (event) => {
      if (event.key === "Escape") close();
    });
    open.scrollIntoView?.({ block: "nearest" });
  });
}

for (const found of document.querySelectorAll("img[data-rb-opens]")) {
  const poster = found as HTMLImageElement;
  if (!poster.closest(".rb-opens, .rb-film")) opens(poster);
}
