"""An analysed picture, which can be composed at any size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from PIL import Image

from .aims import Aims, variants
from .composition import Composition, composed
from .crop_window import CropWindow, PixelSize, Search
from .importance import analyse
from .wishes import Wish


@dataclass(frozen=True, slots=True)
class PictureVersion:
    """One version of the picture in a target size."""

    picture: Image.Image
    composition: Composition | None
    """None where the picture already has the target size."""
    seed: int
    plain: bool
    reduction: float
    """The factor by which the picture was reduced when it was opened."""

    @property
    def untouched(self) -> bool:
        return self.composition is None

    @property
    def scale(self) -> float:
        """The size of the subject, relative to the source."""
        return 1.0 if self.composition is None else round(self.composition.scale / self.reduction, 4)

    def drawn(self) -> Image.Image:
        if self.composition is None:
            return self.picture
        return self.composition.drawn(self.picture, seed=self.seed, plain=self.plain)

    def described(self) -> str:
        """What was done, in words."""
        if self.composition is None:
            return "The picture already has this size: it is unchanged."
        return self.composition.described(self.scale)


class AnalysedPicture:
    """The analysis of a picture, and its compositions at any size.

    `width` is that of the source, where the picture was opened at a smaller size.
    """

    def __init__(self, picture: Image.Image, wish: Wish, seed: int, width: int | None = None) -> None:
        self.picture, self.wish, self.seed = picture, wish, seed % 2**64
        self._reduction = (width or picture.width) / picture.width
        self.analysis = wish.applied(analyse(picture))
        self._searches: dict[Aims, Search] = {}

    def views(self, target: PixelSize, count: int) -> Iterator[PictureVersion]:
        """Yield `count` different views of the picture at this size, the best first."""
        if target == self.picture.size and not self.wish.followed:
            yield from (PictureVersion(self.picture, None, 0, False, 1.0) for _ in range(count))
            return
        taken: list[CropWindow] = []
        # The fills have separate seeds, the same for every size.
        fills = np.random.default_rng([self.seed, 1]).integers(0, 2**32, count)
        for aims, fill in zip(variants(self.wish.aims, count, self.seed, target[0] / target[1]), fills, strict=True):
            window = self._search(aims).best(target, taken)
            taken.append(window)
            composition = composed(self.analysis, self.picture.size, target, window, aims)
            yield PictureVersion(self.picture, composition, int(fill), self.wish.plain, self._reduction)

    def seen(self) -> str:
        """What was found in the picture, in words."""
        count = len(self.analysis.boxes)
        found = (
            "no subject stands out"
            if not count
            else "1 subject stands out"
            if count == 1
            else f"{count} parts stand out"
        )
        opened = f"The picture was opened with {self.picture.width}×{self.picture.height} pixels"
        return f"{opened}; {found}."

    def _search(self, aims: Aims) -> Search:
        if aims not in self._searches:
            self._searches[aims] = Search(self.analysis, self.picture.size, aims)
        return self._searches[aims]
