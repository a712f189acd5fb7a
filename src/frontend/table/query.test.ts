import { describe, expect, test } from "vitest";
import { asked, Column, separated, summed, unpacked } from "./query.ts";

const ROWS = Array.from({ length: 40 }, (_, row) => row);
const NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
const isEmpty = (row: number) => row % 5 === 4;
const isFailed = (row: number) => row % 10 === 3;
const find = (text: string, columns: Column[]) => {
  const captions = ROWS.map(() => "a paper boat on a rainy street · 53 credits");
  const tests = asked(text, columns, captions);
  return ROWS.filter((row) => tests.every((test) => test(row)));
};

function makeColumns() {
  return [
    { name: "run", shown: 1, right: 1, order: ROWS },
    { name: "prompt", shown: 1, words: { of: ["a paper boat on a rainy street"], n: 40 } },
    { name: "note", shown: 1, words: ROWS.map((row) => `take ${row}, number ${NUMBERS[row] ?? row}`) },
    { name: "seed", shown: 1, right: 1, order: ROWS },
    { name: "sharpness", shown: 1, right: 1, order: ROWS.map((row) => (isEmpty(row) ? null : 1 / (row + 1))) },
    { name: "flag", shown: 1, words: ROWS.map((row) => String(row % 2 === 0)) },
    {
      name: "status",
      shown: 1,
      role: "state",
      words: ROWS.map((row) => (isFailed(row) ? "✕ failed" : "● completed")),
    },
    { name: "credits", shown: 1, right: 1, role: "credits", order: ROWS.map(() => 53) },
    { name: "request_id", words: ROWS.map((row) => `ab${row}cd`) },
    {
      name: "created",
      shown: 1,
      words: ROWS.map(() => "2026-11-25 19:38"),
      order: ROWS.map((row) => Date.UTC(2026, 10, 25) + row),
    },
  ].map((packed) => new Column(packed));
}

const column = (name: string) => makeColumns().find((one) => one.name === name) as Column;

test.each([
  [
    ["a", "b"],
    ["a", "b"],
  ],
  [{ of: ["a", "b"], at: [1, 0, 1] }, ["b", "a", "b"]],
  [{ of: [7], n: 3 }, [7, 7, 7]],
  [[], []],
])("the packed list %j is %j", (packed, values) => expect(unpacked(packed)).toEqual(values));

describe("a filter", () => {
  test.each<[string, number[]]>([
    ["", ROWS],
    ["nine", [9]],
    ["NUMBER nine", [9]],
    ["rainy seed<2", [0, 1]],
    ["seed>36", [37, 38, 39]],
    ["seed > 36", [37, 38, 39]],
    ["seed>=36 seed<38", [36, 37]],
    ["seed==7", [7]],
    ["seed == 7", [7]],
    ["seed~39", [39]],
    ["seed>", ROWS],
    ["run=5", [5]],
    ["status=failed", [3, 13, 23, 33]],
    ["STATUS=completed seed<2", [0, 1]],
    ["status!=completed seed<20", [3, 13]],
    ["status==failed seed<5", [3]],
    ['sharpness="" seed<12', [4, 9]],
    ['sharpness!="" seed<6', [0, 1, 2, 3, 5]],
    ["sharpness>0.4", [0, 1]],
    ["flag=true seed<5", [0, 2, 4]],
    ["prompt=paper seed<2", [0, 1]],
    ["prompt~RAINY seed<2", [0, 1]],
    ["note~nine", [9]],
    ["note>take seed<1", [0]],
    ['note = "take 7, number seven"', [7]],
    ['"seed>3"', []],
    ["nothing=3", []],
    ["[.*+?^$()|\\", []],
    ["created>2026-11-24", ROWS],
  ])("%s leaves rows %j", (text, rows) => expect(find(text, makeColumns())).toEqual(rows));

  test("searches columns and captions", () => {
    const columns = makeColumns().filter(({ name }) => name === "note");

    expect([find("nine", columns).length, find("boat", columns).length, find("ab7cd", columns).length]).toEqual([
      1, 40, 0,
    ]);
  });
});

describe("sorting", () => {
  const rows = ROWS.slice(0, 12);

  test("puts empty cells last in both directions", () => {
    expect(column("sharpness").sorted(rows, 1)).toEqual([11, 10, 8, 7, 6, 5, 3, 2, 1, 0, 4, 9]);
    expect(column("sharpness").sorted(rows, -1)).toEqual([0, 1, 2, 3, 5, 6, 7, 8, 10, 11, 4, 9]);
  });

  test("knows numbers in words, and keeps the order of equals", () => {
    expect(column("note").sorted(rows, 1)).toEqual(rows);
    expect(column("prompt").sorted(rows, -1)).toEqual(rows);
  });
});

test("the summary counts the rows that are left, and sums their credits", () => {
  const columns = [
    { name: "status", role: "state", words: ["● completed", "◑ running", "✕ failed"] },
    { name: "credits", right: 1, role: "credits", order: [53, 1060, null] },
    { name: "source", role: "source", words: ["charged", "estimated", null] },
  ].map((packed) => new Column(packed));

  expect(summed(columns, [0, 1, 2])).toBe("3 runs · 53 credits · 1,060 credits set aside");
  expect(summed(columns, [0, 2], 3)).toBe("2 of 3 runs · 53 credits");
  expect(summed([], [0])).toBe("1 row");
  expect(summed([], ROWS, 1240)).toBe("40 of 1,240 rows");
});

test("rows are written as CSV, and none of their texts is a formula", () => {
  const columns = [
    { name: "seed", shown: 1, right: 1, order: [-1, 2, 3] },
    { name: "=name", shown: 1, words: ['say "boat", twice', "=1+1", null] },
  ].map((one) => new Column(one));

  expect(separated(columns, [2, 0, 1], ",")).toBe(
    '"seed","\'=name"\r\n"3",""\r\n"-1","say ""boat"", twice"\r\n"2","\'=1+1"\r\n',
  );
});
