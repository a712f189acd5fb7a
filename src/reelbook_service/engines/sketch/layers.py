"""Planes of the picture: painted once, then cropped and scaled for the camera in every frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from .noise import Field
from .palette import Colour
from .stage import Stage, View

_FINER = 3


@dataclass(frozen=True, slots=True)
class Layer:
    """A plane of the picture."""

    picture: Image.Image
    mask: Image.Image
    top: int
    """The y of its first row in the world; its first column is the world's left edge."""
    nearness: float
    """0 for the sky, 1 for the foreground."""


def layer(stage: Stage, colour: Field, cover: Field, top: float, nearness: float) -> Layer:
    """A plane made of colours and opacity, both from 0 to 1."""
    shape = cover.shape
    colour = np.broadcast_to(colour, (*shape, 3))
    picture = Image.fromarray((np.clip(colour, 0, 1) * 255 + 0.5).astype(np.uint8), "RGB")
    mask = Image.fromarray((np.clip(cover, 0, 1) * 255 + 0.5).astype(np.uint8), "L")
    return Layer(picture, mask, int(top), nearness)


def blended(first: Field | Colour, second: Field | Colour, share: Field) -> Field:
    """Two colours mixed by a map of shares."""
    one, two = np.asarray(first, np.float32), np.asarray(second, np.float32)
    return np.asarray(one + (two - one) * share[..., None], np.float32)


def drawn(
    stage: Stage, top: float, bottom: float, draw: Callable[[ImageDraw.ImageDraw, float, float, float], None]
) -> Field:
    """The coverage of shapes drawn by Pillow with soft edges; `draw` receives pen, scale and the world's corner."""
    size = (stage.wide * _FINER, (int(bottom) - int(top)) * _FINER)
    mask = Image.new("L", size)
    draw(ImageDraw.Draw(mask), _FINER, float(stage.margin_x), -float(int(top)))
    return np.asarray(mask.reduce(_FINER), np.float32) / 255


def merged(planes: Sequence[Layer], within: float) -> list[Layer]:
    """The planes with adjacent ones merged whose nearness differs by no more than `within`."""
    groups: list[list[Layer]] = []
    for plane in planes:
        if groups and abs(groups[-1][0].nearness - plane.nearness) <= within:
            groups[-1].append(plane)
        else:
            groups.append([plane])
    return [_united(group) for group in groups]


def _united(planes: list[Layer]) -> Layer:
    if len(planes) == 1:
        return planes[0]
    top = min(plane.top for plane in planes)
    size = (planes[0].picture.width, max(plane.top + plane.picture.height for plane in planes) - top)
    whole = Image.new("RGBA", size)
    for plane in planes:
        sheet = Image.new("RGBA", size)
        sheet.paste(plane.picture, (0, plane.top - top))
        own = Image.new("L", size)
        own.paste(plane.mask, (0, plane.top - top))
        sheet.putalpha(own)
        whole = Image.alpha_composite(whole, sheet)
    # Colour extends slightly beyond the covered area: scaling would blend black into the edges.
    colour = whole.convert("RGBa").filter(ImageFilter.BoxBlur(2)).convert("RGBA").convert("RGB")
    cover = whole.getchannel("A")
    colour.paste(whole.convert("RGB"), (0, 0), cover.point([0] + [255] * 255))
    return Layer(colour, cover, top, planes[-1].nearness)


def show_layer(picture: Image.Image, plane: Layer, stage: Stage, view: View) -> None:
    """Paint a plane into the picture as the camera sees it."""
    centre_x, centre_y = stage.width / 2, min(stage.horizon, stage.height * 0.75)
    # Picture = centre + (world - centre) * scale + shift, solved for the visible rectangle of the world.
    left = centre_x + (-view.dx - centre_x) / view.scale + stage.margin_x
    width = stage.width / view.scale
    world_top = centre_y + (-view.dy - centre_y) / view.scale
    first = max(0, int(np.floor(centre_y + (plane.top - centre_y) * view.scale + view.dy)))
    last_row = plane.top + plane.picture.height
    last = min(stage.height, int(np.ceil(centre_y + (last_row - centre_y) * view.scale + view.dy)))
    top = world_top + first / view.scale - plane.top
    bottom = world_top + last / view.scale - plane.top
    # The box must be inside the plane: at its edges the picture is a fraction of a pixel short.
    top, bottom = max(0.0, top), min(float(plane.picture.height), bottom)
    left = min(max(0.0, left), plane.picture.width - width)
    if last <= first or bottom - top < 1:
        return
    if view.scale == 1 and left == int(left) and top == int(top):
        corner = (int(left), int(top), int(left) + stage.width, int(top) + last - first)
        picture.paste(plane.picture.crop(corner), (0, first), plane.mask.crop(corner))
        return
    box, size = (left, top, left + width, bottom), (stage.width, last - first)
    seen = plane.picture.resize(size, Image.Resampling.BILINEAR, box=box)
    picture.paste(seen, (0, first), plane.mask.resize(size, Image.Resampling.BILINEAR, box=box))


def seen_at(stage: Stage, view: View, x: float, y: float) -> tuple[float, float]:
    """The position in the picture of a point of the world."""
    centre_x, centre_y = stage.width / 2, min(stage.horizon, stage.height * 0.75)
    return centre_x + (x - centre_x) * view.scale + view.dx, centre_y + (y - centre_y) * view.scale + view.dy
