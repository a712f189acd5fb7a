/**
 * Frames in exact colours: without a graphics card Chromium draws the blue of BT.709 up to twelve levels too weak.
 *
 * Its converter has a coefficient of 2.11 that its eight bits cut off at 2. Here the planes are converted in double precision.
 */

const [TEST_Y, TEST_U, TEST_V] = [32, 240, 118]; // A blue of BT.709, which is 255 when it is right.
const [RED, GREEN_U, GREEN_V, BLUE] = [1.5748, 0.1873, 0.4681, 1.8556]; // BT.709, of chroma within ±0.5.
const [LUMA, CHROMA] = [255 / 219, 255 / 224];
let isBlueWeak: boolean | null = null;

/** Whether this browser draws the frame in other colours than it declares. */
export function hasWeakBlue(frame: VideoFrame) {
  const { matrix, primaries, fullRange } = frame.colorSpace;
  const isKnown = frame.format === "I420" && matrix === "bt709" && primaries === "bt709" && !fullRange;
  return isKnown && (isBlueWeak ??= measureBlue());
}

/** Draw a frame by its planes. */
export async function convertExactly(frame: VideoFrame): Promise<ImageData> {
  const rect = frame.visibleRect ?? { width: frame.codedWidth, height: frame.codedHeight };
  const planes = new Uint8Array(frame.allocationSize());
  const [luma, blue, red] = await frame.copyTo(planes);
  const { width, height } = rect;
  const image = new ImageData(width, height),
    pixels = image.data; // Clamped and rounded by its type.
  for (let row = 0; row < height; row += 1) {
    let [y, to] = [luma.offset + row * luma.stride, row * width * 4];
    const [u, v] = [blue.offset + (row >> 1) * blue.stride, red.offset + (row >> 1) * red.stride];
    for (let column = 0; column < width; column += 1, y += 1, to += 4) {
      const light = LUMA * (planes[y] - 16);
      const cb = CHROMA * (planes[u + (column >> 1)] - 128),
        cr = CHROMA * (planes[v + (column >> 1)] - 128);
      pixels[to] = light + RED * cr;
      pixels[to + 1] = light - GREEN_U * cb - GREEN_V * cr;
      pixels[to + 2] = light + BLUE * cb;
      pixels[to + 3] = 255;
    }
  }
  return image;
}

function measureBlue() {
  const side = 16,
    size = side * side;
  const planes = new Uint8Array(size * 1.5)
    .fill(TEST_Y, 0, size)
    .fill(TEST_U, size, size * 1.25)
    .fill(TEST_V, size * 1.25);
  const colorSpace = {
    matrix: "bt709",
    primaries: "bt709",
    transfer: "bt709",
    fullRange: false,
  } as VideoColorSpaceInit;
  const frame = new VideoFrame(planes, {
    format: "I420",
    codedWidth: side,
    codedHeight: side,
    timestamp: 0,
    colorSpace,
  });
  const canvas = new OffscreenCanvas(side, side);
  const context = canvas.getContext("2d") as OffscreenCanvasRenderingContext2D;
  context.drawImage(frame, 0, 0);
  frame.close();
  return context.getImageData(side / 2, side / 2, 1, 1).data[2] < 252;
}
