/** Sorting, filtering and summing the rows of a table; independent of the page. */

const TOKEN = /(?:[^\s"]+|"[^"]*")+/g;
const AROUND = /\s*(<=|>=|!=|==?|~|<|>)\s*/g;
const COMPARISON = /^(.+?)(<=|>=|!=|==?|~|<|>)(.*)$/s;
const HOLDS: Record<string, (difference: number) => boolean> = {
  "<": (difference) => difference < 0,
  ">": (difference) => difference > 0,
  "<=": (difference) => difference <= 0,
  ">=": (difference) => difference >= 0,
};

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

type Packed = { of: any[]; at?: number[]; n?: number } | any[];
type Test = (row: number) => boolean;

/** @returns Each value at its place. */
export function unpacked(packed: Packed): any[] {
  if (Array.isArray(packed)) return packed;
  return packed.at ? packed.at.map((number) => packed.of[number]) : Array(packed.n).fill(packed.of[0]);
}

/** A column with the words of its cells and what to sort by. */
export class Column {
  readonly name = String(this.packed.name);
  readonly isVisible = Boolean(this.packed.shown);
  readonly isRight = Boolean(this.packed.right);
  readonly role: string = this.packed.role ?? "";
  readonly order: (number | null)[] | null = this.packed.order === undefined ? null : unpacked(this.packed.order);
  readonly words: (string | null)[] =
    this.packed.words === undefined
      ? (this.order ?? []).map((number) => (number === null ? null : String(number)))
      : unpacked(this.packed.words);

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

  /** What a comparison asks of a row. Words equal what they have in them, and nothing equals an empty cell. */
  test(sign: string, wanted: string): Test {
    const { words, order, isRight } = this;
    if (wanted === "") return (row) => (words[row] === null) === sign.startsWith("=");
    const number = order ? (isRight ? Number(wanted) : Date.parse(wanted)) : NaN;
    const has = (row: number) => words[row]?.toLowerCase().includes(wanted.toLowerCase()) ?? false;
    const isSame = (row: number) => words[row] === wanted || order?.[row] === number;
    if (sign === "~") return has;
    if (!HOLDS[sign]) return (row) => (isRight ? isSame(row) : has(row)) === (sign !== "!=");
    const difference = Number.isNaN(number)
      ? (row: number) => collator.compare(String(words[row]), wanted)
      : (row: number) => Number(order?.[row]) - number;
    return (row) => words[row] !== null && HOLDS[sign](difference(row));
  }
}

/**
 * What each word of a filter asks for; a comparison may have spaces around its sign.
 * @param captions A line for each row, which is searched, too.
 */
export function asked(text: string, columns: Column[], captions: string[]): Test[] {
  const searched = [captions, ...columns.map(({ words }) => words)];
  const bare = (part: string) => part.replaceAll('"', "").toLowerCase();
  const parts = text.split(/("[^"]*")/).map((part, place) => (place % 2 ? part : part.replace(AROUND, "$1")));
  return (parts.join("").match(TOKEN) ?? []).map((token) => {
    const [, name = "", sign, value = ""] = COMPARISON.exec(token) ?? [];
    // A sign between quotes belongs to the words.
    const isComparison = sign && name.split('"').length % 2;
    const column = isComparison && columns.find((one) => one.name.toLowerCase() === bare(name));
    if (column) return column.test(sign, value.replaceAll('"', ""));
    return (row: number) => searched.some((words) => words[row]?.toLowerCase().includes(bare(token)));
  });
}

/** Ends a state of which nobody knows yet what it costs. */
const UNSETTLED = /(not started|waiting|IN_QUEUE|running|IN_PROGRESS|unfinished|uncertain)$/;

/** @returns How many rows these are, of all there are, and what they cost. */
export function summed(columns: Column[], rows: number[], of = rows.length): string {
  const role = (name: string) => columns.find((column) => column.role === name);
  const [credits, sources, states] = [role("credits"), role("source"), role("state")];
  const format = (count: number) => Math.round(count).toLocaleString("en-US");
  const noun = `${role("state") ? "run" : "row"}${of === 1 ? "" : "s"}`;
  const counts = `${rows.length < of ? `${format(rows.length)} of ` : ""}${format(of)} ${noun}`;
  if (!credits?.isRight) return counts;
  const isAside = (row: number) => sources?.words[row] !== "charged" && UNSETTLED.test(states?.words[row] ?? "");
  const sum = (some: number[]) => format(some.reduce((all, row) => all + Number(credits.order?.[row]), 0));
  const [aside, spent] = [rows.filter(isAside), rows.filter((row) => !isAside(row))];
  const about = spent.some((row) => sources?.words[row] === "estimated") ? "≈ " : "";
  const amounts = [spent.length && `${about}${sum(spent)} credits`, aside.length && `${sum(aside)} credits set aside`];
  return [counts, ...amounts].filter(Boolean).join(" · ");
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
