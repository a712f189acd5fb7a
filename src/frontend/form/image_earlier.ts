/** A page of earlier outputs to choose from: pictures, and clips by their last frame. */

import { made } from "../page/element.ts";
import type { PictureShelf } from "./image_shelf.ts";
import { quietButton } from "./quiet.ts";
import { whenSeen } from "./seen.ts";

let pictureLists = 0;

/** A button, and the list that it opens. */
export function pictureEarlier(shelf: PictureShelf, choose: (picture: string, words: string) => void) {
  const id = `rbf-earlier-${shelf.link.view}-${(pictureLists += 1)}`;
  const button = quietButton("Earlier output", () => turned(el.hidden as boolean), {
    "aria-expanded": "false",
    "aria-controls": id,
  });
  const newer = quietButton("Newer", () => open(Math.max(from - size, 0)));
  const older = quietButton("Older", () => open(from + size));
  const status = made("p", { class: "rbf-caption", role: "status" });
  const list = made("ul", { class: "rbf-earlier-list" });
  const foot = made("div", { class: "rbf-row" }, newer, older, status);
  const el = made("div", { class: "rbf-earlier", id, role: "group", "aria-label": "Earlier output" }, list, foot);
  let from = 0;
  let size = 0;
  let turn = 0;
  el.hidden = true;

  const open = async (start: number) => {
    const now = (turn += 1);
    status.textContent = "Looking";
    const page = await shelf.earlier(start);
    if (now !== turn) return;
    const hadFocus = list.matches(":focus-within");
    from = start;
    size = Math.max(size, page.earlier.length);
    list.replaceChildren(...page.earlier.map(({ picture, words }) => made("li", {}, entry(picture, words))));
    newer.hidden = from === 0;
    older.hidden = !page.more;
    const last = from + page.earlier.length;
    status.textContent =
      page.error || (page.earlier.length ? `${from + 1} to ${last}, the newest first` : "No earlier outputs yet.");
    if (hadFocus) list.querySelector("button")?.focus();
  };

  const entry = (picture: string, words: string) => {
    const one = made("button", { type: "button", class: "rbf-earlier-one", title: words, "aria-label": words });
    const image = made("img", { alt: "" });
    image.hidden = true;
    one.append(image);
    whenSeen(one, async () => {
      const preview = await shelf.preview(picture);
      if (preview.url) image.setAttribute("src", preview.url);
      image.hidden = !preview.url;
      if (preview.error) one.title = `${words}: ${preview.error}`;
    });
    one.addEventListener("click", () => choose(picture, words));
    return one;
  };

  const turned = (isOpen: boolean) => {
    el.hidden = !isOpen;
    button.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) open(0);
    else turn += 1;
  };

  for (const part of [button, el] as HTMLElement[])
    part.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || el.hidden) return;
      event.stopPropagation();
      close();
    });
  const close = () => {
    const hadFocus = el.matches(":focus-within");
    turned(false);
    if (hadFocus) button.focus();
  };
  return { el, button, close };
}
