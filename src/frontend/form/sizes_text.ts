/** Sizes as text, however they are spelt. */

/** The size that a text means, however it is spelt: 1080x1920, 1080 × 1920, 1080*1920; null where it means none. */
export function sizesRead(text: string): { width: number; height: number } | null {
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
