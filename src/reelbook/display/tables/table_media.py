"""The pictures and clips of a table: small posters that fit into a notebook together, captions, and what plays."""

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
from ..embedding import KINDS, LARGEST, uri
from ..formatting import cut, format_credits, joined
from .table_cells import Number, words_of
from .table_columns import CREDITS, SECONDS, SOURCE, STATUS, Place, places

BOX, SMALL_BOX, FEW = (96, 54), (64, 36), 60
"""Pixels that a poster may take, in a table of few rows and in a longer one."""

MAX_POSTER_BYTES = 600_000
"""Bytes of the posters of one table in the notebook, as they are written there: four for three."""

MAX_POSTERS = 2_000
QUALITIES = (70, 55, 40)
SHEET_ACROSS, SHEET_DOWN = 10, 10
MAX_CLIP_BYTES = int(LARGEST * 0.75)
"""Bytes of clips that a notebook takes, before they are written in four letters for three."""

MAX_CLIPS = 200
"""Clips that may be copied for one table, each of which takes its time."""

LONGEST_PROMPT = 60
Files = list[list[str]]


class Known(NamedTuple):
    """A picture that the page has already."""

    address: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Posters:
    """What there is to see of each row: the first ones as pictures by themselves, the others on sheets of many."""

    box: tuple[int, int]
    single: dict[int, str] = field(default_factory=dict)
    """The address of a picture by the number of its row."""
    sizes: dict[int, tuple[int, int]] = field(default_factory=dict)
    """How wide and high the poster of a row is."""
    sheets: list[str] = field(default_factory=list)
    at: dict[int, tuple[int, int]] = field(default_factory=dict)
    """On which sheet a row is, and where on it."""
    left_out: int = 0
    """Rows that the notebook has no room for."""


def captions(table: pd.DataFrame) -> list[str]:
    """One line on each row: prompt, seed, frames, seconds, credits; from the columns, without a look at any file."""
    return captions_of(places(table), len(table))


def files_of(table: pd.DataFrame) -> Files:
    """The files of each row; none where the table does not name any."""
    from ...sweeps.results.accessor import Reel

    try:
        return list(Reel(table.loc[:, ~table.columns.duplicated()]).paths())
    except Exception:  # A table without such columns, or with anything in them.
        return [[] for _ in range(len(table))]


def box_of(count: int) -> tuple[int, int]:
    """Pixels that a poster may take in a table of so many rows; `rb.options.poster` is its width."""
    if options.poster is not None:
        return options.poster, round(options.poster * 9 / 16)
    return BOX if count <= FEW else SMALL_BOX


def posters_of(files: Files, *, single: int, known: Mapping[str, Known] | None = None) -> Posters:
    """Posters of the first files of the rows; those of the first rows stand by themselves, so that they need no script."""
    from ...media.posters import posters as made

    box = box_of(len(files))
    firsts = {row: found[0] for row, found in enumerate(files) if found}
    if known is not None:
        given = {row: known[path] for row, path in firsts.items() if path in known}
        sizes = {row: _fitted(one.width, one.height, box) for row, one in given.items()}
        return Posters(box, single={row: one.address for row, one in given.items()}, sizes=sizes)
    # Many rows may show one file: it is fetched, shrunk and carried once.
    different = list(dict.fromkeys(firsts.values()))
    wanted = different[:MAX_POSTERS]
    made_of = dict(zip(wanted, made(wanted), strict=True))
    tiles = {path: _within(content, box) for path, content in made_of.items() if content is not None}
    rows = {row: path for row, path in firsts.items() if path in tiles}
    singles = {row: _address(made_of[path] or b"", box) for row, path in rows.items() if row < single}
    others = {path: tiles[path] for row, path in rows.items() if row >= single}
    sheets, at = _sheets(others, box, MAX_POSTER_BYTES - sum(map(len, singles.values())))
    sizes = {row: tiles[path].size for row, path in rows.items()}
    spots = {row: at[path] for row, path in rows.items() if row >= single and path in at}
    left = sum(
        path not in made_of or (row >= single and path in tiles and path not in at) for row, path in firsts.items()
    )
    return Posters(box, singles, sizes, sheets, spots, left)


def captions_of(all_places: Sequence[Place], count: int) -> list[str]:
    """The same for a table that has been read."""
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
            words_of(rate) if (rate := number("frame_rate", row)) is not None else words("frame_rate", row),
        )
        paid, seconds = number(CREDITS, row), number(SECONDS, row)
        state = words(STATUS, row)
        return joined(
            cut(words("prompt", row), LONGEST_PROMPT),
            seed and f"seed {cut(seed, 24)}",
            frames and f"{cut(frames, 12)} frames" + (f" at {cut(rate, 8)}/s" if rate else ""),
            f"{seconds:.1f} s" if seconds else "",
            format_credits(int(paid), words(SOURCE, row)) if paid is not None and math.isfinite(paid) else "",
            "" if state.endswith(" completed") else state,
        )

    return [line(row) for row in range(count)]


class Clips(NamedTuple):
    """What plays of a table where no kernel brings it."""

    played: dict[str, list[str]] = {}  # Nobody changes it.
    """The addresses of the files of a row, by its number."""
    previews: dict[str, list[int]] = {}
    """Which of them are small copies."""
    notes: Sequence[str] = ()
    """What to say about them."""


def clips_of(files: Files, embed: str) -> Clips:
    """What plays, as far as that is to be in the notebook."""
    paths = [path for found in files for path in found]
    taken = _taken(paths[:MAX_CLIPS], embed)
    found = {str(row): [taken.get(path, ("", False))[0] for path in each] for row, each in enumerate(files) if each}
    previews = {
        str(row): small
        for row, each in enumerate(files)
        if (small := [place for place, path in enumerate(each) if taken.get(path, ("", True))[1] is False])
    }
    copies = sum(bool(address) and not is_whole for address, is_whole in taken.values()) if embed == "full" else 0
    left = sum(not taken.get(path, ("", False))[0] for path in paths)
    notes = (
        [f"{copies:,} of the clips are small copies: their files together would make the notebook too heavy."]
        if copies
        else []
    )
    if left:
        notes.append(f"{left:,} of the clips are not in the notebook, which has no room for them or cannot read them.")
    return Clips(found, previews, notes)


def packed_files(files: Files) -> dict[str, Any]:
    """The paths of all files, each folder once."""
    folders: dict[str, int] = {}
    rows = [
        [[folders.setdefault(path[: -len(name)] if name else path, len(folders)), name] for path in found for name in [Path(path).name]]
        for found in files
    ]  # fmt: skip
    return {"in": list(folders), "of": rows}


def kind_of(path: str) -> str:
    """What a browser calls a file; empty for one that it would not show."""
    return KINDS.get(Path(path).suffix.lower(), "")


def is_media(path: str) -> bool:
    """Whether this is a clip or a picture in truth. A table may have come from anybody, and name any file of this machine."""
    from ...media.local_file import LocalFile
    from ...models.service_file import File

    if not kind_of(path) or not Path(path).is_file():
        return False
    try:
        return LocalFile(Path(path), File(url="")).probe.width > 0
    except Exception:  # Whatever a decoder stumbles over, it is the file.
        return False


def _taken(paths: Sequence[str], embed: str) -> dict[str, tuple[str, bool]]:
    """The address of what plays, as far as there is room, and whether it is the file itself."""
    from ...media.posters import poster
    from ...media.previews import previews

    found: dict[str, tuple[str, bool]] = {}
    room = MAX_CLIP_BYTES
    for path in dict.fromkeys(paths) if embed == "full" else ():
        content = _whole(path, room)
        room -= len(content)
        if content:
            found[path] = uri(kind_of(path), content), True
    rest = [path for path in dict.fromkeys(paths) if path not in found]
    for path, film in zip(rest, previews(rest), strict=True):
        content = film or (b"" if kind_of(path).startswith("video/") else poster(path) or b"")
        if content and len(content) <= room:
            room -= len(content)
            found[path] = uri("video/mp4" if film else "image/jpeg", content), False
    return found


def _whole(path: str, room: int) -> bytes:
    """The file itself, if it is a clip or a picture and there is room for it."""
    try:
        return Path(path).read_bytes() if is_media(path) and Path(path).stat().st_size <= room else b""
    except OSError:
        return b""


def _fitted(width: int, height: int, box: tuple[int, int]) -> tuple[int, int]:
    """How large a picture is inside a box; one that is smaller stays as it is."""
    shrink = min(1.0, box[0] / width, box[1] / height)
    return max(1, round(width * shrink)), max(1, round(height * shrink))


@lru_cache(maxsize=256)
def _address(content: bytes, box: tuple[int, int]) -> str:
    return uri("image/jpeg", _jpeg(_within(content, box), QUALITIES[0]))


@lru_cache(maxsize=MAX_POSTERS)  # Some 7 kB each; nobody changes them.
def _within(content: bytes, box: tuple[int, int]) -> Image.Image:
    with Image.open(io.BytesIO(content), formats=["JPEG"]) as picture:
        size = _fitted(picture.width, picture.height, box)
        picture.draft("RGB", (2 * size[0], 2 * size[1]))
        return picture.convert("RGB").resize(size, Image.Resampling.LANCZOS)


def _sheets(
    pictures: Mapping[str, Image.Image], box: tuple[int, int], room: int
) -> tuple[list[str], dict[str, tuple[int, int]]]:
    """The posters on sheets, at the best quality that fits; the last sheets are left out where none does."""
    paths, each = list(pictures), SHEET_ACROSS * SHEET_DOWN
    parts = [paths[start : start + each] for start in range(0, len(paths), each)]
    sheets = [_sheet([pictures[path] for path in part], box) for part in parts]
    written: list[str] = []
    for quality in QUALITIES:
        written = [uri("image/jpeg", _jpeg(sheet, quality)) for sheet in sheets]
        if sum(map(len, written)) <= room:
            break
    while written and sum(map(len, written)) > room:
        written.pop()
    at = {path: (number, spot) for number, part in enumerate(parts[: len(written)]) for spot, path in enumerate(part)}
    return written, at


def _sheet(pictures: Sequence[Image.Image], box: tuple[int, int]) -> Image.Image:
    sheet = Image.new("RGB", (SHEET_ACROSS * box[0], math.ceil(len(pictures) / SHEET_ACROSS) * box[1]))
    for spot, picture in enumerate(pictures):
        sheet.paste(picture, (spot % SHEET_ACROSS * box[0], spot // SHEET_ACROSS * box[1]))
    return sheet


def _jpeg(picture: Image.Image, quality: int) -> bytes:
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=quality, optimize=True)
    return out.getvalue()
