"""The output of a run as a card, and files that are at the service."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..settings import options
from ..util.data_address import is_data_address
from . import run_text
from .fact_table import render_card, render_fact_table, render_heading, render_small_print
from .figure import render_figure, render_with_assets
from .formatting import format_size, join_with_dots, shorten
from .run_card import render_files
from .strip_html import strip_jpeg

if TYPE_CHECKING:
    from ..media.local_file import LocalFile
    from ..models.base import Output
    from ..models.service_file import File

MAX_FILES, MAX_ADDRESS_LENGTH = 12, 600
ELSEWHERE = "At the service, and nothing is loaded from there. run.media has the files of a run on this machine."


def format_output(output: Output) -> str:
    """An output on one line: its type, its first file, and how many there are."""
    media = _media_of(output)
    files = [run_text.format_file_briefly(file) for file in media[:1]]
    more = f"{len(media)} files" if len(media) > 1 else ""
    return shorten(join_with_dots(type(output).__name__, *files, more), 200)


def output_card(output: Output) -> str:
    """The card of an output: its files where they are on this machine, then its other fields."""
    media = _media_of(output)
    facts = run_text.format_output_facts(output)
    if not media:
        files = [
            render_fact_table(format_file_facts(file), caption=f"file {place}")
            for place, file in enumerate(output.files[:MAX_FILES], 1)
        ]
        return render_card(
            render_heading(type(output).__name__),
            render_fact_table(facts),
            *files,
            *([render_small_print(ELSEWHERE)] if files else []),
        )
    known = run_text.describe_file(media[0])
    # The seed is in both.
    known = replace(known, outputs=(*facts, *(fact for fact in known.outputs if fact not in facts)))
    if len(media) > 1:
        return render_with_assets(render_files(media, known, width=options.max_width))
    return render_with_assets(render_figure(media[0], known, width=options.max_width))


def output_strip_jpeg(output: Output) -> bytes | None:
    """The frames of the output's first file as a JPEG, where that is on this machine."""
    media = _media_of(output)
    return strip_jpeg(media[0]) if media else None


def file_card(file: File) -> str:
    """The card of a file at the service: its facts, and its address as text."""
    return render_card(
        render_heading("A file at the service"),
        render_fact_table(format_file_facts(file)),
        render_small_print(ELSEWHERE),
    )


def format_file(file: File) -> str:
    """A file at the service on one line."""
    return " · ".join(f"{value}" for _, value in format_file_facts(file))


def format_file_facts(file: File) -> list[tuple[str, str]]:
    """Name, kind, size and address of a file, and what else the service reports of it."""
    known = [
        ("name", file.file_name),
        ("kind", file.content_type),
        ("size", None if file.file_size is None else format_size(max(file.file_size, 0))),
        *((name, value) for name, value in file if name not in type(file).model_fields or name in ("width", "height")),
        (
            "address",
            "inside the answer itself" if is_data_address(file.url) else shorten(file.url, MAX_ADDRESS_LENGTH),
        ),
    ]
    return [
        (shorten(name, 60), run_text.format_value(value) if name != "address" else str(value))
        for name, value in known
        if value is not None
    ]


def _media_of(output: Output) -> tuple[LocalFile, ...]:
    from ..runs.run import media_of

    return media_of(output)
