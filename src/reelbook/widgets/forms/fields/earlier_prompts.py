"""What was asked before: the texts of a field in all runs of the library, to begin from again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ....sweeps.results.accessor import first_of
from ..base_widget import Handle
from ..json_values import writable

if TYPE_CHECKING:
    import pandas as pd

    from ..form import Form

MAX = 50
"""Texts that are offered; `rb.library()` has all."""
LONGEST = 20_000


class Prompts:
    """Answers the page of one form when it asks for earlier texts."""

    def __init__(self, form: Form) -> None:
        self._form: Form | None = form
        self.handles: Mapping[str, Handle] = {"prompts": self._asked}

    def close(self) -> None:
        """Nothing of it stays behind."""
        self._form, self.handles = None, {}

    def _asked(self, content: dict[str, Any], _: list[memoryview]) -> None:
        form, name = self._form, content.get("name")
        if form is None or not isinstance(name, str) or not form.has(name):
            return

        def answer() -> None:
            texts = earlier_texts(form.shop.library_frame(), name)
            form.send({"prompts": name, "texts": [writable(text) for text in texts]})

        form.in_background("prompts", answer)


def earlier_texts(runs: pd.DataFrame, name: str) -> list[str]:
    """The texts in a column, the newest first and each only once; `runs` has the newest last.

    >>> import pandas as pd
    >>> earlier_texts(pd.DataFrame({"prompt": ["a kite", "a boat", None, "a kite"]}), "prompt")
    ['a kite', 'a boat']
    """
    column = first_of(runs, name)
    texts = [] if column is None else [text for text in column if isinstance(text, str) and text.strip()]
    return [text[:LONGEST] for text in dict.fromkeys(reversed(texts))][:MAX]
