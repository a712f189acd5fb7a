"""Earlier texts of a field, from all runs of the library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ....sweeps.results.table_files import find_column
from ..base_widget import Handler
from ..json_values import sendable

if TYPE_CHECKING:
    import pandas as pd

    from ..form import Form

MAX_TEXTS = 50
"""Texts offered; `rb.library()` has all."""
MAX_TEXT_LENGTH = 20_000


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
