/** Small pictures in boxes that are there before them, so that nothing jumps. */

import { made, shaped } from "../page/element.ts";
import type { PicturePreview } from "./image_shelf.ts";

/** What stands where there is nothing to see. */
const PICTURE_SIGNS = {
  none: "M3 3h10v10H3zM3 11l3-3 2.5 2.5L10.5 9l2.5 2.5M10 6h.01",
  away: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM2.5 8h11M8 2.5c2.2 2 2.2 9 0 11M8 2.5c-2.2 2-2.2 9 0 11",
  wrong: "M8 3v6.5M8 12.5h.01",
};

function pictureSign(name: keyof typeof PICTURE_SIGNS) {
  return shaped(
    "svg",
    { viewBox: "0 0 16 16", class: "rbf-sign", "aria-hidden": "true" },
    shaped("path", { d: PICTURE_SIGNS[name] }),
  );
}

/** A box for one picture. @param kind The class of the box. */
export function pictureThumb(kind: string) {
  const image = made("img", { alt: "", draggable: "false" });
  const el = made("span", { class: `rbf-thumb ${kind}` }, image);
  let drawn = "";

  const sign = (name: keyof typeof PICTURE_SIGNS) => {
    image.hidden = true;
    image.removeAttribute("src");
    if (drawn === name) return;
    el.querySelector("svg")?.remove();
    el.append(pictureSign(name));
    drawn = name;
  };

  return {
    el,
    image,
    clear: () => sign("none"),
    show(preview: PicturePreview) {
      el.classList.toggle("rbf-thumb-wrong", Boolean(preview.error));
      if (!preview.url) return sign(preview.error ? "wrong" : "away");
      el.querySelector("svg")?.remove();
      drawn = "";
      image.hidden = false;
      if (image.getAttribute("src") !== preview.url) image.src = preview.url;
    },
  };
}
