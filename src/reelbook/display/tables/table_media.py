"""The media of a table: posters, captions, and embedded clips, within the limits of a notebook."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from PIL import Image

from ...settings import options
from ..embedding import MAX_FULL_BYTES, MIME_TYPES, data_uri
from ..formatting import format_credits, join_with_dots, shorten
from ..strips import encode_jpeg
from .table_cells import Number, format_cell
from .table_columns import CREDITS, SECONDS, SOURCE, STATUS, Column, find_columns, pack

BOX, SMALL_BOX, FEW = (96, 54), (64, 36), 60
"""Pixels that a poster may take, in a table of few rows and in a longer one."""

MAX_POSTER_BYTES = 600_000
"""Bytes of the posters of one table in the notebook, in base64."""

MAX_POSTERS = 2_000
QUALITIES = (70, 55, 40)
SHEET_ACROSS, SHEET_DOWN = 10, 10
MAX_CLIP_BYTES = int(MAX_FULL_BYTES * 0.75)
"""Bytes of the clips of one table, before base64."""

MAX_CLIPS = 200
"""Clips that are embedded for one table, because each takes time to encode."""

MAX_PROMPT_LENGTH = 60
FileLists = list[list[str]]


class KnownPoster(NamedTuple):
    """A poster that the page has already."""

    address: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Posters:
    """The posters of rows: the first as single pictures, the others on sprite sheets."""

    box: tuple[int, int]
    single: dict[int, str] = field(default_factory=dict)
    """The address of a picture by its row."""
    sizes: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Width and height of the poster of a row."""
    sheets: list[str] = field(default_factory=list)
    at: dict[int, tuple[int, int]] = field(default_factory=dict)
    """The sheet of a row, and its place on it."""
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
    files: FileLists, *, single: int, known: Mapping[str, KnownPoster] | None = None, box: tuple[int, int] | None = None
) -> Posters:
    """Posters of the first file of each row; those of the first `single` rows are separate, and need no script."""
    from ...media.posters import get_posters
    from ...media.stills import fit_size

    box = box or choose_poster_box(len(files))
    firsts = {row: found[0] for row, found in enumerate(files) if found}
    if known is not None:
        given = {row: known[path] for row, path in firsts.items() if path in known}
        sizes = {row: fit_size((one.width, one.height), box) for row, one in given.items()}
        return Posters(box, single={row: one.address for row, one in given.items()}, sizes=sizes)
    # Many rows may have the same file, which is read and embedded once.
    different = list(dict.fromkeys(firsts.values()))
    wanted = different[:MAX_POSTERS]
    made_of = dict(zip(wanted, get_posters(wanted), strict=True))
    tiles = {path: _shrink(content, box) for path, content in made_of.items() if content is not None}
    rows = {row: path for row, path in firsts.items() if path in tiles}
    singles = {row: _make_poster_uri(made_of[path] or b"", box) for row, path in rows.items() if row < single}
    others = {path: tiles[path] for row, path in rows.items() if row >= single}
    sheets, at = _make_sheets(others, box, MAX_POSTER_BYTES - sum(map(len, singles.values())))
    sizes = {row: tiles[path].size for row, path in rows.items()}
    spots = {row: at[path] for row, path in rows.items() if row >= single and path in at}
    missing = sum(
        path not in made_of or (row >= single and path in tiles and path not in at) for row, path in firsts.items()
    )
    return Posters(box, singles, sizes, sheets, spots, missing)


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


class EmbeddedClips(NamedTuple):
    """The embedded clips of a table, which play without a kernel."""

    played: dict[str, list[str]] = {}  # Never changed.
    """The addresses of the files of a row, by its number."""
    previews: dict[str, list[int]] = {}
    """The indices of those that are previews."""
    notes: Sequence[str] = ()
    """Notes for the reader."""


def make_clips(files: FileLists, embed: str) -> EmbeddedClips:
    """The clips to embed, by `rb.options.embed` and the limits of a notebook."""
    paths = [path for found in files for path in found]
    embedded = _embed_files(paths[:MAX_CLIPS], embed)
    found = {str(row): [embedded.get(path, ("", False))[0] for path in each] for row, each in enumerate(files) if each}
    previews = {
        str(row): small
        for row, each in enumerate(files)
        if (small := [place for place, path in enumerate(each) if embedded.get(path, ("", True))[1] is False])
    }
    copies = sum(bool(address) and not is_whole for address, is_whole in embedded.values()) if embed == "full" else 0
    missing = sum(not embedded.get(path, ("", False))[0] for path in paths)
    notes = (
        [f"{copies:,} of the clips are small copies: their files together would make the notebook too heavy."]
        if copies
        else []
    )
    if missing:
        notes.append(
            f"{missing:,} of the clips are not in the notebook, which has no room for them or cannot read them."
        )
    return EmbeddedClips(found, previews, notes)


def pack_media(
    files: FileLists,
    captions: Sequence[str],
    pictures: Posters,
    embed: str,
    known: Mapping[str, str] | None = None,
    *,
    first: int = 0,
) -> tuple[dict[str, Any], Sequence[str]]:
    """Files, captions, posters and clips as JSON values, and notes for the reader.

    `known` are the addresses of clips that the page has already; the posters of the `first` rows are in its HTML.
    """
    played = EmbeddedClips()
    if known is not None:
        played = EmbeddedClips(
            {str(row): [known.get(path, "") for path in each] for row, each in enumerate(files) if each}
        )
    elif embed in ("preview", "full"):
        played = make_clips(files, embed)
    rows = range(len(files))
    return {
        # A page does not show their folders.
        "files": [[Path(path).name for path in each] for each in files], "captions": pack(captions),
        "posters": {
            "box": pictures.box, "sheets": pictures.sheets, "at": pack([pictures.at.get(row) for row in rows]),
            "single": pack([pictures.single.get(row) if row >= first else None for row in rows]),
            "sizes": pack([pictures.sizes.get(row) for row in rows]),
        },
        "clips": played.played, "previews": played.previews,
    }, played.notes  # fmt: skip


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


def _embed_files(paths: Sequence[str], embed: str) -> dict[str, tuple[str, bool]]:
    """The addresses of clips by path, as far as there is room, and whether each is the original file."""
    from ...media.posters import get_poster
    from ...media.previews import get_previews

    found: dict[str, tuple[str, bool]] = {}
    room = MAX_CLIP_BYTES
    for path in dict.fromkeys(paths) if embed == "full" else ():
        content = _read_whole(path, room)
        room -= len(content)
        if content:
            found[path] = data_uri(get_mime_type(path), content), True
    rest = [path for path in dict.fromkeys(paths) if path not in found]
    for path, film in zip(rest, get_previews(rest), strict=True):
        content = film or (b"" if get_mime_type(path).startswith("video/") else get_poster(path) or b"")
        if content and len(content) <= room:
            room -= len(content)
            found[path] = data_uri("video/mp4" if film else "image/jpeg", content), False
    return found


def _read_whole(path: str, room: int) -> bytes:
    """The content of a clip or picture of at most `room` bytes; else empty."""
    try:
        return Path(path).read_bytes() if is_media(path) and Path(path).stat().st_size <= room else b""
    except OSError:
        return b""


@lru_cache(maxsize=256)
def _make_poster_uri(content: bytes, box: tuple[int, int]) -> str:
    return data_uri("image/jpeg", encode_jpeg(_shrink(content, box), QUALITIES[0]))


@lru_cache(maxsize=MAX_POSTERS)  # Some 7 kB each, never changed.
def _shrink(content: bytes, box: tuple[int, int]) -> Image.Image:
    from ...media.stills import fit_size

    with Image.open(io.BytesIO(content), formats=["JPEG"]) as picture:
        size = fit_size(picture.size, box)
        picture.draft("RGB", (2 * size[0], 2 * size[1]))
        return picture.convert("RGB").resize(size, Image.Resampling.LANCZOS)


def _make_sheets(
    pictures: Mapping[str, Image.Image], box: tuple[int, int], room: int
) -> tuple[list[str], dict[str, tuple[int, int]]]:
    """The posters on sheets, at the best quality within `room`; if none fits, the last sheets are left out."""
    paths, each = list(pictures), SHEET_ACROSS * SHEET_DOWN
    parts = [paths[start : start + each] for start in range(0, len(paths), each)]
    sheets = [_make_sheet([pictures[path] for path in part], box) for part in parts]
    written: list[str] = []
    for quality in QUALITIES:
        written = [data_uri("image/jpeg", encode_jpeg(sheet, quality)) for sheet in sheets]
        if sum(map(len, written)) <= room:
            break
    while written and sum(map(len, written)) > room:
        written.pop()
    at = {path: (number, spot) for number, part in enumerate(parts[: len(written)]) for spot, path in enumerate(part)}
    return written, at


def _make_sheet(pictures: Sequence[Image.Image], box: tuple[int, int]) -> Image.Image:
    sheet = Image.new("RGB", (SHEET_ACROSS * box[0], math.ceil(len(pictures) / SHEET_ACROSS) * box[1]))
    for spot, picture in enumerate(pictures):
        sheet.paste(picture, (spot % SHEET_ACROSS * box[0], spot // SHEET_ACROSS * box[1]))
    return sheet
