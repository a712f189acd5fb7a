/** Sorting, filtering and summing the rows of a table; independent of the page. */

const MAX_STATES = 6;
const ALWAYS_SEARCHED = ["prompt", "error"];
/** States of runs whose credits are set aside, and not spent. */
const UNSETTLED = [
  "planned",
  "not started",
  "waiting",
  "IN_QUEUE",
  "running",
  "IN_PROGRESS",
  "unfinished",
  "uncertain",
];
const TOKEN = /(?:[^\s"]+|"[^"]*")+/g;
/** Around a comparison; the space behind one with nothing to compare stays, if another comparison follows. */
const AROUND = /\s*(<=|>=|!=|==|=|~|<|>)(?:\s+(?![^\s<>=!~]+\s*[<>=!~]))?/g;
const NAME = /^[\p{L}\p{N}_][\p{L}\p{N}_ .[\]()/-]*$/u;
const COMPARISON = /^(.+?)(<=|>=|!=|==|=|~|<|>)(.*)$/s;

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

type Packed = { of: any[]; at?: number[]; n?: number } | any[];
type Test = (row: number) => boolean;

/** @returns Each value at its place. */
export function unpacked(packed: Packed): any[] {
  if (Array.isArray(packed)) return packed;
  return packed.at ? packed.at.map((number) => packed.of[number]) : Array(packed.n).fill(packed.of[0]);
}

const formatCount = (count: number) => Math.round(count).toLocaleString("en-US");

/** @param difference How far the cell is from what it is compared with. */
function holds(sign: string, difference: number) {
  if (sign === "<") return difference < 0;
  if (sign === ">") return difference > 0;
  return sign === "<=" ? difference <= 0 : difference >= 0;
}

/** A column with the words of its cells and what to sort by. */
export class Column {
  readonly name = String(this.packed.name);
  isVisible = Boolean(this.packed.shown);
  readonly isFirst = this.isVisible;
  readonly isRight = Boolean(this.packed.right);
  readonly role: string = this.packed.role ?? "";
  readonly order: (number | null)[] | null = this.packed.order === undefined ? null : unpacked(this.packed.order);
  readonly words: (string | null)[] =
    this.packed.words === undefined
      ? (this.order ?? []).map((number) => (number === null ? null : String(number)))
      : unpacked(this.packed.words);
  readonly keys: (string | null)[] | null = this.packed.keys === undefined ? null : unpacked(this.packed.keys);

  constructor(readonly packed: any) {}

  /** @returns The rows in order; those with nothing are last. */
  sorted(rows: number[], direction: number): number[] {
    const { order, words } = this;
    const compare = order
      ? (a: number, b: number) => Number(order[a]) - Number(order[b])
      : (a: number, b: number) => collator.compare(String(words[a]), String(words[b]));
    const there = rows.filter((row) => words[row] !== null);
    return [...there.sort((a, b) => direction * compare(a, b) || a - b), ...rows.filter((row) => words[row] === null)];
  }

  /** @returns The rows by their values, each value where it comes first in its own order. */
  grouped(rows: number[]): number[] {
    const groups: Map<string | null, number[]> = new Map();
    for (const row of this.sorted(rows, 1)) groups.set(this.words[row], []);
    for (const row of rows) groups.get(this.words[row])?.push(row);
    return [...groups.values()].flat();
  }

  /** @param sign `~` is "has in it"; `==` is the same as `=`. */
  test(sign: string, wanted: string): Test {
    if (sign === "==") return this.test("=", wanted);
    if (sign === "~") return (row) => this.words[row]?.toLowerCase().includes(wanted.toLowerCase()) ?? false;
    if (wanted === "") return (row) => (sign === "=" ? this.words[row] === null : this.words[row] !== null);
    const isEqual = (row: number) => this.#names(row).includes(wanted.toLowerCase());
    const number = this.#number(wanted);
    if (sign === "=" || sign === "!=") {
      return (row) => (isEqual(row) || (!Number.isNaN(number) && this.order?.[row] === number)) === (sign === "=");
    }
    const difference: (row: number) => number = Number.isNaN(number)
      ? (row) => collator.compare(String(this.words[row]), wanted)
      : (row) => Number(this.order?.[row]) - number;
    return (row) => this.words[row] !== null && holds(sign, difference(row));
  }

  /** @returns Whether cells of this column can be compared with `wanted` by this sign. */
  takes(sign: string, wanted: string) {
    if (!this.isRight || wanted === "" || !Number.isNaN(Number(wanted))) return true;
    return ["=", "==", "!=", "~"].includes(sign) && (sign === "~" || this.words.includes(wanted));
  }

  /** @returns Whether no cell equals `wanted` but some contain it, so that `=` must have meant `~`. */
  hasOnlyWithin(wanted: string) {
    if (this.isRight || this.role || wanted === "") return false;
    const [is, has] = [this.test("=", wanted), this.test("~", wanted)];
    return !this.words.some((_, row) => is(row)) && this.words.some((_, row) => has(row));
  }

  /** @returns What the cell may be called in a filter. */
  #names(row: number): string[] {
    const words = (this.words[row] ?? "").toLowerCase();
    return [
      words,
      this.role === "state" ? words.replace(/^\S+ /, "") : words,
      (this.keys?.[row] ?? words).toLowerCase(),
    ];
  }

  #number(wanted: string) {
    if (!this.order) return NaN;
    return this.isRight ? Number(wanted) : Date.parse(wanted);
  }
}

/** @returns The words of a filter, comparisons without the spaces around their signs. */
function tokens(text: string): string[] {
  const parts = text.split(/("[^"]*")/).map((part, place) => (place % 2 ? part : part.replace(AROUND, "$1")));
  return parts.join("").match(TOKEN) ?? [];
}

/** @returns What each word of a filter asks for. */
export function asked(text: string, columns: Column[]): { tests: Test[]; problems: string[] } {
  const searched = columns.filter((column) => column.isVisible || ALWAYS_SEARCHED.includes(column.name));
  const lines: string[] = [];
  const line = (row: number) =>
    (lines[row] ??= searched
      .map((column) => column.words[row] ?? "")
      .join("\n")
      .toLowerCase());
  const bare = (part: string) => part.replaceAll('"', "");
  const problems: string[] = [];
  const tests = tokens(text).map((token) => {
    const [, quoted = "", sign, value = ""] = COMPARISON.exec(token) ?? [];
    const [name, wanted] = [bare(quoted), bare(value)];
    // A sign between quotes belongs to the words.
    const isComparison = sign && quoted.split('"').length % 2;
    const column = isComparison && columns.find((one) => one.name.toLowerCase() === name.toLowerCase());
    if (column) {
      if (!column.takes(sign, wanted)) problems.push(`${column.name} is a number`);
      if (sign === "=" && column.hasOnlyWithin(wanted)) {
        problems.push(`no ${column.name} is only “${wanted}”; these have it in them`);
        return column.test("~", wanted);
      }
      return column.test(sign, wanted);
    }
    if (isComparison && sign !== "~" && NAME.test(name)) {
      problems.push(`no column ${name}`);
      return () => false;
    }
    return (row: number) => line(row).includes(bare(token).toLowerCase());
  });
  return { tests, problems };
}

/**
 * @param rows Those that are left.
 * @param count All there are.
 * @returns How many, how they went, and what they cost.
 */
export function summed(columns: Column[], rows: number[], count: number): string {
  const role = (name: string) => columns.find((column) => column.role === name);
  const [states, credits, sources] = [role("state"), role("credits"), role("source")];
  const noun = `${states ? "run" : "row"}${count === 1 ? "" : "s"}`;
  const part = rows.length < count ? `${formatCount(rows.length)} of ` : "";
  return [
    `${part}${formatCount(count)} ${noun}`,
    ...(states ? counted(states, rows) : []),
    ...money(credits, sources, states, rows),
  ].join(" · ");
}

/** Credits spent, and separately the credits set aside for runs whose outcome is not known; as `_format_totals` in display/tables/table_html.py. */
function money(credits: Column | undefined, sources: Column | undefined, states: Column | undefined, rows: number[]) {
  if (!credits?.order || !credits.isRight) return [];
  const known = rows.filter((row) => (credits.order?.[row] ?? null) !== null);
  const source = (row: number) => sources?.words[row];
  const isAside = (row: number) => source(row) !== "charged" && UNSETTLED.includes(states?.keys?.[row] ?? "");
  const [spent, aside] = [known.filter((row) => !isAside(row)), known.filter(isAside)];
  const sum = (some: number[]) => some.reduce((all, row) => all + Number(credits.order?.[row]), 0);
  const about = spent.some((row) => source(row) === "estimated") ? "≈ " : "";
  return [
    ...(spent.length ? [`${about}${formatCount(sum(spent))} credits`] : []),
    ...(sum(aside) ? [`${formatCount(sum(aside))} credits set aside`] : []),
  ];
}

/** @returns How many are in which state. */
function counted(states: Column, rows: number[]): string[] {
  const counts: Map<string, number> = new Map();
  for (const row of rows) {
    const word = states.words[row]?.replace(/^\S+ /, "");
    if (word) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return [...counts].slice(0, MAX_STATES).map(([word, number]) => `${formatCount(number)} ${word}`);
}

/** @returns The rows in their order as separated values. What a program would take for a formula stays a text. */
export function separated(columns: Column[], rows: number[], by: "," | "\t") {
  const cell = (words: string | null, isNumber = false) =>
    `"${(!isNumber && /^[=+\-@\t]/.test(words ?? "") ? "'" : "") + (words ?? "").replaceAll('"', '""')}"`;
  const lines = [
    columns.map((column) => cell(column.name || "row")),
    ...rows.map((row) => columns.map((column) => cell(column.words[row], column.isRight))),
  ];
  return lines.map((line) => `${line.join(by)}\r\n`).join("");
}
