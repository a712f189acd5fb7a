"""Smart resize by geometry: a picture is analysed once, then moved, cropped and extended to every size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFilter

from reelbook.models.smart_resize import SmartResize, preset_for

from .open_pictures import flattened, open_picture, upright_size
from .protocol import EngineTask, OutputFile, Report
from .recompose_view import View, Wish, parse_prompt, views_of
from .saliency import Saliency, saliency_of
from .write_provenance import WrittenProvenance

Pixels = npt.NDArray[np.uint8]

OVERSAMPLING = 4
"""Size of the opened picture relative to the largest target: a quarter of it still fills the target sharply."""

ANALYSIS_SHARE = 0.1
"""The share of a run's progress for opening and analysing the picture."""

FINE = 1 / 40
"""The size of the details that end at the picture's edge, as a share of that edge; larger ones fade slowly."""

REACH = 0.12
"""How much of the picture is mirrored into the background beyond its edge: so little that no subject comes again."""

UNCHANGED = View(0, 0, 1, 1)
"""The view of a picture that already has the target size."""

SUFFIXES = {"jpeg": "jpg", "png": "png", "webp": "webp"}

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    # Higher levels cost ten times as much for a tenth less.
    "png": {"compress_level": 1},
    "jpeg": {"quality": 95, "subsampling": 0},
    "webp": {"quality": 90, "method": 1},
}
LOSSLESS: Mapping[str, Any] = {"lossless": True, "exact": True, "quality": 20, "method": 0}
"""For WebP of a picture that already has its size: every pixel is preserved."""


@dataclass(frozen=True, slots=True)
class Source:
    """A picture and what matters in it."""

    picture: Image.Image
    saliency: Saliency
    wish: Wish
    seed: int
    reduction: float = 1.0
    """The factor by which the picture was reduced when it was opened."""

    def views(self, target: tuple[int, int], count: int) -> list[View]:
        """Different views of the picture for a size, the best first; a picture that has the size stays as it is."""
        if target == self.picture.size and not self.wish.followed:
            return [UNCHANGED] * count
        return views_of(self.saliency, self.picture.size, target, self.wish, count, self.seed % 2**64)

    def drawn(self, view: View, target: tuple[int, int]) -> Image.Image:
        """The view at the target size."""
        (left, top, right, bottom), (width, height) = view.box, self.picture.size
        box = (left * width, top * height, right * width, bottom * height)
        size, offset = view.layout(target)
        inner = self.picture.resize(size, Image.Resampling.BICUBIC, box=box, reducing_gap=2.0)
        return inner if size == target else extended(inner, target, offset)

    def scale(self, view: View, target: tuple[int, int]) -> float:
        """The size of the subject, relative to the source."""
        return round(target[0] / (view.width * self.picture.width * self.reduction), 4)


class Recompose:
    """The local engine of smart-resize."""

    name = "recompose"
    version = "5"

    def __call__(self, job: EngineTask[SmartResize], report: Report) -> dict[str, Any]:
        report.log(
            f"Engine {self.name} {self.version}: it finds the subject, then moves, crops and extends the picture "
            "by geometry. No language model and no image-editing model is at work."
        )
        report.progress("looking", 0.0)
        request, kind, url = job.input, job.input.output_format, job.input.image_url
        sides = zip(*((size.width, size.height) for size in request.target_sizes), strict=True)
        width, height = (OVERSAMPLING * max(lengths) for lengths in sides)
        picture = open_picture(url, job.sources[url], at_least=(width, height))
        if kind == "jpeg" or picture.getextrema()[-1] == (255, 255):
            picture = flattened(picture)
        reduction = upright_size(url, job.sources[url])[0] / picture.width
        source = source_of(picture, request.prompt, job.seed, reduction)
        wish = source.wish.described()
        subject = "a subject stands out" if source.saliency.box else "no subject stands out"
        opened = f"The picture was opened with {picture.width}×{picture.height} pixels; {subject}."
        report.log(f"{opened} {wish}".rstrip())
        provenance = WrittenProvenance(request.endpoint_id, request.wire(), job.seed, self.name, self.version)
        images: list[OutputFile] = []
        results: list[dict[str, Any]] = []
        numbers: Counter[str] = Counter()
        total = len(request.target_sizes) * request.num_images_per_size
        for size in request.target_sizes:
            target, preset = (size.width, size.height), preset_for(size, request.resolution)
            facts = {"width": size.width, "height": size.height}
            shape = {name: getattr(preset, name, None) for name in ("aspect_ratio", "resolution")}
            views = source.views(target, request.num_images_per_size)
            scales = [source.scale(view, target) for view in views]
            for view, scale in zip(views, scales, strict=True):
                # Counted by size: one may be requested twice.
                numbers[str(size)] += 1
                path = job.folder / f"{size}-{numbers[str(size)]}.{SUFFIXES[kind]}"
                share = ANALYSIS_SHARE + (1 - ANALYSIS_SHARE) * len(images) / total
                report.progress(f"composing {size}, {len(images) + 1} of {total}", share)
                drawn = source.drawn(view, target)
                report.progress(f"writing {path.name}", share + (1 - ANALYSIS_SHARE) / (2 * total))
                options = LOSSLESS if view is UNCHANGED and kind == "webp" else OPTIONS[kind]
                drawn.save(path, kind, **options, **provenance.save_options(kind))
                report.log(f"{path.name}: {described(view, scale)}")
                images.append(OutputFile(path, f"image/{kind}", facts))
            done = {"images": images[-len(views) :], "scales": scales, "scale": scales[0]}
            results.append({**shape, **facts, **done, "description": described(views[0], scales[0])})
        count = "1 picture" if total == 1 else f"{total} pictures"
        words = f"{count}, recomposed by geometry (engine {self.name} {self.version}, no language model). {wish}"
        return {"images": images, "results": results, "description": words.rstrip()}


recompose = Recompose()
"""The engine instance."""


def described(view: View, scale: float) -> str:
    """What was done, in words."""
    if view is UNCHANGED:
        return "The picture already has this size: it is unchanged."
    width, height = (f"{part:.0%}" if part < 0.995 else "all" for part in view.visible)
    extent = "the whole picture" if width == height == "all" else f"{width} of the width and {height} of the height"
    added = f"; {view.added:.0%} of the canvas is added background" if view.added >= 0.005 else ""
    return f"Shows {extent}, at {scale:.2f}× its size{added}."


def source_of(picture: Image.Image, prompt: str, seed: int, reduction: float = 1.0) -> Source:
    """A picture, analysed."""
    return Source(picture, saliency_of(picture), parse_prompt(prompt), seed, reduction)


def extended(inner: Image.Image, target: tuple[int, int], offset: tuple[int, int]) -> Image.Image:
    """The inner picture at its offset in the target, whose rest is added background along one axis."""
    axis = 0 if inner.width < target[0] else 1
    pixels = np.asarray(inner) if axis == 0 else np.asarray(inner).swapaxes(0, 1)
    before = _band(pixels[:, ::-1], offset[axis])[:, ::-1]
    after = _band(pixels, target[axis] - offset[axis] - inner.size[axis])
    whole = np.concatenate([before, pixels, after], axis=1)
    return Image.fromarray(whole if axis == 0 else np.ascontiguousarray(whole.swapaxes(0, 1)))


def _band(pixels: Pixels, length: int) -> Pixels:
    """A band to the right of the pixels: their edge mirrored and stretched, softer and softer, then only its colours."""
    height, width = pixels.shape[:2]
    reach = max(1, round(REACH * min(width, 2 * height)))
    strip = Image.fromarray(np.ascontiguousarray(pixels[:, -reach:, :3][:, ::-1]))
    away = np.arange(length) + 0.5
    columns = np.minimum(reach * (1 - np.exp(-away / reach)), reach - 1).astype(int)
    fine = max(1.5, height * FINE)
    smooth = np.asarray(strip.filter(ImageFilter.GaussianBlur(fine)))[:, columns]
    colours = strip.resize((1, max(2, min(7, height))), Image.Resampling.BOX).resize(
        (1, height), Image.Resampling.BICUBIC
    )
    band = np.asarray(strip)[:, columns].astype(np.float32)
    for layer, end in ((smooth, max(fine, reach)), (np.asarray(colours), 0.4 * height)):
        share = np.clip(away / max(end, 1), 0, 1)[:, None]
        band += (layer - band) * (share * share * (3 - 2 * share)).astype(np.float32)
    alpha = np.repeat(pixels[:, -1:, 3:], length, axis=1)
    return np.concatenate([np.rint(band).astype(np.uint8), alpha], axis=2)
