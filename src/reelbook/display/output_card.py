"""What a model answered: the output of a run with its files, and a file that is still at the service."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..settings import options
from . import run_text
from .fact_table import card, fact_table, heading, small
from .figure import figure, page
from .formatting import cut, joined, size
from .run_card import several
from .strip_html import strip

if TYPE_CHECKING:
    from ..media.local_file import LocalFile
    from ..models.base import Output
    from ..models.service_file import File

MAX_FILES, LONGEST_ADDRESS = 12, 600
ELSEWHERE = "At the service, and nothing is loaded from there. run.media has the files of a run on this machine."


def output_line(output: Output) -> str:
    """An answer on one line: what kind it is, its first files, and its seed."""
    media = _media_of(output)
    files = [run_text.short_file_line(file) for file in media[:1]]
    more = f"{len(media)} files" if len(media) > 1 else ""
    return cut(joined(type(output).__name__, *files, more), 200)


def output_card(output: Output) -> str:
    """An answer: its files where they are on this machine, then what else it says."""
    media = _media_of(output)
    facts = run_text.output_facts(output)
    if not media:
        files = [
            fact_table(file_facts(file), caption=f"file {place}")
            for place, file in enumerate(output.files[:MAX_FILES], 1)
        ]
        return card(heading(type(output).__name__), fact_table(facts), *files, *([small(ELSEWHERE)] if files else []))
    known = run_text.of_file(media[0])
    # The seed stands in both.
    known = replace(known, answered=(*facts, *(fact for fact in known.answered if fact not in facts)))
    if len(media) > 1:
        return page(several(media, known, width=options.max_width))
    return page(figure(media[0], known, width=options.max_width))


def output_strip(output: Output) -> bytes | None:
    """The frames of its first file, where that is on this machine."""
    media = _media_of(output)
    return strip(media[0]) if media else None


def file_card(file: File) -> str:
    """A file at the service: what is known of it, and its address as text."""
    return card(heading("A file at the service"), fact_table(file_facts(file)), small(ELSEWHERE))


def file_line(file: File) -> str:
    """The same on one line."""
    return " · ".join(f"{value}" for _, value in file_facts(file))


def file_facts(file: File) -> list[tuple[str, str]]:
    """Name, kind, size and address; what else the service says of it."""
    known = [
        ("name", file.file_name),
        ("kind", file.content_type),
        ("size", None if file.file_size is None else size(max(file.file_size, 0))),
        *((name, value) for name, value in file if name not in type(file).model_fields or name in ("width", "height")),
        ("address", "inside the answer itself" if file.url.startswith("data:") else cut(file.url, LONGEST_ADDRESS)),
    ]
    return [
        (cut(name, 60), run_text.text_of(value) if name != "address" else str(value))
        for name, value in known
        if value is not None
    ]


def _media_of(output: Output) -> tuple[LocalFile, ...]:
    from ..runs.run import media_of

    return media_of(output)
