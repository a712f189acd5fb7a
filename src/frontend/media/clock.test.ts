import { describe, expect, test, vi } from "vitest";
import type { Clip } from "./clip.ts";
import { Clock } from "./clock.ts";
import { buttons, keys } from "./controls.ts";

/** A clip without a file: all that a clock asks of it. */
function clipOf(frames: number, rate: number) {
  const box = document.createElement("div");
  const show = vi.fn(async (_time: number) => {});
  const clip = {
    box,
    frames,
    rate,
    seconds: frames / rate,
    times: null,
    picture: null,
    isInView: true,
    isBroken: false,
  };
  return Object.assign(clip, { show, follow() {}, rest() {}, unload() {} }) as unknown as Clip;
}

describe("a clock", () => {
  test("has the rate and the length of the quickest and the longest clip", () => {
    const clock = new Clock([clipOf(25, 24), clipOf(49, 24), clipOf(60, 30)]);

    expect([clock.rate, clock.frames]).toEqual([30, 61]);
  });

  test("shows the middle of the frame that is wanted, and none beyond its ends", async () => {
    const clip = clipOf(25, 24);
    const clock = new Clock([clip]);

    await clock.seek(99);
    await clock.step(-2);

    expect(clock.frame).toBe(22);
    expect(clip.show).toHaveBeenLastCalledWith(22.5 / 24);
  });

  test("plays between a begin and an end, and all again where one is set twice", async () => {
    const clock = new Clock([clipOf(25, 24)]);

    await clock.seek(5);
    clock.setRange(0);
    await clock.seek(9);
    clock.setRange(1);
    expect(clock.range).toEqual([5, 9]);
    clock.setRange(1);
    expect(clock.range).toBe(null);
  });
});

test("a clock that does not loop ends on its last frame, and begins again when it is played", async () => {
  const clock = new Clock([clipOf(6, 60)]);
  clock.turnLoop();
  const ended = new Promise((resolve) => {
    clock.addEventListener("change", () => clock.playing || resolve(clock.frame));
  });

  clock.play();

  expect(await ended).toBe(5);
  clock.play();
  expect(clock.time).toBe(0);
});

describe("the bar of a clock", () => {
  const root = document.createElement("div");
  root.innerHTML = "<div data-rb-transport></div>";
  const clock = new Clock([clipOf(25, 24), clipOf(49, 24)]);
  buttons(root, clock);
  const find = (name: string) => root.querySelector(`[data-rb-do=${name}]`) as HTMLInputElement;

  test("says and moves the frame", async () => {
    find("on").click();
    await clock.seek(clock.frame);

    expect(find("told").textContent).toBe("2 of 49 · 0.04 s");
    expect([find("scrub").max, find("scrub").value]).toEqual(["48", "1"]);
  });

  test("has the same keys as all players, and leaves those of fields alone", async () => {
    const press = (key: string, target: Element = root, shiftKey = false) => {
      const event = new KeyboardEvent("keydown", { key, shiftKey, cancelable: true });
      Object.defineProperty(event, "target", { value: target });
      keys(event, clock);
      return event.defaultPrevented;
    };

    expect(["End", "ArrowLeft", "Home", "ArrowRight", "l", "["].map((key) => press(key))).toEqual(Array(6).fill(true));
    await clock.seek(clock.frame);
    expect([clock.frame, clock.loop]).toEqual([1, false]);
    expect([press("ArrowRight", find("speed")), press(" ", find("play")), press("x")]).toEqual([false, false, false]);
    expect(press("ArrowRight", root, true)).toBe(true);
    expect(clock.frame).toBe(11);
  });
});
