/** Sizes as text, and the canvas that is taken for each: the rule of the kernel, to draw it while one types. */

export type Pixels = { width: number; height: number };
export type Canvas = [aspect: string, tier: string, width: number, height: number];
export interface SizesFacts {
  formats?: Array<[group: string, formats: Array<[name: string, size: string]>]>;
  presets?: Canvas[];
  tiers?: string[];
  /** The field that holds the least tier. */
  tier?: string;
  sides?: [least: number, most: number];
}

/** The size that a text means, however it is spelt: 1080x1920, 1080 × 1920, 1080*1920; null where it means none. */
export function sizesRead(text: string): Pixels | null {
  const found = /^\s*0*([1-9]\d{0,4})\s*[x×✕*]\s*0*([1-9]\d{0,4})\s*(?:px)?\s*$/i.exec(text);
  return found && { width: Number(found[1]), height: Number(found[2]) };
}

/** A size as the service reads it, anything else as it was typed. */
export function sizesPlain(text: string) {
  const size = sizesRead(text);
  return size ? `${size.width}x${size.height}` : text;
}

/**
 * The entries of a text: between commas and lines, and between spaces where all of it is sizes. Brackets and quotation
 * marks of a list in code do not count, nor do the spaces in 1080 × 1920.
 */
export function sizesSplit(text: string): string[] {
  const pairs = text.replace(/[([]\s*(\d+)\s*,\s*(\d+)\s*[)\]]/g, "$1x$2");
  const entries = pairs
    .split(/[,;\n\r\t]+/)
    .map((entry) => entry.trim())
    .filter(Boolean);
  return entries.flatMap((entry) => {
    const plain = entry
      .replace(/["'[\](){}]/g, " ")
      .replace(/(\d)\s*[x×✕*]\s*(?=\d)/gi, "$1x")
      .trim();
    const words = plain.split(/\s+/);
    return words.every((word) => sizesRead(word)) ? words.map(sizesPlain) : [sizesPlain(entry)];
  });
}

/** The canvas for a target: the lowest tier that covers it, in it the nearest shape, of two the smaller. */
export function sizesPreset(size: Pixels, facts: SizesFacts, least?: string): Canvas | null {
  const tiers = facts.tiers ?? [];
  for (const tier of tiers.slice(Math.max(0, tiers.indexOf(least ?? "")))) {
    const covering = (facts.presets ?? []).filter(
      ([, of, width, height]) => of === tier && width >= size.width && height >= size.height,
    );
    if (covering.length) return covering.reduce((best, other) => (sizesIsNearer(other, best, size) ? other : best));
  }
  return null;
}

/** Whether one canvas suits a size better than another. Compares products of integers, because quotients are rounded. */
function sizesIsNearer(one: Canvas, other: Canvas, size: Pixels) {
  const [big, small] = sizesStretch(one, size);
  const [most, least] = sizesStretch(other, size);
  const difference = big * least - most * small;
  return difference < 0 || (difference === 0 && one[2] * one[3] < other[2] * other[3]);
}

function sizesStretch([, , width, height]: Canvas, size: Pixels): [number, number] {
  const [wide, tall] = [width * size.height, height * size.width];
  return wide > tall ? [wide, tall] : [tall, wide];
}

/** The part of a canvas that has the shape of the target, which is what is composed. */
export function sizesComposed([, , width, height]: Canvas, size: Pixels): Pixels {
  const factor = Math.min(width / size.width, height / size.height);
  return { width: size.width * factor, height: size.height * factor };
}

/** What is wrong with an entry, and the nearest one that is not; null where nothing is. */
export function sizesTrouble(
  text: string,
  facts: SizesFacts,
  least?: string,
): { kind: string; words: string; nearest: string } | null {
  if (!facts.sides) return null;
  const size = sizesRead(text);
  if (!size)
    return {
      kind: "size_form",
      words: "a size is width x height, such as 1080x1920",
      nearest: sizesGuessed(text, facts),
    };
  const [shortest, longest] = facts.sides;
  if (Math.min(size.width, size.height) < shortest || Math.max(size.width, size.height) > longest) {
    return {
      kind: "size_range",
      words: `sides are ${shortest} to ${longest} pixels long`,
      nearest: sizesNearest(size, facts),
    };
  }
  if (sizesPreset(size, facts, least)) return null;
  return { kind: "no_preset", words: "no canvas covers this size", nearest: sizesNearest(size, facts) };
}

function sizesGuessed(text: string, facts: SizesFacts) {
  const sides =
    Array.from(text)
      .slice(0, 100)
      .join("")
      .match(/[0-9]{1,9}/g) ?? [];
  return sides.length === 2 ? sizesNearest({ width: Number(sides[0]), height: Number(sides[1]) }, facts) : "";
}

/** The largest size of about the same shape that is within bounds and has a canvas. */
function sizesNearest(size: Pixels, facts: SizesFacts) {
  const [shortest, longest] = facts.sides ?? [1, 99999];
  const clamped = (side: number) => Math.min(Math.max(side, shortest), longest);
  const inside = { width: clamped(size.width), height: clamped(size.height) };
  if (sizesPreset(inside, facts)) return `${inside.width}x${inside.height}`;
  // Every canvas cuts at one of its sides; the best is where most of the size remains.
  const cut = (facts.presets ?? []).map(([, , width, height]) =>
    width * inside.height < height * inside.width
      ? { width, height: Math.floor((inside.height * width) / inside.width) }
      : { width: Math.floor((inside.width * height) / inside.height), height },
  );
  const best = cut.reduce((one, other) => (other.width + other.height > one.width + one.height ? other : one));
  return `${clamped(best.width)}x${clamped(best.height)}`;
}
