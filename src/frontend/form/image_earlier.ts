/** A page of earlier outputs to choose from: pictures, and clips by their last frame. */

import { made } from "../page/element.ts";
import type { PictureShelf } from "./image_shelf.ts";
import { makeShelf, quietButton } from "./quiet.ts";
import { whenSeen } from "./seen.ts";

let pictureLists = 0;

/** A button, and the list that it opens. */
export function pictureEarlier(pictures: PictureShelf, choose: (picture: string, words: string) => void) {
  const id = `rbf-earlier-${pictures.link.view}-${(pictureLists += 1)}`;
  const newer = quietButton("Newer", () => open(Math.max(from - size, 0)));
  const older = quietButton("Older", () => open(from + size));
  const status = made("p", { class: "rbf-caption", role: "status" });
  const list = made("ul", { class: "rbf-earlier-list" });
  const foot = made("div", { class: "rbf-row" }, newer, older, status);
  let from = 0;
  let size = 0;
  let turn = 0;
  const shelf = makeShelf("Earlier output", id, [list, foot], (isOpen) => {
    if (isOpen) open(0);
    else turn += 1;
  });
  shelf.el.classList.add("rbf-earlier");

  const open = async (start: number) => {
    const now = (turn += 1);
    status.textContent = "Looking";
    const page = await pictures.earlier(start);
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
      const preview = await pictures.preview(picture);
      if (preview.url) image.setAttribute("src", preview.url);
      image.hidden = !preview.url;
      if (preview.error) one.title = `${words}: ${preview.error}`;
    });
    one.addEventListener("click", () => choose(picture, words));
    return one;
  };

  return { el: shelf.el, button: shelf.button, close: () => shelf.turn(false) };
}
