import { describe, expect, test } from "vitest";
import { chase, frameAt, isOver, middleOf, rateOf, startOf, within } from "./clock_time.ts";

const EVEN = { frames: 49, rate: 24000 / 1001, seconds: (49 * 1001) / 24000 };
const UNEVEN = { frames: 4, rate: 24, seconds: 0.5, times: [0, 0.1, 0.15, 0.4] };

test.each([
  ["24/1", 24],
  ["24000/1001", 24000 / 1001],
  ["25", 25],
  ["30/0", 30],
])("the rate %s is %d", (written, rate) => expect(rateOf(written)).toBe(rate));

describe.each([
  ["even", EVEN],
  ["uneven", UNEVEN],
])("a clip of %s frames", (_, clip) => {
  const frames = Array.from({ length: clip.frames }, (_, frame) => frame);

  test("shows each frame in its middle, and from when it begins", () => {
    expect(frames.map((frame) => frameAt(clip, middleOf(clip, frame)))).toEqual(frames);
    expect(frames.map((frame) => frameAt(clip, startOf(clip, frame)))).toEqual(frames);
  });

  test("shows its first frame before it begins, and its last after its end", () => {
    expect([frameAt(clip, -1), frameAt(clip, clip.seconds + 9)]).toEqual([0, clip.frames - 1]);
  });

  test("is over in the middle of its last frame", () => {
    const end = middleOf(clip, clip.frames - 1);
    expect([isOver(clip, end - 0.001), isOver(clip, end)]).toEqual([false, true]);
  });
});

test("a time rounded by the browser still belongs to the frame that it begins", () => {
  for (let frame = 0; frame < EVEN.frames; frame += 1) {
    expect(frameAt(EVEN, Number(startOf(EVEN, frame).toFixed(6)))).toBe(frame);
  }
});

test.each([
  [0, 1, { isJump: false, speed: 1 }],
  [0.05, 1, { isJump: false, speed: 0.9 }],
  [-0.05, 2, { isJump: false, speed: 2.2 }],
  [0.2, 1, { isJump: false, speed: 0.85 }],
  [-0.2, 1, { isJump: false, speed: 1.15 }],
  [0.3, 1, { isJump: true, speed: 1 }],
  [-0.3, 0.5, { isJump: true, speed: 0.5 }],
])("%d s ahead at speed %d is caught up by %j", (drift, speed, answer) => {
  const { isJump, speed: found } = chase(drift, speed);
  expect([isJump, found]).toEqual([answer.isJump, expect.closeTo(answer.speed, 9)]);
});

test("a value stays within its bounds", () => {
  expect([within(-1, 0, 5), within(3, 0, 5), within(9, 0, 5)]).toEqual([0, 3, 5]);
});
