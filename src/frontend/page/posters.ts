/** Posters that open: a click plays the clip in the place of its poster, or below a row of small posters. */

import { button, made } from "./element.ts";
import { watchKernel } from "./kernel_files.ts";
import { detail, largeSize, player, type Size, sayAbsence, setPoster } from "./player.ts";

function opens(poster: HTMLImageElement) {
  const [key, row] = (poster.dataset.rbOpens ?? "").split(" ");
  const path = poster.dataset.rbPath ?? "";
  const label = poster.alt;
  const wanted = { key, row: Number(row), place: 0, path, label };
  const playing = (size: Size) => player(wanted, size, [poster.cloneNode() as HTMLElement]);
  let open: HTMLElement | null = null;
  const press = button("", () => {
    if (!small) return press.replaceWith(playing([poster.clientWidth, poster.clientHeight]));
    if (open) return close();
    open = detail(label, [playing(largeSize([poster.naturalWidth, poster.naturalHeight]))], close);
    open.addEventListener("keydown", ({ key }) => key === "Escape" && close());
    press.setAttribute("aria-expanded", "true");
    let stage = small.querySelector(":scope > .rb-stage");
    stage ??= small.appendChild(made("div", { class: "rb-stage", "data-lm-suppress-shortcuts": "true" }));
    stage.append(open);
    open.scrollIntoView?.({ block: "nearest" });
  });
  press.className = "rb-opens";
  press.setAttribute("aria-expanded", "false");
  const close = () => {
    open?.remove();
    open = null;
    press.setAttribute("aria-expanded", "false");
    press.focus({ preventScroll: true });
  };
  poster.replaceWith(press);
  press.append(poster);
  const small = press.closest("[data-rb-posters]");
  setPoster(press, false, path, label);
  watchKernel(key, (isThere) => {
    setPoster(press, isThere, path, label);
    sayAbsence(small ?? press.parentElement ?? press, isThere);
  });
}

/** Let the posters of a page, or of a part of it, open. */
export function openPosters(scope: ParentNode) {
  for (const poster of scope.querySelectorAll<HTMLImageElement>("img[data-rb-opens]"))
    if (!poster.closest(".rb-opens, .rb-film")) opens(poster);
}

openPosters(document);
