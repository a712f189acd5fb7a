/** Two pictures composed on one canvas, pixel by pixel: wipe, onion skin, difference, or one of them. */

/** A picture, and its width and height. */
export type Drawable = { source: CanvasImageSource; size: number[] };

/** Where a picture of this size is in the middle of a box. */
export function fitted([width, height]: number[], box: number[]) {
  const scale = Math.min(box[0] / width, box[1] / height);
  const sides = [width, height].map((length, axis) =>
    Math.abs(box[axis] - length * scale) < 1.5 ? box[axis] : Math.max(1, Math.round(length * scale)),
  );
  return [Math.floor((box[0] - sides[0]) / 2), Math.floor((box[1] - sides[1]) / 2), ...sides];
}

function drawFitted(context: CanvasRenderingContext2D, { source, size }: Drawable) {
  const { width, height } = context.canvas;
  const [left, top, wide, high] = fitted(size, [width, height]);
  context.imageSmoothingEnabled = true;
  context.imageSmoothingQuality = "high";
  context.drawImage(source, left, top, wide, high);
}

/** @param part Left, top, width and height. */
function drawPart(context: CanvasRenderingContext2D, one: Drawable, [left, top, width, height]: number[]) {
  context.save();
  context.beginPath();
  context.rect(left, top, width, height);
  context.clip();
  drawFitted(context, one);
  context.restore();
}

function blank(context: CanvasRenderingContext2D) {
  context.globalAlpha = 1;
  context.globalCompositeOperation = "source-over";
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
}

export function drawOne(context: CanvasRenderingContext2D, one: Drawable) {
  blank(context);
  drawFitted(context, one);
}

/** One up to a column or a row, the other from there. */
export function drawWipe(context: CanvasRenderingContext2D, a: Drawable, b: Drawable, edge: number, isDown: boolean) {
  const { width, height } = context.canvas;
  blank(context);
  drawPart(context, a, isDown ? [0, 0, width, edge] : [0, 0, edge, height]);
  drawPart(context, b, isDown ? [0, edge, width, height - edge] : [edge, 0, width - edge, height]);
}

/** The other over the one. @param opacity Of the other. */
export function drawOnion(context: CanvasRenderingContext2D, a: Drawable, b: Drawable, opacity: number) {
  drawOne(context, a);
  context.globalAlpha = opacity;
  drawFitted(context, b);
  context.globalAlpha = 1;
}

/** |a − b| of each colour, times a power of two, at most 255. */
export function drawDifference(context: CanvasRenderingContext2D, a: Drawable, b: Drawable, factor: number) {
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

let onePixel: CanvasRenderingContext2D | null = null;

/** Red, green and blue of one pixel of the box; null beside the picture. */
export function readPixel({ source, size }: Drawable, box: number[], [x, y]: number[]) {
  const [left, top, wide, high] = fitted(size, box);
  if (x < left || y < top || x >= left + wide || y >= top + high) return null;
  onePixel ??= Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", {
    willReadFrequently: true,
  }) as CanvasRenderingContext2D;
  onePixel.clearRect(0, 0, 1, 1);
  onePixel.drawImage(source, left - x, top - y, wide, high);
  try {
    return [...onePixel.getImageData(0, 0, 1, 1).data.slice(0, 3)];
  } catch {
    onePixel = null; // A file beside a page on a disk may be seen, and not read.
    return null;
  }
}
