"""Pictures of earlier runs, the newest first: their images, and the last frames of their clips."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ....display.formatting import join_with_dots, shorten
from ....media import stills
from ....sweeps.results.table_files import IMAGES, VIDEO, find_column, find_paths

if TYPE_CHECKING:
    import pandas as pd

PAGE = 12
"""Pictures of one page."""
MAX_CAPTION = 120

SHA256 = re.compile(r"[0-9a-f]{64}")
IN_LIBRARY, OF_CLIP = "sha256:", "film:"
"""Prefixes of the texts for a picture on the shelf, and for the last frame of a clip there."""


@dataclass(frozen=True, slots=True)
class EarlierPicture:
    """A picture to choose."""

    picture: str
    """`sha256:…` for a picture, `film:…` for the last frame of a clip; both by the hash of the file."""
    words: str
    """Its caption."""


class EarlierPictures:
    """A snapshot of the pictures of a library."""

    def __init__(self, runs: pd.DataFrame) -> None:
        """`runs` has one row for each run, the newest last."""
        self._runs = runs
        self._files = _files_of(runs)
        self._siblings: dict[int, list[str]] = {}
        for row, name in self._files:
            self._siblings.setdefault(row, []).append(name)

    def __len__(self) -> int:
        return len(self._files)

    def page(self, start: int) -> list[EarlierPicture]:
        """One page, from this index on."""
        files = self._files[start : start + PAGE]
        rows = sorted({row for row, _ in files})
        caption = dict(zip(rows, _captions(self._runs.iloc[rows]), strict=True))
        return [EarlierPicture(name, self._format_words(row, name, caption[row])) for row, name in files]

    def _format_words(self, row: int, name: str, caption: str) -> str:
        if name.startswith(OF_CLIP):
            return f"last frame of {caption}"
        names = self._siblings[row]
        return join_with_dots(f"picture {names.index(name) + 1} of {len(names)}" if len(names) > 1 else "", caption)


def _files_of(runs: pd.DataFrame) -> list[tuple[int, str]]:
    """Row and name of each distinct file, the newest first."""
    if find_column(runs, VIDEO) is None and find_column(runs, IMAGES) is None:
        return []
    found: dict[str, int] = {}
    for row, paths in reversed(list(enumerate(find_paths(runs)))):
        for path in paths:
            sha256 = Path(path).stem
            if SHA256.fullmatch(sha256):
                found.setdefault((OF_CLIP if stills.is_video(path) else IN_LIBRARY) + sha256, row)
    return [(row, name) for name, row in found.items()]


def _captions(runs: pd.DataFrame) -> list[str]:
    from ....display.tables.table_media import format_captions

    models = find_column(runs, "model")
    names = [""] * len(runs) if models is None else [str(model).rpartition("/")[2] for model in models]
    prompts = find_column(runs, "prompt")
    has_prompts = [False] * len(runs) if prompts is None else [isinstance(prompt, str) for prompt in prompts]
    return [
        # Without a prompt, a caption has little more than the cost.
        shorten(words if has_prompt else join_with_dots(name, words), MAX_CAPTION) or "an earlier run"
        for name, words, has_prompt in zip(names, format_captions(runs), has_prompts, strict=True)
    ]
