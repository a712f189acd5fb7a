import { describe, expect, test } from "vitest";
import { Camera } from "./camera.ts";

function made(box: number[] = [200, 100], view: number[] = [400, 300]) {
  const camera = new Camera(4);
  camera.resize(box, view);
  return camera;
}

describe("a camera", () => {
  test("fits all into the view, in its middle", () => {
    const camera = made();

    expect([camera.scale, camera.isFitted, camera.origin]).toEqual([2, true, [0, 50]]);
    expect(made([10, 10]).scale).toBe(4); // A tiny picture is not blown up further by itself.
  });

  test("keeps the point under the pointer where it is", () => {
    const camera = made();
    const at = [100, 150];
    const under = () => at.map((point, axis) => (point - camera.origin[axis]) / camera.scale);
    const before = under();

    camera.zoom(3, at);

    expect(camera.scale).toBe(6);
    expect(under().map((part) => Math.round(part))).toEqual(before.map((part) => Math.round(part)));
  });

  test("goes down to single pixels and no further, and comes back to all", () => {
    const camera = made();

    for (let turn = 0; turn < 9; turn += 1) camera.step(1);
    expect(camera.scale).toBe(32);
    for (let turn = 0; turn < 9; turn += 1) camera.step(-1);
    expect(camera.scale).toBe(1);
    camera.toFit();
    expect(camera.isFitted).toBe(true);
  });

  test("leaves no empty margin at an edge", () => {
    const camera = made();
    camera.zoom(4);

    camera.pan(9999, -9999);

    expect(camera.origin).toEqual([0, 300 - 800]);
  });
});
