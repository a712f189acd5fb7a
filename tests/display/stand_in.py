"""A run in any state, without a service: displays only read it."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pandas as pd

from reelbook.display.tables.table_html import table_bundle
from reelbook.errors import ReelbookError
from reelbook.media.local_file import LocalFile
from reelbook.models.base import Output
from reelbook.runs.run import Run
from reelbook.settings import options


@dataclass
class StandIn:
    """What displays read of a run."""

    input: Any = None
    output: Any = None
    media: tuple[LocalFile, ...] = ()
    status: str = "completed"
    credits: int | None = 53
    credits_source: str = "charged"
    progress: tuple[float, str] = (1.0, "completed")
    logs: list[str] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=lambda: {"total": 3.21})
    request_id: str = "request-1"
    endpoint_id: str = "svc/text-to-video-13b-distilled"
    displayed_in: int | None = None
    from_library: bool = False
    failure: ReelbookError | None = None
    made_by: str = ""


def run_of(*media: LocalFile, prompt: str | None = "a paper boat", seed: int | None = 7, **others: Any) -> Run:
    """A stand-in for a run that made these files."""
    asked = None if prompt is None else SimpleNamespace(prompt=prompt)
    told = Output() if seed is None else Output.model_validate({"seed": seed})
    return cast(Run, StandIn(asked, told, media, **others))


class Read(HTMLParser):
    """Some HTML as a browser reads it: its elements in order, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str]]:
        """The attributes of each element of this kind."""
        return [attributes for name, attributes in self.elements if name == tag]

    def one(self, tag: str) -> dict[str, str]:
        """The attributes of the only element of this kind."""
        (found,) = self.all(tag)
        return found


def bare(html: str) -> Read:
    """The same without style sheets and scripts, as a notebook shows it that nobody trusts."""
    return Read(re.sub(r"<(style|script)\b.*?</\1>", "", html, flags=re.DOTALL))


def render_table(table: Any, *, embed: str = "poster", key: str = "") -> str:
    """A table as HTML, with so much of its clips; by the key it requests them of a kernel."""
    with options(embed=embed):
        return str(table_bundle(table, key=key)["text/html"])


def decoded(uri: str) -> tuple[str, bytes]:
    """The kind and the content of a `data:` URI."""
    kind, _, body = uri.removeprefix("data:").partition(";base64,")
    return kind, base64.b64decode(body, validate=True)


def table_of(*paths: Path | None, **columns: Any) -> pd.DataFrame:
    """A table with a run for each file, which has failed where there is none."""
    files = [None if path is None else str(path) for path in paths]
    told = {"status": ["failed" if path is None else "completed" for path in paths], "output_video": files}
    told["error"] = [None if path else "out of memory" for path in paths]
    return pd.DataFrame({"seed": range(len(paths)), **columns, **told}).rename_axis("run")
