"""Pictures that were made here before, the newest first: those of runs, and the last frames of their clips."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ....display.formatting import cut, joined
from ....display.tables.table_media import captions
from ....media import stills
from ....sweeps.results.accessor import IMAGES, VIDEO, Reel, first_of

if TYPE_CHECKING:
    import pandas as pd

PAGE = 12
"""Pictures that are shown at once."""
LONGEST = 120

SHA256 = re.compile(r"[0-9a-f]{64}")
IN_LIBRARY, OF_FILM = "sha256:", "film:"
"""What a text begins with that stands for a picture on the shelf, and for the last frame of a clip there."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """One picture to choose."""

    picture: str
    """`sha256:…` for a picture, `film:…` for the last frame of a clip; both by the hash of the file."""
    words: str
    """What it is, for a person."""


class Earliers:
    """The pictures of a library as it was when this was made."""

    def __init__(self, runs: pd.DataFrame) -> None:
        """`runs` has one row for each run, the newest last."""
        self._runs = runs
        self._files = _files_of(runs)
        self._siblings: dict[int, list[str]] = {}
        for row, name in self._files:
            self._siblings.setdefault(row, []).append(name)

    def __len__(self) -> int:
        return len(self._files)

    def page(self, start: int) -> list[Earlier]:
        """Some of them, from this one on."""
        files = self._files[start : start + PAGE]
        rows = sorted({row for row, _ in files})
        told = dict(zip(rows, _told(self._runs.iloc[rows]), strict=True))
        return [Earlier(name, self._words(row, name, told[row])) for row, name in files]

    def _words(self, row: int, name: str, told: str) -> str:
        if name.startswith(OF_FILM):
            return f"last frame of {told}"
        names = self._siblings[row]
        return joined(f"picture {names.index(name) + 1} of {len(names)}" if len(names) > 1 else "", told)


def _files_of(runs: pd.DataFrame) -> list[tuple[int, str]]:
    """Row and name of each file, the newest first and each only once."""
    if first_of(runs, VIDEO) is None and first_of(runs, IMAGES) is None:
        return []
    found: dict[str, int] = {}
    for row, paths in reversed(list(enumerate(Reel(runs).paths()))):
        for path in paths:
            sha256 = Path(path).stem
            if SHA256.fullmatch(sha256):
                found.setdefault((OF_FILM if stills.is_film(path) else IN_LIBRARY) + sha256, row)
    return [(row, name) for name, row in found.items()]


def _told(runs: pd.DataFrame) -> list[str]:
    models = first_of(runs, "model")
    names = [""] * len(runs) if models is None else [str(model).rpartition("/")[2] for model in models]
    prompts = first_of(runs, "prompt")
    asked = [False] * len(runs) if prompts is None else [isinstance(prompt, str) for prompt in prompts]
    return [
        # Without a prompt a caption says little more than what it cost.
        cut(words if has_prompt else joined(name, words), LONGEST) or "an earlier run"
        for name, words, has_prompt in zip(names, captions(runs), asked, strict=True)
    ]
