"""Colour spaces of video frames, and frames converted to RGB or resized within their colour space.

A stream declares its colour space by four codes of ITU-T H.273: matrix, range, primaries and transfer. If they are
missing, this follows Chromium with H.264, so that a still looks like the clip in the player: it needs all of three codes,
else a picture of 720 lines or more is BT.709 and a smaller one BT.601.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from av import VideoCodecContext, VideoFrame
    from PIL import Image

RGB, BT709, UNSPECIFIED, RESERVED, BT470BG, BT601, SMPTE240M, BT2020 = 0, 1, 2, 3, 5, 6, 7, 9
"""Codes of matrices and primaries; most are the same in both tables."""
LIMITED, FULL = 1, 2
SRGB = 13
HD_LINES = 720

AREA, SMOOTH = 0x20, 0x2020
"""swscale's flags for averaging areas; the second also interpolates chroma, without which RGB is two levels darker."""
_MATRICES = {BT709: 1, 4: 4, BT470BG: 5, BT601: 5, SMPTE240M: 7, BT2020: 9, 10: 9}
"""swscale's numbers of the matrices."""

PixelSize = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ColourSpace:
    """The colour space of a stream, as codes of H.273."""

    matrix: int
    range: int
    primaries: int
    transfer: int


def get_colours(frame: VideoFrame) -> ColourSpace:
    """The colour space of a decoded frame, as a browser interprets it."""
    if frame.format.is_rgb:
        return ColourSpace(RGB, FULL, BT709, SRGB)
    is_full = frame.color_range == FULL or frame.format.name.startswith("yuvj")
    levels = FULL if is_full else LIMITED
    stated = (frame.colorspace, frame.color_primaries, frame.color_trc)
    if not any(code in (RGB, UNSPECIFIED, RESERVED) for code in stated):
        return ColourSpace(frame.colorspace, levels, frame.color_primaries, frame.color_trc)
    code = BT709 if frame.height >= HD_LINES and not is_full else BT601
    return ColourSpace(code, levels, code, code)


def convert_to_rgb(frame: VideoFrame, colours: ColourSpace, size: PixelSize | None = None) -> Image.Image:
    """The frame as a picture in RGB, resized if a size is given; wide primaries stay as they are."""
    width, height = size or (frame.width, frame.height)
    # Resized while its colours are converted, which is five times as fast as two steps.
    small = frame.reformat(width, height, "rgb24", interpolation=SMOOTH, dst_color_range=FULL, **_source(colours))
    picture: Image.Image = small.to_image()  # type: ignore[no-untyped-call]  # Left out of PyAV's types: Pillow is optional.
    return picture


def resize_frame(
    frame: VideoFrame, colours: ColourSpace, size: PixelSize, *, pixel_format: str = "yuv420p"
) -> VideoFrame:  # fmt: skip
    """The frame at another size for an encoder, in the colour space of `get_encodable_colours`."""
    target = get_encodable_colours(colours)
    matrix = _MATRICES.get(target.matrix, 5)
    return frame.reformat(
        *size, pixel_format, interpolation=AREA, dst_colorspace=matrix, dst_color_range=target.range, **_source(colours)
    )


def get_encodable_colours(colours: ColourSpace) -> ColourSpace:
    """The colour space of a copy: the same, except that RGB becomes BT.709."""
    return ColourSpace(BT709, LIMITED, BT709, BT709) if colours.matrix == RGB else colours


def tag(context: VideoCodecContext, colours: ColourSpace) -> None:
    """Set the colour space that an encoder writes into its stream and file."""
    context.colorspace, context.color_range = colours.matrix, colours.range
    context.color_primaries, context.color_trc = colours.primaries, colours.transfer


def _source(colours: ColourSpace) -> dict[str, int]:
    if colours.matrix == RGB:
        return {}
    return {"src_colorspace": _MATRICES.get(colours.matrix, 5), "src_color_range": colours.range}
