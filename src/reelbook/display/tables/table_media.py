"""The media of a table: posters, captions, and embedded clips, within the limits of a notebook."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from PIL import Image

from ...settings import options
from ..embedding import MAX_FULL_BYTES, MIME_TYPES, data_uri
from ..formatting import format_credits, join_with_dots, shorten
from .table_cells import Number, format_cell
from .table_columns import CREDITS, SECONDS, SOURCE, STATUS, Column, find_columns, pack

BOX, SMALL_BOX, FEW = (96, 54), (64, 36), 60
"""Pixels that a poster may take, in a table of few rows and in a longer one."""

MAX_POSTER_BYTES = 600_000
"""Bytes of the posters of one table in the notebook, in base64."""

MAX_POSTERS = 2_000
JPEG_QUALITY, WEBP_QUALITIES = 70, (60, 30)
"""Posters that are to be seen without scripts are JPEGs; the others are WebP, which takes half the bytes."""
MAX_CLIP_BYTES = int(MAX_FULL_BYTES * 0.75)
"""Bytes of the clips of one table, before base64."""

MAX_CLIPS = 200
"""Clips that are embedded for one table, because each takes time to encode."""

MAX_PROMPT_LENGTH = 60
FileLists = list[list[str]]
PixelSize = tuple[int, int]


class KnownPoster(NamedTuple):
    """A poster that the page has already."""

    address: str
    width: int
    height: int


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
    """Pixels that a poster may take in a table with this number of rows; `rb.options.poster` is its width."""
    if options.poster is not None:
        return options.poster, round(options.poster * 9 / 16)
    return BOX if count <= FEW else SMALL_BOX


def make_posters(
    files: FileLists,
    *,
    first: int = 0,
    known: Mapping[str, KnownPoster] | None = None,
    box: PixelSize | None = None,
) -> Posters:
    """Posters of the first file of each row; those of the `first` rows are to be seen without scripts."""
    from ...media.posters import get_posters
    from ...media.stills import fit_size

    box = box or choose_poster_box(len(files))
    firsts = {row: found[0] for row, found in enumerate(files) if found}
    if known is not None:
        given = {row: known[path] for row, path in firsts.items() if path in known}
        sizes = {row: fit_size((poster.width, poster.height), box) for row, poster in given.items()}
        return Posters(box, {row: poster.address for row, poster in given.items()}, sizes)
    # Many rows may have the same file, which is read and embedded once.
    wanted = dict.fromkeys(islice(dict.fromkeys(firsts.values()), MAX_POSTERS))
    contents = {path: content for path, content in zip(wanted, get_posters(wanted), strict=True) if content}
    made = {
        row: _make_address(contents[path], box, "JPEG", JPEG_QUALITY)
        for row, path in firsts.items()
        if row < first and path in contents
    }
    room = MAX_POSTER_BYTES - sum(len(address) for address, _ in made.values())
    later = dict.fromkeys(path for row, path in firsts.items() if row >= first and path in contents)
    small, weight = dict[str, tuple[str, PixelSize]](), 0
    for quality in WEBP_QUALITIES:
        small = {path: _make_address(contents[path], box, "WEBP", quality) for path in later}
        weight = sum(len(address) for address, _ in small.values())
        if weight <= room:
            break
    while weight > room and small:
        weight -= len(small.popitem()[1][0])
    made |= {row: small[path] for row, path in firsts.items() if row >= first and path in small}
    # A file that cannot be read is told by its row.
    missing = sum(row not in made and (path in contents or path not in wanted) for row, path in firsts.items())
    return Posters(
        box,
        {row: address for row, (address, _) in made.items()},
        {row: size for row, (_, size) in made.items()},
        missing,
    )


def format_column_captions(all_places: Sequence[Column], count: int) -> list[str]:
    """The captions of `format_captions`, for columns that are known already."""
    named = {place.cells.name: place.cells for place in all_places if not place.is_index}

    def words(name: str, row: int) -> str:
        column = named.get(name)
        return (column.words[row] or "") if column else ""

    def number(name: str, row: int) -> Number | None:
        column = named.get(name)
        return column.order[row] if column and column.order and column.is_number else None

    def line(row: int) -> str:
        seed, frames, rate = (
            words("output_seed", row) or words("seed", row),
            words("num_frames", row),
            format_cell(rate) if (rate := number("frame_rate", row)) is not None else words("frame_rate", row),
        )
        paid, seconds = number(CREDITS, row), number(SECONDS, row)
        state = words(STATUS, row)
        return join_with_dots(
            shorten(words("prompt", row), MAX_PROMPT_LENGTH),
            seed and f"seed {shorten(seed, 24)}",
            frames and f"{shorten(frames, 12)} frames" + (f" at {shorten(rate, 8)}/s" if rate else ""),
            f"{seconds:.1f} s" if seconds else "",
            format_credits(int(paid), words(SOURCE, row)) if paid is not None and math.isfinite(paid) else "",
            "" if state.endswith(" completed") else state,
        )

    return [line(row) for row in range(count)]


def pack_media(
    files: FileLists,
    captions: Sequence[str],
    posters: Posters,
    embed: str,
    known: Mapping[str, str] | None = None,
    *,
    first: int = 0,
) -> tuple[dict[str, Any], Sequence[str]]:
    """Files, captions, posters and clips as JSON values, and notes for the reader.

    `known` are the addresses of clips that the page has already; the posters of the `first` rows are in its HTML.
    """
    clips, copies, notes = known, set[str](), list[str]()
    if known is None and embed in ("preview", "full"):
        clips, copies, notes = _embed_clips([path for found in files for path in found], embed)
    rows = range(len(files))
    previews = {str(row): [place for place, path in enumerate(files[row]) if path in copies] for row in rows}
    return {
        # A page does not show their folders.
        "files": [[Path(path).name for path in found] for found in files], "captions": pack(captions),
        "posters": {
            "box": posters.box, "sizes": pack([posters.sizes.get(row) for row in rows]),
            "addresses": pack([posters.addresses.get(row) if row >= first else None for row in rows]),
        },
        "clips": {} if clips is None else {str(row): [clips.get(path, "") for path in files[row]] for row in rows if files[row]},
        "previews": {row: places for row, places in previews.items() if places},
    }, notes  # fmt: skip


def _embed_clips(paths: Sequence[str], embed: str) -> tuple[dict[str, str], set[str], list[str]]:
    """The addresses of clips by path, as far as there is room; the paths of small copies; and notes for the reader."""
    from ...media.posters import get_poster
    from ...media.previews import get_previews

    wanted = list(dict.fromkeys(paths[:MAX_CLIPS]))
    found = dict[str, str]()
    room = MAX_CLIP_BYTES
    for path in wanted if embed == "full" else ():
        if content := _read_whole(path, room):
            room -= len(content)
            found[path] = data_uri(get_mime_type(path), content)
    rest = [path for path in wanted if path not in found]
    copies = set[str]()
    for path, film in zip(rest, get_previews(rest), strict=True):
        content = film or (b"" if get_mime_type(path).startswith("video/") else get_poster(path) or b"")
        if content and len(content) <= room:
            room -= len(content)
            copies.add(path)
            found[path] = data_uri("video/mp4" if film else "image/jpeg", content)
    notes = []
    if copies and embed == "full":
        notes.append(
            f"{len(copies):,} of the clips are small copies: their files together would make the notebook too heavy."
        )
    if missing := sum(path not in found for path in paths):
        notes.append(
            f"{missing:,} of the clips are not in the notebook, which has no room for them or cannot read them."
        )
    return found, copies, notes


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


def _read_whole(path: str, room: int) -> bytes:
    """The content of a clip or picture of at most `room` bytes; else empty."""
    try:
        return Path(path).read_bytes() if is_media(path) and Path(path).stat().st_size <= room else b""
    except OSError:
        return b""


@lru_cache(maxsize=2 * MAX_POSTERS)  # Some 2 kB each, never changed.
def _make_address(poster: bytes, box: PixelSize, kind: str, quality: int) -> tuple[str, PixelSize]:
    """A poster that fits a box as a `data:` URI, and its width and height."""
    from ...media.stills import fit_size

    out = io.BytesIO()
    with Image.open(io.BytesIO(poster), formats=["JPEG"]) as picture:
        size = fit_size(picture.size, box)
        picture.draft("RGB", (2 * size[0], 2 * size[1]))
        picture.convert("RGB").resize(size, Image.Resampling.LANCZOS).save(out, kind, quality=quality)
    return data_uri(f"image/{kind.lower()}", out.getvalue()), size
