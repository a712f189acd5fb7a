// @ts-check
/** Two pictures composed on one canvas, pixel by pixel: wipe, onion skin, difference, or one of them. */

/** @typedef {{source: CanvasImageSource, size: number[]}} Drawable A picture, and its width and height. */

/**
 * Where a picture of this size is in the middle of a box.
 * @param {number[]} size @param {number[]} box
 */
export function fitted([width, height], box) {
  const scale = Math.min(box[0] / width, box[1] / height);
  const sides = [width, height].map((length, axis) => (Math.abs(box[axis] - length * scale) < 1.5 ? box[axis] : Math.max(1, Math.round(length * scale))));
  return [Math.floor((box[0] - sides[0]) / 2), Math.floor((box[1] - sides[1]) / 2), ...sides];
}

/** @param {CanvasRenderingContext2D} context @param {Drawable} one */
function drawFitted(context, { source, size }) {
  const { width, height } = context.canvas;
  const [left, top, wide, high] = fitted(size, [width, height]);
  context.imageSmoothingEnabled = true;
  context.imageSmoothingQuality = "high";
  context.drawImage(source, left, top, wide, high);
}

/** @param {CanvasRenderingContext2D} context @param {Drawable} one @param {number[]} part Left, top, width and height. */
function drawPart(context, one, [left, top, width, height]) {
  context.save();
  context.beginPath();
  context.rect(left, top, width, height);
  context.clip();
  drawFitted(context, one);
  context.restore();
}

/** @param {CanvasRenderingContext2D} context */
function blank(context) {
  context.globalAlpha = 1;
  context.globalCompositeOperation = "source-over";
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
}

/** @param {CanvasRenderingContext2D} context @param {Drawable} one */
export function drawOne(context, one) {
  blank(context);
  drawFitted(context, one);
}

/**
 * One up to a column or a row, the other from there.
 * @param {CanvasRenderingContext2D} context @param {Drawable} a @param {Drawable} b @param {number} edge @param {boolean} isDown
 */
export function drawWipe(context, a, b, edge, isDown) {
  const { width, height } = context.canvas;
  blank(context);
  drawPart(context, a, isDown ? [0, 0, width, edge] : [0, 0, edge, height]);
  drawPart(context, b, isDown ? [0, edge, width, height - edge] : [edge, 0, width - edge, height]);
}

/** The other over the one. @param {CanvasRenderingContext2D} context @param {Drawable} a @param {Drawable} b @param {number} opacity Of the other. */
export function drawOnion(context, a, b, opacity) {
  drawOne(context, a);
  context.globalAlpha = opacity;
  drawFitted(context, b);
  context.globalAlpha = 1;
}

/**
 * |a − b| of each colour, times a power of two, at most 255.
 * @param {CanvasRenderingContext2D} context @param {Drawable} a @param {Drawable} b @param {number} factor
 */
export function drawDifference(context, a, b, factor) {
  const { canvas } = context;
  blank(context);
  context.fillStyle = "#000";
  context.fillRect(0, 0, canvas.width, canvas.height);
  drawFitted(context, a);
  context.globalCompositeOperation = "difference";
  drawFitted(context, b);
  // Added to itself: exact, and without reading pixels back.
  context.globalCompositeOperation = "lighter";
  for (let done = 1; done < factor; done *= 2) context.drawImage(canvas, 0, 0);
  context.globalCompositeOperation = "source-over";
}

/** @type {CanvasRenderingContext2D | null} */
let onePixel = null;

/** Red, green and blue of one pixel of the box; null beside the picture. @param {Drawable} one @param {number[]} box @param {number[]} at */
export function readPixel({ source, size }, box, [x, y]) {
  const [left, top, wide, high] = fitted(size, box);
  if (x < left || y < top || x >= left + wide || y >= top + high) return null;
  onePixel ??= /** @type {CanvasRenderingContext2D} */ (Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true }));
  onePixel.clearRect(0, 0, 1, 1);
  onePixel.drawImage(source, left - x, top - y, wide, high);
  try {
    return [...onePixel.getImageData(0, 0, 1, 1).data.slice(0, 3)];
  } catch {
    onePixel = null; // A file beside a page on a disk may be seen, and not read.
    return null;
  }
}
