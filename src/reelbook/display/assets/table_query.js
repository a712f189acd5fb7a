// @ts-check
/** What is asked of the rows of a table: an order, a filter, and what those that are left come to. Nothing here knows of the page. */

const MOST_STATES = 6;
const TOKEN = /(?:[^\s"]+|"[^"]*")+/g;
const COMPARISON = /^(.+?)(<=|>=|!=|=|<|>)(.*)$/s;

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

/** @typedef {{of: any[], at?: number[], n?: number} | any[]} Packed */
/** @typedef {(row: number) => boolean} Test */

/** @param {Packed} packed @returns {any[]} Each value at its place. */
export function unpacked(packed) {
  if (Array.isArray(packed)) return packed;
  return packed.at ? packed.at.map((number) => packed.of[number]) : Array(packed.n).fill(packed.of[0]);
}

/** @param {number} count */
const told = (count) => Math.round(count).toLocaleString("en-US");

/** @param {string} sign @param {number} difference How far the cell is from what it is compared with. */
function holds(sign, difference) {
  if (sign === "<") return difference < 0;
  if (sign === ">") return difference > 0;
  return sign === "<=" ? difference <= 0 : difference >= 0;
}

/** A column with the words of its cells and what to sort by. */
export class Column {
  /** @param {any} packed */
  constructor(packed) {
    this.name = String(packed.name);
    this.isShown = Boolean(packed.shown);
    this.isFirst = this.isShown;
    this.isRight = Boolean(packed.right);
    this.role = packed.role ?? "";
    /** @type {(number | null)[] | null} */
    this.order = packed.order === undefined ? null : unpacked(packed.order);
    /** @type {(string | null)[]} */
    this.words = packed.words === undefined
      ? (this.order ?? []).map((number) => (number === null ? null : String(number)))
      : unpacked(packed.words);
    /** @type {(string | null)[] | null} */
    this.keys = packed.keys === undefined ? null : unpacked(packed.keys);
    /** Letters of its longest cell. */
    this.longest = this.words.reduce((most, word) => Math.max(most, word?.length ?? 1), 0);
  }

  /** @param {number[]} rows @param {number} direction @returns {number[]} The rows in order; those with nothing are last. */
  sorted(rows, direction) {
    const { order, words } = this;
    const compare = order
      ? (/** @type {number} */ a, /** @type {number} */ b) => Number(order[a]) - Number(order[b])
      : (/** @type {number} */ a, /** @type {number} */ b) => collator.compare(String(words[a]), String(words[b]));
    const there = rows.filter((row) => words[row] !== null);
    return [...there.sort((a, b) => direction * compare(a, b) || a - b), ...rows.filter((row) => words[row] === null)];
  }

  /** @param {string} sign @param {string} wanted @returns {Test} */
  test(sign, wanted) {
    if (wanted === "") return (row) => (sign === "=" ? this.words[row] === null : this.words[row] !== null);
    const isEqual = (/** @type {number} */ row) => this.#names(row).includes(wanted.toLowerCase());
    const number = this.#number(wanted);
    if (sign === "=" || sign === "!=") {
      return (row) => (isEqual(row) || (!Number.isNaN(number) && this.order?.[row] === number)) === (sign === "=");
    }
    /** @type {(row: number) => number} */
    const difference = Number.isNaN(number)
      ? (row) => collator.compare(String(this.words[row]), wanted)
      : (row) => Number(this.order?.[row]) - number;
    return (row) => this.words[row] !== null && holds(sign, difference(row));
  }

  /** @param {number} row @returns {string[]} What the cell may be called in a filter. */
  #names(row) {
    const words = (this.words[row] ?? "").toLowerCase();
    return [words, this.role === "state" ? words.replace(/^\S+ /, "") : words, (this.keys?.[row] ?? words).toLowerCase()];
  }

  /** @param {string} wanted */
  #number(wanted) {
    if (!this.order) return NaN;
    return this.isRight ? Number(wanted) : Date.parse(wanted);
  }
}

/** @param {string} text @param {Column[]} columns @returns {Test[]} What each word of a filter asks for. */
export function tests(text, columns) {
  /** @type {string[]} */
  const lines = [];
  const line = (/** @type {number} */ row) =>
    (lines[row] ??= columns.map((column) => column.words[row] ?? "").join("\n").toLowerCase());
  const bare = (/** @type {string} */ part) => part.replaceAll('"', "");
  return (text.match(TOKEN) ?? []).map((token) => {
    const [, name, sign, wanted] = COMPARISON.exec(token) ?? [];
    const column = sign && columns.find((one) => one.name.toLowerCase() === bare(name).toLowerCase());
    if (column) return column.test(sign, bare(wanted));
    return (row) => line(row).includes(bare(token).toLowerCase());
  });
}

/**
 * @param {Column[]} columns @param {number[]} rows Those that are left. @param {number} count All there are.
 * @returns {string} How many, how they went, and what they cost.
 */
export function summed(columns, rows, count) {
  const role = (/** @type {string} */ name) => columns.find((column) => column.role === name);
  const [states, credits, sources] = [role("state"), role("credits"), role("source")];
  const noun = `${states ? "run" : "row"}${count === 1 ? "" : "s"}`;
  const part = rows.length < count ? `${told(rows.length)} of ` : "";
  const paid = credits?.order && credits.isRight ? rows.map((row) => credits.order?.[row] ?? null).filter((one) => one !== null) : [];
  const about = rows.some((row) => sources?.words[row] === "estimated") ? "≈ " : "";
  const sum = paid.length ? [`${about}${told(paid.reduce((a, b) => a + b, 0))} credits`] : [];
  return [`${part}${told(count)} ${noun}`, ...(states ? counted(states, rows) : []), ...sum].join(" · ");
}

/** @param {Column} states @param {number[]} rows @returns {string[]} How many are in which state. */
function counted(states, rows) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const row of rows) {
    const word = states.words[row]?.replace(/^\S+ /, "");
    if (word) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return [...counts].slice(0, MOST_STATES).map(([word, number]) => `${told(number)} ${word}`);
}
