import { expect, test, vi } from "vitest";
import { makeHandle } from "./handle.ts";

test("a handle goes by arrows, ten steps with Shift, and to both ends", () => {
  const set = vi.fn();
  const handle = makeHandle({}, { get: () => 5, set, at: () => 0, most: () => 24, step: 1 });
  const press = (key: string, shiftKey = false) => {
    const event = new KeyboardEvent("keydown", { key, shiftKey, cancelable: true });
    handle.dispatchEvent(event);
    return event.defaultPrevented;
  };

  expect([press("ArrowLeft"), press("ArrowDown", true), press("Home"), press("End"), press("b")]).toEqual([
    true,
    true,
    true,
    true,
    false,
  ]);
  expect(set.mock.calls).toEqual([[4], [15], [0], [24]]);
});
