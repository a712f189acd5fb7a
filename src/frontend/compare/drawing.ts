/** Two pictures composed on one canvas, pixel by pixel: wipe, onion skin, difference, or one of them. */

/** A picture, and its width and height. */
export type Drawable = { source: CanvasImageSource; size: number[] };

/** Where a picture of this size is in the middle of a box: left, top, width and height. */
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
  context.imageSmoothingQuality = "high";
  context.drawImage(source, left, top, wide, high);
}

export function drawOne(context: CanvasRenderingContext2D, one: Drawable) {
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  drawFitted(context, one);
}

/** One up to a column, the other from there. */
export function drawWipe(context: CanvasRenderingContext2D, a: Drawable, b: Drawable, edge: number) {
  const { width, height } = context.canvas;
  drawOne(context, a);
  context.save();
  context.beginPath();
  context.rect(edge, 0, width, height);
  context.clip();
  drawOne(context, b);
  context.restore();
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
