"""What earlier runs offer to a form: the texts of a field, their pictures, and the last frames of their clips."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...display.formatting import join_with_dots, shorten
from ...media.bounded_open import is_video
from ...sweeps.table_files import IMAGES, VIDEO, find_column, find_paths
from .base_widget import Handler
from .json_values import sendable

if TYPE_CHECKING:
    import pandas as pd

    from .form import Form

MAX_TEXTS = 50
"""Texts offered; `rb.library()` has all."""
MAX_TEXT_LENGTH = 20_000
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
                found.setdefault((OF_CLIP if is_video(path) else IN_LIBRARY) + sha256, row)
    return [(row, name) for name, row in found.items()]


def _captions(runs: pd.DataFrame) -> list[str]:
    from ...display.tables.table_media import format_captions

    models = find_column(runs, "model")
    names = [""] * len(runs) if models is None else [str(model).rpartition("/")[2] for model in models]
    prompts = find_column(runs, "prompt")
    has_prompts = [False] * len(runs) if prompts is None else [isinstance(prompt, str) for prompt in prompts]
    return [
        # Without a prompt, a caption has little more than the cost.
        shorten(words if has_prompt else join_with_dots(name, words), MAX_CAPTION) or "an earlier run"
        for name, words, has_prompt in zip(names, format_captions(runs), has_prompts, strict=True)
    ]


class EarlierPrompts:
    """Sends earlier texts to the page of one form on request."""

    def __init__(self, form: Form) -> None:
        self._form: Form | None = form
        self.handlers: Mapping[str, Handler] = {"prompts": self._on_prompts}

    def close(self) -> None:
        """Release the form."""
        self._form, self.handlers = None, {}

    def _on_prompts(self, content: dict[str, Any], _: list[memoryview]) -> None:
        form, name = self._form, content.get("name")
        if form is None or not isinstance(name, str) or not form.has(name):
            return

        def answer() -> None:
            texts = find_earlier_texts(form.session.library().frame, name)
            form.send({"prompts": name, "texts": [sendable(text) for text in texts]})

        form.in_background("prompts", answer)


def find_earlier_texts(runs: pd.DataFrame, name: str) -> list[str]:
    """The texts in a column, the newest first and each only once; `runs` has the newest last.

    >>> import pandas as pd
    >>> find_earlier_texts(pd.DataFrame({"prompt": ["a kite", "a boat", None, "a kite"]}), "prompt")
    ['a kite', 'a boat']
    """
    column = find_column(runs, name)
    texts = [] if column is None else [text for text in column if isinstance(text, str) and text.strip()]
    return [text[:MAX_TEXT_LENGTH] for text in dict.fromkeys(reversed(texts))][:MAX_TEXTS]
