"""What earlier runs offer to a form: the texts of a field, their pictures, and the last frames of their clips."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from ...display.formatting import join_with_dots, shorten
from ...media.bounded_open import is_video
from ...sweeps.table_files import IMAGES, VIDEO, find_column, find_paths

if TYPE_CHECKING:
    import pandas as pd

MAX_TEXTS = 50
"""Texts offered; `rb.library()` has all."""
MAX_TEXT_LENGTH = 20_000
PAGE = 12
"""Pictures of one page."""
MAX_CAPTION = 120

SHA256 = re.compile(r"[0-9a-f]{64}")
IN_LIBRARY, OF_CLIP = "sha256:", "film:"
"""Prefixes of the texts for a picture on the shelf, and for the last frame of a clip there."""


class EarlierPictures:
    """A snapshot of the pictures of a library, the newest first and each once; of a clip, its last frame."""

    def __init__(self, runs: pd.DataFrame) -> None:
        """`runs` has one row for each run, the newest last."""
        self._runs = runs
        self._found: dict[str, tuple[int, str]] = {}
        """The row of each picture, and which of its pictures it is."""
        has_files = find_column(runs, VIDEO) is not None or find_column(runs, IMAGES) is not None
        for row, paths in reversed(list(enumerate(find_paths(runs) if has_files else ()))):
            names = [name for name in dict.fromkeys(map(_find_name, paths)) if name and name not in self._found]
            for number, name in enumerate(names, 1):
                which = f"picture {number} of {len(names)}" if len(names) > 1 else ""
                self._found[name] = row, which

    def __len__(self) -> int:
        return len(self._found)

    def page(self, start: int) -> list[dict[str, str]]:
        """One page as JSON, from this index on: each picture as a draft has it, and its caption."""
        files = [(name, *self._found[name]) for name in list(self._found)[start : start + PAGE]]
        rows = sorted({row for _, row, _ in files})
        captions = dict(zip(rows, _captions(self._runs.iloc[rows]), strict=True))
        return [
            {
                "picture": name,
                "words": f"last frame of {captions[row]}"
                if name.startswith(OF_CLIP)
                else join_with_dots(which, captions[row]),
            }
            for name, row, which in files
        ]


def _find_name(path: str) -> str:
    """A file of the shelf as a draft has it; empty for any other file."""
    sha256 = Path(path).stem
    return (OF_CLIP if is_video(path) else IN_LIBRARY) + sha256 if SHA256.fullmatch(sha256) else ""


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


def find_earlier_texts(runs: pd.DataFrame, name: str) -> list[str]:
    """The texts in a column, the newest first and each only once; `runs` has the newest last.

    >>> import pandas as pd
    >>> find_earlier_texts(pd.DataFrame({"prompt": ["a kite", "a boat", None, "a kite"]}), "prompt")
    ['a kite', 'a boat']
    """
    column = find_column(runs, name)
    texts = [] if column is None else [text for text in column if isinstance(text, str) and text.strip()]
    return [text[:MAX_TEXT_LENGTH] for text in dict.fromkeys(reversed(texts))][:MAX_TEXTS]
