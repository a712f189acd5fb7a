import { expect, test, vi } from "vitest";
import { Picked } from "./picked.ts";

const listens = (key: string, rows: number[]) =>
  dispatchEvent(new CustomEvent("reelbook:listens", { detail: { key, rows } }));

test("rows picked in one display are picked in all of its group, and sent to its kernel", () => {
  const sent = vi.fn();
  addEventListener("reelbook:selected", ({ detail }: any) => sent(detail.key, detail.rows));
  const changed = vi.fn();
  const [table, plot, stranger] = [
    new Picked({ key: "table", group: "boats" }, changed),
    new Picked({ key: "plot", group: "boats" }, changed),
    new Picked({ key: "other", group: "foxes" }, changed),
  ];

  table.toggle(3);
  plot.set([3, 1]);
  table.toggle(3);

  expect([table, plot, stranger].map(({ rows }) => [...rows])).toEqual([[1], [1], []]);
  expect(sent.mock.calls).toEqual([
    ["table", [3]],
    ["plot", [1, 3]],
    ["table", [1]],
  ]);
  expect(changed).toHaveBeenCalledTimes(6);
  expect([...new Picked({ key: "later", group: "boats" }, changed).rows]).toEqual([1]);
});

test("a kernel that listens brings its rows, unless newer ones were picked on the page", () => {
  const [first, second] = [new Picked({ key: "first" }, () => {}), new Picked({ key: "second" }, () => {})];

  listens("first", [5]);
  second.set([2]);
  listens("second", [7]);

  expect([first.isListening, [...first.rows]]).toEqual([true, [5]]);
  expect([second.isListening, [...second.rows]]).toEqual([true, [2]]);
});
