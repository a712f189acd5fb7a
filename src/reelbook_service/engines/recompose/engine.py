"""Smart resize by geometry: a picture is analysed once and composed at every size."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from PIL import Image

from reelbook.models.smart_resize import Size, SmartResize, preset_for

from ..open_pictures import flattened, open_picture, upright_size
from ..protocol import EngineTask, OutputFile, Report
from ..saliency import Saliency, saliency_of
from ..write_provenance import WrittenProvenance
from .extend import calm_ends, extended
from .view import View, views_of
from .wishes import Wish, parse_prompt

OVERSAMPLING = 4
"""Size of the opened picture relative to the largest target: a quarter of it still fills the target sharply."""

ANALYSIS_SHARE = 0.1
"""The share of a run's progress for opening and analysing the picture."""

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
        views = views_of(self.saliency, self.picture.size, target, self.wish.aims, count, self.seed % 2**64)
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
        picture = self.source.picture
        if self.view is None:
            return picture
        size, offset = self.layout()
        left, top, right, bottom = self.view.box
        box = (left * picture.width, top * picture.height, right * picture.width, bottom * picture.height)
        inner = picture.resize(size, Image.Resampling.BICUBIC, box=box, reducing_gap=2.0)
        if size == self.target:
            return inner
        axis = 0 if size[0] < self.target[0] else 1
        calm = calm_ends(self.source.saliency.importance, self.view.box, axis)
        return extended(inner, self.target, offset, calm, seed=self.source.seed, plain=self.source.wish.plain)

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
    version = "3"

    def __call__(self, job: EngineTask[SmartResize], report: Report) -> dict[str, Any]:
        report.log(
            f"Engine {self.name} {self.version}: it finds the subject, then moves, crops and extends the picture "
            "by geometry. No language model and no image-editing model is at work."
        )
        request = job.input
        views = _planned(job, report)
        described = views[0][1].source.wish.described()
        provenance = WrittenProvenance(request.endpoint_id, request.wire(), job.seed, self.name, self.version)
        save_options = provenance.save_options(request.output_format)
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
            picture.save(path, request.output_format, **options, **save_options)
            report.log(f"{path.name}: {words}")
            if len(images) % request.num_images_per_size == 0:
                results.append(_result(size, request, words, scale))
            facts = {"width": picture.width, "height": picture.height}
            images.append(OutputFile(path, f"image/{request.output_format}", facts))
            results[-1]["images"].append(images[-1])
            results[-1]["scales"].append(scale)
        made = "1 picture" if total == 1 else f"{total} pictures"
        made = f"{made}, recomposed by geometry (engine {self.name} {self.version}, no language model)."
        return {"images": images, "results": results, "description": " ".join(filter(None, [made, described]))}


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
    sides = zip(*((size.width, size.height) for size in request.target_sizes), strict=True)
    width, height = (OVERSAMPLING * max(side) for side in sides)
    picture = _ready(open_picture(url, data, at_least=(width, height)), request.output_format)
    source = source_of(picture, request.prompt, job.seed, upright_size(url, data)[0] / picture.width)
    count = len(source.saliency.boxes)
    stands_out = (
        "no subject stands out" if not count else "1 subject stands out" if count == 1 else f"{count} parts stand out"
    )
    seen = f"The picture was opened with {picture.width}×{picture.height} pixels; {stands_out}."
    report.log(" ".join(filter(None, [seen, source.wish.described()])))
    views: deque[tuple[Size, Composition]] = deque()
    for size in request.target_sizes:
        report.progress("looking", ANALYSIS_SHARE)
        target = (size.width, size.height)
        views.extend((size, view) for view in source.compositions(target, request.num_images_per_size))
    return views


def _ready(picture: Image.Image, output_format: str) -> Image.Image:
    """The picture with an alpha channel only if it is used and the format supports it; JPEG gets a black background."""
    if picture.mode != "RGBA":
        return picture
    if output_format == "jpeg":
        return flattened(picture)
    opaque = picture.getchannel("A").getextrema() == (255, 255)
    return picture.convert("RGB") if opaque else picture


def _result(size: Size, request: SmartResize, words: str, scale: float) -> dict[str, Any]:
    """The result of one size, to which its pictures are added."""
    preset = preset_for(size, request.resolution)
    return {
        "width": size.width,
        "height": size.height,
        "aspect_ratio": preset.aspect_ratio if preset else None,
        "resolution": preset.resolution if preset else None,
        "images": [],
        "description": words,
        "scale": scale,
        "scales": [],
    }
