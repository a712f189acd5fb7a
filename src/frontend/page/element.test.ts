import { expect, test, vi } from "vitest";
import { button, choose, made } from "./element.ts";
import { isFilm, largeSize } from "./player.ts";

test("what is written goes in as text, and what is not there is left out", () => {
  const act = vi.fn();
  const box = made(
    "div",
    { title: "A title", hidden: false, "data-on": true, onclick: act },
    "<i>a</i>",
    null,
    undefined,
  );
  box.click();

  expect(box.outerHTML).toBe('<div title="A title" data-on="">&lt;i&gt;a&lt;/i&gt;</div>');
  expect(act).toHaveBeenCalledOnce();
});

test("a button acts, and a list says what is chosen", () => {
  const act = vi.fn();
  button("Save", act, { title: "As a file" }).click();
  const list = choose(
    "speed",
    [
      [1, "1 ×"],
      [2, "2 ×"],
    ],
    2,
    act,
  );
  list.dispatchEvent(new Event("change"));

  expect([list.value, list.getAttribute("aria-label")]).toEqual(["2", "speed"]);
  expect(act).toHaveBeenLastCalledWith("2");
});

test.each([
  [
    [96, 54],
    [480, 270],
  ],
  [
    [54, 96],
    [180, 320],
  ],
])("the player of a poster of %j is %j", (poster, player) => {
  expect(largeSize(poster as [number, number])).toEqual(player);
});

test("clips are known by their names", () => {
  expect(["a.MP4", "a.webm", "a.png", "mp4"].map(isFilm)).toEqual([true, true, false, false]);
});
