import { expect, test } from "vitest";
import { fitted } from "./drawing.ts";

test.each([
  ["fills a box of its shape", [160, 90], [320, 180], [0, 0, 320, 180]],
  ["fills one that is off by a rounded pixel", [97, 54], [160, 90], [0, 0, 160, 90]],
  ["stands in the middle of a wider one", [60, 100], [100, 100], [20, 0, 60, 100]],
  ["and of a higher one", [100, 60], [100, 100], [0, 20, 100, 60]],
  ["is made smaller", [1000, 500], [100, 100], [0, 25, 100, 50]],
])("a picture %s", (_, size, box, place) => expect(fitted(size, box)).toEqual(place));
