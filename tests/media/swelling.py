"""Files that are small on the disk and very large in memory, shown in a process of its own, whose peak is nobody else's."""

from __future__ import annotations

import json
import struct
import sys
import warnings
from fractions import Fraction
from pathlib import Path

import av
from PIL import Image

from reelbook.display.embedding import strip_jpeg
from reelbook.display.figure import file_figure
from reelbook.errors import ReelbookError
from reelbook.media.posters import get_poster, get_posters
from reelbook.media.previews import get_preview
from tests.clips import at
from tests.clips import film as warm_film
from tests.support import peak_mib

SIDE = 8_600
SHOWN = {"animated.gif", "middling.webp", "plain.jpg"}
"""What takes little enough to be shown; the others are said to be too large, but for a small file that browsers show."""


def make_files(folder: Path) -> None:
    """One for each way in which a file is opened, and both what is shown and what is not."""
    webp(folder / "largest.webp", width=13_000, height=13_000)
    webp(folder / "middling.webp", width=4_000, height=4_000)
    Image.new("L", (SIDE, SIDE)).save(folder / "plain.jpg")
    Image.new("P", (SIDE, SIDE)).save(folder / "palette.png", compress_level=1)
    animation(folder / "animated.gif", frames=10_000)
    film(folder / "film.mp4", size=(9_000, 4_500))


def webp(path: Path, width: int, height: int) -> Path:
    """A lossless WebP of one colour: 32 bytes, for no pixel takes a bit."""
    value = bits = 0
    fields = [(0x2F, 8), (width - 1, 14), (height - 1, 14), (0, 7)]
    for letter in (40, 200, 40, 255):  # Prefix codes of one symbol each, for green, red, blue and alpha.
        fields += [(1, 1), (0, 1), (1, 1), (letter, 8)]
    fields += [(1, 1), (0, 1), (0, 1), (0, 1)]
    for number, width_of in fields:
        value |= number << bits
        bits += width_of
    body = value.to_bytes((bits + 15) // 16 * 2, "little")
    chunk = b"WEBPVP8L" + struct.pack("<I", len(body)) + body
    path.write_bytes(b"RIFF" + struct.pack("<I", len(chunk)) + chunk)
    return path


def animation(path: Path, frames: int) -> Path:
    """A GIF of many frames, each of one pixel on a canvas of 64 by 64."""
    frame = bytes.fromhex("21f90400020000002c00000000010001000002024401 00".replace(" ", ""))
    head = b"GIF89a" + struct.pack("<HHBBB", 64, 64, 0x80, 0, 0) + bytes(6)
    path.write_bytes(head + frame * frames + b";")
    return path


def film(path: Path, size: tuple[int, int]) -> Path:
    """A clip of one very large frame, as coarse as can be, which is much quicker to write."""
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=24, options={"preset": "ultrafast", "qp": "51"})
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        stream.codec_context.thread_count = 1
        frame = av.VideoFrame(*size, "yuv420p")
        for plane in frame.planes:
            plane.update(bytes(plane.buffer_size))
        frame.pts, frame.time_base = 0, Fraction(1, 24)
        container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def main(folder: Path) -> None:
    """One line for each file: its name, its size as it is listed, the growth so far, and what the figure says."""
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    Path(folder / "warm").mkdir()
    warm = warm_film(folder / "warm" / "clip.mp4", size=(640, 360))
    file_figure(warm), strip_jpeg(warm), get_preview(warm.path)
    before = peak_mib()
    paths = sorted(path for path in folder.iterdir() if path.is_file())
    for path in paths:
        file = at(path)
        has_poster = get_poster(path) is not None
        html = file_figure(file)
        try:
            strip_jpeg(file)
        except ReelbookError:
            has_poster = False
        saved = file.save(folder / "warm" / path.name).read_bytes() == path.read_bytes()
        size = file.probe.width, file.probe.height
        told = "too large to show here" in html and path.name in html
        print(json.dumps([path.name, size, peak_mib() - before, has_poster, told, saved]), flush=True)
    # Several at the same time, as a table does.
    get_posters(paths), [file_figure(at(path), many=True) for path in paths]
    print(json.dumps(["together", (0, 0), peak_mib() - before, True, False, True]), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
