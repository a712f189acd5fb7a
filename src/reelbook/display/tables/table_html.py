"""A table of runs with posters: its first rows as HTML, and all rows as data for the script that sorts and filters.

Not with itables, which puts some 900 kB of script into each notebook and displays "Loading…" where scripts may not run, nor
with quak, a widget over DuckDB that saves no output: here a reader without scripts still sees posters and figures.
"""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
from markupsafe import Markup
from PIL import Image

from ...settings import options
from ..embedding import MAX_FULL_BYTES, MIME_TYPES, data_uri
from ..formatting import format_credits, join_with_dots, shorten
from ..theme import render, render_script, render_style
from .table_columns import (
    CREDITS,
    SECONDS,
    SOURCE,
    STATUS,
    UNSETTLED,
    Column,
    Number,
    find_columns,
    format_cell,
    format_json,
    pack,
    pack_column,
)

if TYPE_CHECKING:
    import pandas as pd

STYLES, SCRIPT = ("table.css", "player.css"), "table.js"
"""The assets of a page with tables, once: `render_style(*STYLES)`, and `render_script(SCRIPT)` after the last table."""

STATIC_ROWS = 24
"""Rows that are displayed without a script."""

MAX_ROWS = 20_000
BOX, SMALL_BOX, FEW = (96, 54), (64, 36), 60
"""Pixels that a poster may take, in a table of few rows and in a longer one."""

MAX_POSTER_BYTES = 600_000
"""Bytes of the posters of one table in the notebook, in base64."""

MAX_POSTERS = 2_000
QUALITY = 50
MAX_CLIP_BYTES = int(MAX_FULL_BYTES * 0.75)
"""Bytes of the clips of one table, before base64."""

MAX_CLIPS = 200
"""Clips that are embedded for one table, because each takes time to encode."""

MAX_PROMPT_LENGTH = 60
FileLists = list[list[str]]
PixelSize = tuple[int, int]


def table_bundle(table: pd.DataFrame, *, key: str = "", group: str = "") -> dict[str, Any]:
    """The table as an output of a cell: HTML and a line of text, by MIME type; by `key` it requests clips of a kernel."""
    content = render_table_markup(table, key=key, group=group, has_clips=False)
    html = Markup("").join([render_style(*STYLES), content, render_script(SCRIPT)])
    return {"text/plain": format_table(table), "text/html": str(html)}


def format_table(table: pd.DataFrame) -> str:
    """Number of runs, states and credits on one line, for terminals."""
    head = table.head(MAX_ROWS)
    return _format_summary(find_columns(head), len(head), len(table))


def format_reel(reel: Any) -> str:
    """`table.reel` on one line, as `format_table`."""
    return format_table(reel.table)


def render_table_markup(table: pd.DataFrame, *, key: str = "", group: str = "", has_clips: bool = True) -> Markup:
    """The table alone, for a page that has its style sheet, its script, and its clips already."""
    head = table.head(MAX_ROWS)
    columns, files = find_columns(head), find_files(head)
    pictures = make_posters(files)
    captions = format_column_captions(columns, len(head))
    packed = [pack_column(column) for column in columns if column.is_visible or column.role]
    media, notes = pack_media(files, captions, pictures, has_clips=has_clips, first=STATIC_ROWS)
    payload = {"key": key, "group": group, "rows": len(head), "columns": packed, **media}
    return render(
        "table.html",
        summary=_format_summary(columns, len(head)),
        columns=[column for column in columns if column.is_visible],
        rows=len(head),
        shown=min(STATIC_ROWS, len(head)),
        has_files=any(files),
        posters=pictures,
        captions=captions,
        notes=[*_format_limits(len(table), len(head), pictures), *notes],
        payload=format_json(payload),
    )


def _format_summary(all_places: Sequence[Column], count: int, total: int = 0) -> str:
    """`240 runs · 236 completed · 4 failed · 12,720 credits`; of a very long table, for its first rows."""
    roles = {place.role: place for place in all_places if place.role}
    states = roles["state"].words if "state" in roles else []
    counts = Counter(word.partition(" ")[2] for word in states if word is not None)
    shown = f"the first {count:,} of {total:,}" if total > count else f"{count:,}"
    return join_with_dots(
        f"{shown} {'run' if 'state' in roles else 'row'}{'' if count == 1 else 's'}",
        *(f"{number:,} {shorten(word, 20)}" for word, number in list(counts.items())[:6]),
        *_format_totals(roles),
    )


def _format_totals(roles: Mapping[str, Column]) -> list[str]:
    """Credits spent, and credits reserved for runs of unknown outcome."""
    if "credits" not in roles or not roles["credits"].is_number:
        return []
    amounts = roles["credits"].order or []
    sources = roles["source"].words if "source" in roles else [None] * len(amounts)
    states = (roles["state"].keys if "state" in roles else None) or [None] * len(amounts)
    is_open = [source != "charged" and state in UNSETTLED for source, state in zip(sources, states, strict=True)]
    spent = [row for row, amount in enumerate(amounts) if amount is not None and not is_open[row]]
    reserved = sum(amount or 0 for row, amount in enumerate(amounts) if is_open[row])
    about = "≈ " if any(sources[row] == "estimated" for row in spent) else ""
    return [
        f"{about}{sum(amounts[row] or 0 for row in spent):,.0f} credits" if spent else "",
        f"{reserved:,.0f} credits set aside" if reserved else "",
    ]


def _format_limits(total: int, count: int, pictures: Posters) -> list[str]:
    """Notes on what is left out of the page, and why."""
    notes = [f"These are the first {count:,} of {total:,} rows."] if total > count else []
    if pictures.left_out:
        notes.append(f"{pictures.left_out:,} rows have no poster here, which would make the notebook too heavy.")
    return notes


# Posters, captions, and embedded clips, within the limits of a notebook.


class Posters(NamedTuple):
    """The posters of rows, by the numbers of the rows."""

    box: PixelSize
    addresses: Mapping[int, str]
    sizes: Mapping[int, PixelSize]
    left_out: int = 0
    """Rows whose posters are left out."""


def format_captions(table: pd.DataFrame) -> list[str]:
    """A line for each row: prompt, seed, frames, seconds, credits; from the columns, without reading files."""
    return format_column_captions(find_columns(table), len(table))


def find_files(table: pd.DataFrame) -> FileLists:
    """The paths of the files of each row; empty lists where the table has none."""
    from ...sweeps.table_files import find_paths

    try:
        return list(find_paths(table.loc[:, ~table.columns.duplicated()]))
    except Exception:  # A table without such columns, or with other values in them.
        return [[] for _ in range(len(table))]


def choose_poster_box(count: int) -> tuple[int, int]:
    """Pixels that a poster may take in a table with this number of rows."""
    return BOX if count <= FEW else SMALL_BOX


def make_posters(files: FileLists, box: PixelSize | None = None) -> Posters:
    """Posters of the first file of each row."""
    from ...media.posters import get_posters

    box = box or choose_poster_box(len(files))
    firsts = {row: found[0] for row, found in enumerate(files) if found}
    # Many rows may have the same file, which is read and embedded once.
    wanted = dict.fromkeys(islice(dict.fromkeys(firsts.values()), MAX_POSTERS))
    contents = {path: content for path, content in zip(wanted, get_posters(wanted), strict=True) if content}
    made = {path: _make_address(content, box) for path, content in contents.items()}
    weight = sum(len(address) for address, _ in made.values())
    while weight > MAX_POSTER_BYTES:
        weight -= len(made.popitem()[1][0])
    shown = {row: made[path] for row, path in firsts.items() if path in made}
    # A file that cannot be read is told by its row.
    missing = sum(path not in made and (path in contents or path not in wanted) for path in firsts.values())
    addresses = {row: address for row, (address, _) in shown.items()}
    return Posters(box, addresses, {row: size for row, (_, size) in shown.items()}, missing)


def format_column_captions(columns: Sequence[Column], count: int) -> list[str]:
    """The captions of `format_captions`, for columns that are known already."""
    named = {column.name: column for column in columns if not column.is_index}

    def words(name: str, row: int) -> str:
        return (named[name].words[row] or "") if name in named else ""

    def number(name: str, row: int) -> Number | None:
        cells = named.get(name)
        return cells.order[row] if cells and cells.order and cells.is_number else None

    def line(row: int) -> str:
        rate = number("frame_rate", row)
        pace = words("frame_rate", row) if rate is None else format_cell(rate)
        seed, frames = words("output_seed", row) or words("seed", row), words("num_frames", row)
        paid, seconds, state = number(CREDITS, row), number(SECONDS, row), words(STATUS, row)
        return join_with_dots(
            shorten(words("prompt", row), MAX_PROMPT_LENGTH),
            seed and f"seed {shorten(seed, 24)}",
            frames and f"{shorten(frames, 12)} frames" + (f" at {shorten(pace, 8)}/s" if pace else ""),
            f"{seconds:.1f} s" if seconds else "",
            format_credits(int(paid), words(SOURCE, row)) if paid is not None and math.isfinite(paid) else "",
            "" if state.endswith(" completed") else state,
        )

    return [line(row) for row in range(count)]


def pack_media(
    files: FileLists, captions: Sequence[str], posters: Posters, *, has_clips: bool = False, first: int = 0
) -> tuple[dict[str, Any], list[str]]:
    """Files, captions, posters and small copies of the clips as JSON values, and notes for the reader.

    A page that `has_clips` gets no copies; the posters of the `first` rows are in its HTML.
    """
    paths, rows = [path for listed in files for path in listed], range(len(files))
    is_embedding = options.embed != "poster" and not has_clips
    clips = _embed_copies(paths) if is_embedding else {}
    packed = {
        # A page does not show their folders.
        "files": [[Path(path).name for path in listed] for listed in files], "captions": pack(captions),
        "posters": {
            "box": posters.box, "sizes": pack([posters.sizes.get(row) for row in rows]),
            "addresses": pack([posters.addresses.get(row) if row >= first else None for row in rows]),
        },
        "clips": {str(row): [clips.get(path, "") for path in files[row]] for row in rows if files[row]} if clips else {},
    }  # fmt: skip
    missing = sum(path not in clips for path in paths) if is_embedding else 0
    note = f"{missing:,} of the clips are not in the notebook, which has no room for them or cannot read them."
    return packed, [note] if missing else []


def _embed_copies(paths: Sequence[str]) -> dict[str, str]:
    """The addresses of small copies of these files by path, as far as there is room."""
    from ...media.posters import get_poster
    from ...media.previews import get_previews

    wanted = list(dict.fromkeys(paths[:MAX_CLIPS]))
    room, copies = MAX_CLIP_BYTES, dict[str, str]()
    for path, film in zip(wanted, get_previews(wanted), strict=True):
        content = film or (b"" if get_mime_type(path).startswith("video/") else get_poster(path) or b"")
        if content and len(content) <= room:
            room -= len(content)
            copies[path] = data_uri("video/mp4" if film else "image/jpeg", content)
    return copies


def get_mime_type(path: str) -> str:
    """The MIME type of a file by its suffix; empty for one that browsers do not display."""
    return MIME_TYPES.get(Path(path).suffix.lower(), "")


def is_media(path: str) -> bool:
    """Whether a file is a clip or picture by its content: an untrusted table may name any file of this machine."""
    from ...media.local_file import LocalFile
    from ...models.base import File

    if not get_mime_type(path) or not Path(path).is_file():
        return False
    try:
        return LocalFile(Path(path), File(url="")).probe.width > 0
    except Exception:  # Any failure of a decoder is due to the file.
        return False


@lru_cache(maxsize=2 * MAX_POSTERS)  # Some 2 kB each, never changed.
def _make_address(poster: bytes, box: PixelSize) -> tuple[str, PixelSize]:
    """A poster that fits a box as a `data:` URI, and its width and height; WebP takes half the bytes of a JPEG."""
    from ...media.stills import fit_size

    out = io.BytesIO()
    with Image.open(io.BytesIO(poster), formats=["JPEG"]) as picture:
        size = fit_size(picture.size, box)
        picture.draft("RGB", (2 * size[0], 2 * size[1]))
        picture.convert("RGB").resize(size, Image.Resampling.LANCZOS).save(out, "WEBP", quality=QUALITY)
    return data_uri("image/webp", out.getvalue()), size
