"""Smart resize by geometry: a picture is analysed once, then moved, cropped and extended to every size."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageChops, ImageFilter

from reelbook.models.smart_resize import Size, SmartResize, preset_for

from .open_pictures import flattened, open_picture, upright_size
from .protocol import EngineTask, OutputFile, Report
from .recompose_view import View, Wish, parse_prompt, views_of
from .saliency import Map, Saliency, saliency_of
from .write_provenance import WrittenProvenance

OVERSAMPLING = 4
"""Size of the opened picture relative to the largest target: a quarter of it still fills the target sharply."""

ANALYSIS_SHARE = 0.1
"""The share of a run's progress for opening and analysing the picture."""

CALM = 0.2
"""The importance from which cells are not repeated in added background."""

FINE = 1 / 40
"""The size of the details that end at the picture's edge, as a share of that edge; larger ones fade slowly."""

SUFFIXES = {"jpeg": "jpg", "png": "png", "webp": "webp"}

QUICK: Mapping[str, Mapping[str, Any]] = {
    # Higher levels cost ten times as much for a tenth less.
    "png": {"compress_level": 1},
    "jpeg": {"quality": 92, "subsampling": 0},
    "webp": {"quality": 90, "method": 1},
}
EXACT: Mapping[str, Mapping[str, Any]] = {
    "png": {"compress_level": 1},
    "jpeg": {"quality": 98, "subsampling": 0},
    "webp": {"lossless": True, "exact": True, "quality": 20, "method": 0},
}
"""For a picture that already has its size: every pixel is preserved as far as the format can."""


@dataclass(frozen=True, slots=True)
class Source:
    """A picture and what matters in it."""

    picture: Image.Image
    saliency: Saliency
    wish: Wish
    seed: int
    reduction: float = 1.0
    """The factor by which the picture was reduced when it was opened."""

    def compositions(self, target: tuple[int, int], count: int) -> Iterator[Composition]:
        """Yield different compositions of the picture at this size, the best first."""
        if target == self.picture.size and not self.wish.followed:
            yield from (Composition(self, target, None) for _ in range(count))
            return
        views = views_of(self.saliency, self.picture.size, target, self.wish, count, self.seed % 2**64)
        yield from (Composition(self, target, view) for view in views)


@dataclass(frozen=True, slots=True)
class Composition:
    """A picture in a target size, decided before any pixel is drawn."""

    source: Source
    target: tuple[int, int]
    view: View | None
    """None where the picture already has the target size."""

    @property
    def scale(self) -> float:
        """The size of the subject, relative to the source."""
        if self.view is None:
            return 1.0
        return round(self.target[0] / (self.view.width * self.source.picture.width * self.source.reduction), 4)

    def layout(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The size of the visible part in the target, and its offset."""
        size, offset = list(self.target), [0, 0]
        if self.view is not None:
            starts, lengths = (self.view.left, self.view.top), (self.view.width, self.view.height)
            for axis, (start, length, shown) in enumerate(zip(starts, lengths, self.view.visible, strict=True)):
                size[axis] = max(1, round(self.target[axis] * shown / length))
                offset[axis] = min(max(0, round(-start / length * self.target[axis])), self.target[axis] - size[axis])
        return (size[0], size[1]), (offset[0], offset[1])

    def drawn(self) -> Image.Image:
        """The picture at the target size."""
        source = self.source
        if self.view is None:
            return source.picture
        size, offset = self.layout()
        left, top, right, bottom = self.view.box
        box = (
            left * source.picture.width,
            top * source.picture.height,
            right * source.picture.width,
            bottom * source.picture.height,
        )
        inner = source.picture.resize(size, Image.Resampling.BICUBIC, box=box, reducing_gap=2.0)
        if size == self.target:
            return inner
        calm = calm_ends(source.saliency.importance, self.view.box, 0 if size[0] < self.target[0] else 1)
        return extended(inner, self.target, offset, calm, seed=source.seed, plain=source.wish.plain)

    def described(self) -> str:
        """What was done, in words."""
        if self.view is None:
            return "The picture already has this size: it is unchanged."
        width, height = (f"{part:.0%}" if part < 0.995 else "all" for part in self.view.visible)
        extent = "the whole picture" if width == height == "all" else f"{width} of the width and {height} of the height"
        added = f"; {self.view.added:.0%} of the canvas is added background" if self.view.added >= 0.005 else ""
        return f"Shows {extent}, at {self.scale:.2f}× its size{added}."


class Recompose:
    """The local engine of smart-resize."""

    name = "recompose"
    version = "4"

    def __call__(self, job: EngineTask[SmartResize], report: Report) -> dict[str, Any]:
        report.log(
            f"Engine {self.name} {self.version}: it finds the subject, then moves, crops and extends the picture "
            "by geometry. No language model and no image-editing model is at work."
        )
        request, views = job.input, _planned(job, report)
        wish = views[0][1].source.wish.described()
        provenance = WrittenProvenance(request.endpoint_id, request.wire(), job.seed, self.name, self.version)
        images: list[OutputFile] = []
        results: list[dict[str, Any]] = []
        numbers: Counter[Size] = Counter()
        total = len(views)
        while views:
            size, composition = views.popleft()
            share = ANALYSIS_SHARE + (1 - ANALYSIS_SHARE) * len(images) / total
            report.progress(f"composing {size}, {len(images) + 1} of {total}", share)
            options = (EXACT if composition.view is None else QUICK)[request.output_format]
            scale, words = composition.scale, composition.described()
            picture = composition.drawn()
            del composition  # The last one frees the memory of the source picture before its result is written.
            # Counted per size: a size may be requested twice.
            numbers[size] += 1
            path = job.folder / f"{size}-{numbers[size]}.{SUFFIXES[request.output_format]}"
            report.progress(f"writing {path.name}", share + (1 - ANALYSIS_SHARE) / (2 * total))
            picture.save(path, request.output_format, **options, **provenance.save_options(request.output_format))
            report.log(f"{path.name}: {words}")
            facts = {"width": picture.width, "height": picture.height}
            if len(images) % request.num_images_per_size == 0:
                preset = preset_for(size, request.resolution)
                shape = {name: getattr(preset, name, None) for name in ("aspect_ratio", "resolution")}
                results.append({**shape, "images": [], "scales": [], **facts, "description": words, "scale": scale})
            images.append(OutputFile(path, f"image/{request.output_format}", facts))
            results[-1]["images"].append(images[-1])
            results[-1]["scales"].append(scale)
        count = "1 picture" if total == 1 else f"{total} pictures"
        words = f"{count}, recomposed by geometry (engine {self.name} {self.version}, no language model). {wish}"
        return {"images": images, "results": results, "description": words.rstrip()}


recompose = Recompose()
"""The engine instance."""


def source_of(picture: Image.Image, prompt: str, seed: int, reduction: float = 1.0) -> Source:
    """A picture, analysed."""
    return Source(picture, saliency_of(picture), parse_prompt(prompt), seed, reduction)


def _planned(job: EngineTask[SmartResize], report: Report) -> deque[tuple[Size, Composition]]:
    """Plan all pictures, in order, without drawing them."""
    report.progress("looking", 0.0)
    request, url = job.input, job.input.image_url
    data = job.sources[url]
    wanted = [
        OVERSAMPLING * max(sides)
        for sides in zip(*((size.width, size.height) for size in request.target_sizes), strict=True)
    ]
    picture = open_picture(url, data, at_least=(wanted[0], wanted[1]))
    if request.output_format == "jpeg" or (
        picture.mode == "RGBA" and picture.getchannel("A").getextrema() == (255, 255)
    ):
        picture = flattened(picture)
    source = source_of(picture, request.prompt, job.seed, upright_size(url, data)[0] / picture.width)
    count = len(source.saliency.boxes)
    stands_out = {0: "no subject stands out", 1: "1 subject stands out"}.get(count, f"{count} parts stand out")
    seen = f"The picture was opened with {picture.width}×{picture.height} pixels; {stands_out}."
    report.log(" ".join(filter(None, [seen, source.wish.described()])))
    views: deque[tuple[Size, Composition]] = deque()
    for size in request.target_sizes:
        report.progress("looking", ANALYSIS_SHARE)
        target = (size.width, size.height)
        views.extend((size, view) for view in source.compositions(target, request.num_images_per_size))
    return views


def calm_ends(importance: Map, box: tuple[float, float, float, float], axis: int) -> tuple[float, float]:
    """How much of a part of the picture is calm at either end of an axis, as shares of that part.

    `box` is left, top, right and bottom of the part, as shares of the picture.
    """
    rows, columns = importance.shape
    across, down = (
        slice(int(low * cells), max(int(low * cells) + 1, round(high * cells)))
        for low, high, cells in ((box[0], box[2], columns), (box[1], box[3], rows))
    )
    profile = importance[down, across].max(axis)
    busy = np.flatnonzero(profile > CALM)
    if not len(busy):
        return 1.0, 1.0
    return float(busy[0]) / len(profile), float(len(profile) - 1 - busy[-1]) / len(profile)


def extended(
    inner: Image.Image,
    target: tuple[int, int],
    offset: tuple[int, int],
    calm: tuple[float, float] = (0, 0),
    *,
    seed: int,
    plain: bool = False,
) -> Image.Image:
    """The inner picture at its offset in the target, whose rest is added background along one axis.

    `calm` is the share of the picture at either end of that axis that may be repeated. `plain` leaves the added
    parts without structure.
    """
    result = Image.new(inner.mode, target)
    result.paste(inner, offset)
    axis = 0 if inner.width < target[0] else 1
    for end, length in enumerate((offset[axis], target[axis] - offset[axis] - inner.size[axis])):
        if not length:
            continue
        # Turned so that the edge to extend is on the right.
        upright = _turned(inner, axis, end)
        reach = 0.0 if plain else 0.65 * calm[end] * upright.width
        band = _band(upright.convert("RGB"), length, reach, np.random.default_rng([seed % 2**64, end]), plain=plain)
        if inner.mode == "RGBA":
            edge = upright.getchannel("A").crop((upright.width - 1, 0, upright.width, upright.height))
            band.putalpha(edge.resize(band.size))
        place = end * (target[axis] - length)
        result.paste(_turned(band, axis, end), (place, 0) if axis == 0 else (0, place))
    return result


def _turned(picture: Image.Image, axis: int, end: int) -> Image.Image:
    """The picture mirrored so that an end of an axis comes to lie on the right; done twice, as it was."""
    if axis == 0:
        return picture if end else picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return picture.transpose(Image.Transpose.TRANSPOSE if end else Image.Transpose.TRANSVERSE)


def _band(picture: Image.Image, length: int, reach: float, draw: np.random.Generator, *, plain: bool) -> Image.Image:
    """A band to the right of the picture: its mirror image, stretched within `reach` pixels, softer and softer."""
    height, fine = picture.height, max(1.5, picture.height * FINE)
    away = np.arange(length) + 0.5
    source = (reach * (1 - np.exp(-away / reach)) if reach >= 1 else 0 * away).astype(int)
    depth = min(picture.width, max(int(reach) + 1, round(6 * fine)))
    strip = picture.crop((picture.width - depth, 0, *picture.size)).transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    smooth = strip.filter(ImageFilter.GaussianBlur(fine))
    sharp, band = (Image.fromarray(np.asarray(layer)[:, np.minimum(source, depth - 1)]) for layer in (strip, smooth))
    # The colours along the edge, without detail.
    soft = strip.crop((0, 0, max(1, int(reach)), height)).resize((1, max(2, min(7, height))), Image.Resampling.BOX)
    scale = max(0.25 * height, 0.7 * reach) * (0.25 if plain else 1)
    band = Image.composite(
        soft.resize((length, height), Image.Resampling.BICUBIC), band, _ramp(away / scale, 1.6, height)
    )
    if plain:
        return band
    # Details end soon; grain as strong as theirs keeps the rest from looking like fog.
    spread = float(np.median(np.asarray(ImageChops.difference(strip, smooth).convert("L"))))
    spread = min(5.0, spread * min(1.0, height / 600))
    noise = np.rint(128 + draw.normal(0, spread, (max(2, height // 2), max(2, length // 2)))).astype(np.uint8)
    grain = Image.fromarray(noise).resize((length, height), Image.Resampling.BICUBIC)
    grainy = ImageChops.add(band, Image.merge("RGB", (grain,) * 3), offset=-128)
    return Image.composite(grainy, sharp, _ramp(away / max(fine, 0.7 * reach), 1.4, height))


def _ramp(away: npt.NDArray[np.floating], end: float, height: int) -> Image.Image:
    """A mask that rises from the picture's edge outwards."""
    share = np.clip(away / end, 0, 1)
    mask = Image.fromarray(np.rint(255 * share * share * (3 - 2 * share)).astype(np.uint8)[None])
    return mask.resize((len(away), height))
