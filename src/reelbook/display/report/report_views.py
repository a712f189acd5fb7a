"""The plots and comparisons of a report: they have its selection, and the files that the page has already."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ...errors import ReelbookError
from ...media.stills import fit_size
from ...sweeps.table_files import find_column
from ...util.missing_values import is_missing
from ..compare.compared_items import Item, label_items
from ..compare.comparison import Comparison
from ..compare.comparison_html import render_comparison_markup
from ..plots.plot_html import Plot, render_plot_markup
from ..table_runs import TableRun
from ..tables.table_columns import format_json
from ..tables.table_media import KnownPoster, find_files
from .media import MAX_CLIP_SIDE, PageMedia
from .shared_table import find_picture_fields, make_shareable, rename_files

if TYPE_CHECKING:
    import pandas as pd

ReportView = Plot | Comparison
KEY = "report"
"""The key by which the parts of the page get its files, and share which runs are selected."""
NAMES = {Plot: ("Plot", "Plots"), Comparison: ("Comparison", "Comparisons")}
FILES = Markup('<script type="application/json" data-rb-files>{}</script>')
PREVIEWS = "What is compared here are previews of the clips, at most {} pixels wide and high; the differences are those of the original files."
SMALL_PICTURES = "Pictures are compared at {} pixels at most; the differences are those of the original files."
NO_COPY = "{} is too large to play inside a page, so its middle frame is compared; a report with folder=True plays it."

_FOLDERS = re.compile(r"(?:[A-Za-z]:)?[^\s,:]*[/\\\\](?=[^\s,/\\\\]+)")
_ADDRESS = re.compile(r"https?://\S+|data:\S+")


@dataclass(frozen=True)
class ReportViews:
    """The views of a report, checked against its table before any file is made ready."""

    views: tuple[ReportView, ...]
    rows: Mapping[int, list[int]]
    """For each plot, by its place among the views, the position in the report of each of its rows."""
    others: tuple[TableRun, ...]
    """The files of comparisons that the table lacks, as runs after its own."""

    def render(
        self, entries: Sequence[TableRun], media: Mapping[Path, PageMedia], names: Mapping[str, str]
    ) -> list[tuple[str, Markup]]:
        """The sections of the page with their headings; views of one kind in a row are one section.

        `names` are those of the files on the page, by their paths.
        """
        page = _Page([*entries, *self.others], media, names)
        sections = []
        for kind, members in groupby(enumerate(self.views), lambda pair: type(pair[1])):
            parts = [
                page.render_plot(view, self.rows[place]) if isinstance(view, Plot) else page.render_comparison(view)
                for place, view in members
            ]
            sections.append((NAMES[kind][len(parts) > 1], Markup("").join(parts)))
        compared = [
            item.file.path for view in self.views if isinstance(view, Comparison) for item in view.items if item.file
        ]
        if files := page.find_files(compared, known={file.path for entry in entries for file in entry.files}):
            head, body = sections[-1]
            sections[-1] = head, body + FILES.format(format_json(files))
        return sections


class _Page:
    """What the page has: the place of each file on it, of the first run that has it, and its names and copies."""

    def __init__(self, entries: Sequence[TableRun], media: Mapping[Path, PageMedia], names: Mapping[str, str]) -> None:
        self.media, self.names = media, names
        self.spots: dict[Path, tuple[int, int]] = {}
        for entry in entries:
            for place, file in enumerate(entry.files):
                self.spots.setdefault(file.path, (entry.place, place))

    def render_plot(self, plot: Plot, rows: Sequence[int]) -> Markup:
        # Without addresses, because the grid has the posters.
        known = ((self.names.get(str(path)), one) for path, one in self.media.items())
        posters = {name: KnownPoster("", one.width, one.height) for name, one in known if name}
        return render_plot_markup(_share_plot(plot, self.names), key=KEY, rows=rows, posters=posters)

    def render_comparison(self, comparison: Comparison) -> Markup:
        shared = copy.copy(comparison)
        # Labelled again, because inputs in labels may be paths.
        shared.items = label_items(list(map(self._share_item, comparison.items)))
        return render_comparison_markup(shared, advice="", notes=self._list_notes(shared))

    def find_files(self, compared: Sequence[Path], *, known: set[Path]) -> dict[str, Any]:
        """The files that the grid of the report does not have: those of others, and pictures in full."""
        found = {}
        for path in dict.fromkeys(compared):
            one = self.media.get(path)
            if one is None or (path in known and (one.clip is not None or not one.original)):
                continue
            clip = one.clip
            found["{}/{}".format(*self.spots[path])] = {
                "url": clip.src if clip else one.original or one.poster,
                "index": clip.index.to_json() if clip and clip.index else None,
                "times": list(clip.times) if clip and clip.times else None,
            }
        return found

    def _share_item(self, item: Item) -> Item:
        """The item with the key of its file on the page, without the folders of the sender."""
        pictures = find_picture_fields()
        inputs = {name: _strip_folders(text) if name in pictures else text for name, text in item.inputs.items()}
        if item.file is None:
            return replace(item, inputs=inputs, label="")
        path = item.file.path
        key = " ".join(map(str, (KEY, *self.spots.get(path, ()))))
        size = _find_copy_size(self.media[path]) if path in self.media else None
        name = self.names.get(str(path), path.name)
        return replace(item, inputs=inputs, label="", key=key, copy_size=size, file_name=name)

    def _list_notes(self, comparison: Comparison) -> list[str]:
        """What is compared in place of the original files, in sentences."""
        items = [item for item in comparison.items if item.file is not None and not item.problem]
        found = [(item, self.media[item.file.path]) for item in items if item.file and item.file.path in self.media]
        notes = [PREVIEWS.format(MAX_CLIP_SIDE)] if any(_is_preview(one) for _, one in found) else []
        if any(
            one.clip is None and _find_copy_size(one) not in (None, (one.width, one.height))
            for item, one in found
            if not item.is_video
        ):
            notes.append(SMALL_PICTURES.format(2 * MAX_CLIP_SIDE))
        return [*notes, *(NO_COPY.format(item.label) for item, one in found if item.is_video and one.clip is None)]


def check_views(views: Any, table: pd.DataFrame, entries: Sequence[TableRun]) -> ReportViews:
    """The views that were passed; raises a ReelbookError for what is none, and for a plot of other rows."""
    listed = views if isinstance(views, (list, tuple)) else [views]
    for view in listed:
        if not isinstance(view, (Plot, Comparison)):
            raise ReelbookError(
                f"The views of a report are plots and comparisons, and not {type(view).__name__}. Pass them as they are displayed, "
                'as in views=[table.reel.plot("num_frames", "credits"), table.reel.compare(0, 1)].'
            )
    rows = {place: _find_rows(view, table) for place, view in enumerate(listed) if isinstance(view, Plot)}
    shared = [_share_plot(view, {}) if isinstance(view, Plot) else view for view in listed]
    return ReportViews(tuple(shared), rows, tuple(_list_others(shared, entries)))


def _find_rows(plot: Plot, table: pd.DataFrame) -> list[int]:
    """The position in the report of each row of a plot's table, which may be measured, filtered or sorted."""
    if plot.table is table:
        return list(range(len(table)))
    places: dict[Any, list[int]] = {}
    for place, key in reversed(list(enumerate(_make_keys(table)))):
        places.setdefault(key, []).append(place)
    found = [places[key].pop() if places.get(key) else None for key in _make_keys(plot.table)]
    known = [place for place in found if place is not None]
    if len(known) < len(found):
        raise ReelbookError(
            f"A plot in a report shows runs of its table, and {len(found) - len(known):,} of the {len(found):,} rows of this plot are "
            "not among them. Plot the table that is reported, or write the report of the one that was plotted: plot.table.reel.report(…)."
        )
    return known


def _make_keys(table: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    """What identifies each row: its label, its request, and its files."""
    requests = find_column(table, "request_id")
    ids = [None] * len(table) if requests is None else [None if is_missing(one) else str(one) for one in requests]
    for label, request, files in zip(table.index, ids, find_files(table), strict=True):
        yield repr(label), request, tuple(files)


def _share_plot(plot: Plot, names: Mapping[str, str]) -> Plot:
    """The plot of the same columns, without what the report leaves out of its table."""
    table = make_shareable(plot.table)
    try:
        return Plot(rename_files(table, names) if names else table, *plot.columns)
    except ReelbookError as error:
        raise ReelbookError(
            f"A report leaves out the URLs of files, because they give access to them, and this plot shows them. {error}"
        ) from error


def _list_others(views: Sequence[ReportView], entries: Sequence[TableRun]) -> Iterator[TableRun]:
    known = {file.path for entry in entries for file in entry.files}
    place = len(entries)
    for item in (item for view in views if isinstance(view, Comparison) for item in view.items):
        if item.file is not None and not item.problem and item.file.path not in known:
            known.add(item.file.path)
            yield TableRun(place, item.name, item.inputs.get("model", ""), {}, (item.file,))
            place += 1


def _find_copy_size(one: PageMedia) -> tuple[int, int] | None:
    """The size of what the page has of a file; None if that is the file itself."""
    if one.clip is not None:
        return one.clip.index.display if _is_preview(one) and one.clip.index else None
    side = 2 * MAX_CLIP_SIDE
    return None if one.original or not one.poster else fit_size((one.width, one.height), (side, side))


def _is_preview(one: PageMedia) -> bool:
    return one.clip is not None and one.clip.src.startswith("data:")


def _strip_folders(text: str) -> str:
    """File names in place of paths, in the text of a field of pictures.

    >>> _strip_folders("/home/ana/boat.png, https://example.org/a/b.png, C:\\\\pictures\\\\sea.png for 12 frames")
    'boat.png, https://example.org/a/b.png, sea.png for 12 frames'
    """
    parts = [part if _ADDRESS.match(part) else _FOLDERS.sub("", part) for part in re.split(r"(\s+)", text)]
    return "".join(parts)
