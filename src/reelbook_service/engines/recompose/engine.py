"""Smart resize by geometry: a picture is analysed once and composed at every size."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from reelbook.models.smart_resize import Size, SmartResize, preset_for

from ..open_pictures import flattened, open_picture, upright_size
from ..protocol import EngineTask, OutputFile, Report
from ..write_provenance import WrittenProvenance
from .analysed_picture import AnalysedPicture, PictureVersion
from .wishes import Wish, parse_prompt
from .write_picture import SUFFIXES, write

OVERSAMPLING = 4
"""Size of the opened picture relative to the largest target: a quarter of it still fills the target sharply."""

ANALYSIS_SHARE = 0.1
"""The share of a run's progress for opening and analysing the picture."""


@dataclass(frozen=True, slots=True)
class Recompose:
    """The local engine of smart-resize."""

    name: str = "recompose"
    version: str = "1"

    def __call__(self, job: EngineTask[SmartResize], report: Report) -> dict[str, Any]:
        report.log(
            f"Engine {self.name} {self.version}: it finds the subject, then moves, crops, bends and extends the picture "
            "by geometry. No language model and no image-editing model is at work."
        )
        wish = parse_prompt(job.input.prompt)
        views = _planned(job, wish, report)
        provenance = WrittenProvenance(SmartResize.endpoint_id, job.input.wire(), job.seed, self.name, self.version)
        writer = _ResultWriter(job, provenance.save_options(job.input.output_format))
        while views:
            # Removed from the queue, so that the last view frees the memory of the source picture.
            writer.write_view(*views.popleft(), report)
        return {"images": writer.images, "results": writer.results, "description": self._described(writer, wish)}

    def _described(self, writer: _ResultWriter, wish: Wish) -> str:
        count = len(writer.images)
        made = "1 picture" if count == 1 else f"{count} pictures"
        done = f"{made}, recomposed by geometry (engine {self.name} {self.version}, no language model)."
        return " ".join(filter(None, [done, wish.described()]))


recompose = Recompose()


def _planned(job: EngineTask[SmartResize], wish: Wish, report: Report) -> deque[tuple[Size, PictureVersion]]:
    """Plan all pictures, in order, without rendering them."""
    report.progress("looking", 0.0)
    analysed = _analysed_picture(job, wish)
    report.log(" ".join(filter(None, [analysed.seen(), wish.described()])))
    views: deque[tuple[Size, PictureVersion]] = deque()
    for size in job.input.target_sizes:
        report.progress("looking", ANALYSIS_SHARE)
        views.extend((size, view) for view in analysed.views((size.width, size.height), job.input.num_images_per_size))
    return views


def _analysed_picture(job: EngineTask[SmartResize], wish: Wish) -> AnalysedPicture:
    url = job.input.image_url
    data = job.sources[url]
    sides = zip(*((size.width, size.height) for size in job.input.target_sizes), strict=True)
    width, height = (OVERSAMPLING * max(side) for side in sides)
    picture = open_picture(url, data, at_least=(width, height))
    return AnalysedPicture(_ready(picture, job.input.output_format), wish, job.seed, upright_size(url, data)[0])


def _ready(picture: Image.Image, output_format: str) -> Image.Image:
    """The picture with an alpha channel only if it is used and the format supports it; JPEG gets a black background."""
    if picture.mode != "RGBA":
        return picture
    if output_format == "jpeg":
        return flattened(picture)
    opaque = picture.getchannel("A").getextrema() == (255, 255)
    return picture.convert("RGB") if opaque else picture


class _ResultWriter:
    """Renders views, writes them to files and collects the results."""

    def __init__(self, job: EngineTask[SmartResize], provenance: Mapping[str, Any]) -> None:
        self.images: list[OutputFile] = []
        self.results: list[dict[str, Any]] = []
        self._request, self._folder, self._provenance = job.input, job.folder, provenance
        self._total = len(job.input.target_sizes) * job.input.num_images_per_size
        self._numbers: Counter[Size] = Counter()

    def write_view(self, size: Size, view: PictureVersion, report: Report) -> None:
        """Render one picture, write it, and add it to the results."""
        stage = f"composing {size}, {len(self.images) + 1} of {self._total}"
        exact, scale, words = view.untouched, view.scale, view.described()
        report.progress(stage, self._share(0.0))
        picture = view.drawn()
        del view  # This frees the source picture after the last view.
        path = self._path(size)
        report.progress(f"writing {path.name}", self._share(0.5))
        write(picture, path, self._request.output_format, provenance=self._provenance, exact=exact)
        report.log(f"{path.name}: {words}")
        facts = {"width": picture.width, "height": picture.height}
        self._enter(size, OutputFile(path, f"image/{self._request.output_format}", facts), scale, words)

    def _share(self, part: float) -> float:
        """The completed share of the run when this part of the current picture is done."""
        return ANALYSIS_SHARE + (1 - ANALYSIS_SHARE) * (len(self.images) + part) / self._total

    def _path(self, size: Size) -> Path:
        # Counted per size: a size may be requested twice.
        self._numbers[size] += 1
        return self._folder / f"{size}-{self._numbers[size]}.{SUFFIXES[self._request.output_format]}"

    def _enter(self, size: Size, image: OutputFile, scale: float, words: str) -> None:
        variant = len(self.images) % self._request.num_images_per_size
        if variant == 0:
            preset = preset_for(size, self._request.resolution)
            result: dict[str, Any] = {
                "width": size.width,
                "height": size.height,
                "aspect_ratio": preset.aspect_ratio if preset else None,
                "resolution": preset.resolution if preset else None,
                "images": [],
                "description": words,
                "scale": scale,
                "scales": [],
            }
            self.results.append(result)
        self.results[-1]["images"].append(image)
        self.results[-1]["scales"].append(scale)
        self.images.append(image)
