"""The page of a report: totals, plan, clips, views, judgements, costs, table, and recipes, for templates/report.html."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from itertools import groupby
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from ..._version import __version__
from ...decide.ratings import Ratings
from ...settings import options
from ...sweeps.tables import compute_costs
from ...util.printable import format_count
from ..compare import comparison_html
from ..compare.comparison import Comparison, Item
from ..compare.comparison_html import FileOnPage, render_comparison_markup
from ..cost_chart import render_cost_table
from ..formatting import format_duration, join_with_dots, shorten
from ..plots import plot_html
from ..plots.plot_html import Plot, render_plot_markup
from ..ratings_card import render_ratings
from ..table_runs import ModelRuns, TableRun, format_title
from ..tables import table_html
from ..tables.table_html import render_table_markup
from ..theme import read_static, render, render_script, render_style
from . import clip_grid
from .clip_grid import ClipGrid
from .media import MAX_CLIP_SIDE, PageMedia

KEY = "report"
"""The key by which the parts of the page get its files, and share which runs are selected."""
MAX_PLOTS = 3
REPORT_COSTS = ("runs", "credits", "credits_per_success")
"""The columns of costs in a report, whose tables stand side by side."""
STYLES = tuple(dict.fromkeys([
    *table_html.STYLES, *clip_grid.STYLES, *plot_html.STYLES, *comparison_html.STYLES, "costs.css", "report.css",
]))  # fmt: skip
MAX_TITLE_LENGTH, MAX_GIVEN_LENGTH = 90, 200
"""Characters of a generated title, and of one that is passed."""
COPIES = (
    f"What is compared here are previews of the clips, at most {MAX_CLIP_SIDE} pixels wide and high, and of pictures, at most "
    f"{2 * MAX_CLIP_SIDE}; the differences are those of the original files."
)
NO_COPY = "{} is too large to play inside a page, so its middle frame is compared; a report with folder=True plays it."

# Scripts by their hashes: an injected script does not run, even if something was not escaped.
POLICY = (
    "default-src 'none'; script-src 'sha256-{}'; style-src 'unsafe-inline'; img-src data: blob:; media-src data: blob:{}; connect-src 'none'; "
    "base-uri 'none'; form-action 'none'"
)


@dataclass(frozen=True)
class ReportContent:
    """The content of a page."""

    table: pd.DataFrame
    groups: Sequence[ModelRuns]
    media: Mapping[Path, PageMedia]
    title: str | None
    made_by: Mapping[str, str]
    """Who made the runs, in words, by the names of the services."""
    views: Sequence[Plot | Comparison] = ()
    rows: Sequence[Sequence[int]] = ()
    """For each view that is a plot, the positions of its rows in the table."""
    ratings: Sequence[Ratings] = ()
    standings: Markup | None = None
    """What a race says of the settings; None for a table alone."""
    beside: Mapping[Path, str] = field(default_factory=dict)
    """The addresses of the files that lie beside the page."""

    @cached_property
    def entries(self) -> list[TableRun]:
        """All runs in the order of the table."""
        return sorted((entry for group in self.groups for entry in group.entries), key=lambda entry: entry.place)

    @property
    def html(self) -> str:
        """The page as HTML."""
        return render(
            "report.html",
            page=self,
            policy=_format_policy(" 'self' file:" if self.beside else ""),
            version=__version__,
            title=shorten(self.title, MAX_GIVEN_LENGTH)
            if self.title
            else shorten(format_title(self.entries), MAX_TITLE_LENGTH),
            styles=render_style(*STYLES),
            theme=f" rb-{options.theme}" if options.theme != "auto" else "",
            about=self._describe(),
            totals=list(self._list_totals()),
            states=Counter(run.status for run in self.entries if run.status).most_common(),
            clips_head="Clips" if any(one.clip for one in self.media.values()) or not self.media else "Pictures",
            clips=ClipGrid(self.groups, self.media, picks=KEY).markup,
            views=list(self._render_views()),
            # Without names of people, because the page is made to be shared.
            ratings=[(one.question, render_ratings(one, one.advice)) for one in self.ratings],
            costs=list(self._render_costs()),
            live_table=render_table_markup(self.table, key=KEY),
            written=_format_moment(datetime.now(UTC)),
            side=MAX_CLIP_SIDE,
            scripts=render_script("report.js"),
        )

    def _describe(self) -> list[str]:
        """Models, dates, and service."""
        models = [group.model for group in self.groups if group.model]
        moments = [entry.made_at for entry in self.entries if entry.made_at is not None]
        return [
            f"{len(models)} models: {', '.join(models)}" if len(models) > 1 else "".join(models),
            f"made {_format_days(min(moments), max(moments))}" if moments else "",
            f"by {', '.join(dict.fromkeys(self.made_by.values()))}" if self.made_by else "",
        ]

    def _list_totals(self) -> Iterator[tuple[str, str, str]]:
        """Runs, credits, and seconds, each with a note; the note of the runs is their states."""
        entries = self.entries
        yield "runs", f"{len(entries):,}", ""
        known = [entry for entry in entries if entry.credits is not None and not entry.is_unsettled]
        reserved = sum(entry.credits or 0 for entry in entries if entry.is_unsettled)
        if known or reserved:
            guessed = sum(entry.credits or 0 for entry in known if entry.credits_source != "charged")
            source = f"{guessed:,} of them estimated" if guessed else "charged" if known else ""
            note = join_with_dots(source, f"{reserved:,} more set aside" if reserved else "")
            yield "credits", f"{'≈ ' if guessed else ''}{sum(entry.credits or 0 for entry in known):,}", note
        clips = [clip for entry in entries for file in entry.files if (clip := self.media[file.path].clip) is not None]
        if clips:
            note = f"{format_count(len(clips), 'clip')}, {sum(clip.frames for clip in clips):,} frames"
            yield "video", format_duration(sum(float(clip.frames / clip.rate) for clip in clips)), note
        if spent := [entry.running for entry in entries if entry.running is not None]:
            yield "computing", format_duration(sum(spent)), f"{format_duration(sum(spent) / len(spent))} a run"

    def _render_costs(self) -> Iterator[Markup]:
        """A table of costs for each of the first axes, or for the models."""
        if not {"status", "credits"} <= set(self.table.columns):
            return
        for name in _choose_cost_columns(self.groups):
            try:
                yield render_cost_table(compute_costs(self.table, name), REPORT_COSTS)
            # Values that cannot be grouped have no table; the rest of the page does not fail.
            except (TypeError, ValueError):
                continue

    @cached_property
    def _spots(self) -> dict[Path, tuple[int, int]]:
        """The run and the place in it of each file, by which the page finds it."""
        spots: dict[Path, tuple[int, int]] = {}
        for entry in self.entries:
            for place, file in enumerate(entry.files):
                spots.setdefault(file.path, (entry.place, place))
        return spots

    def _render_views(self) -> Iterator[tuple[str, Markup]]:
        """The sections of the page with their headings; views of one kind in a row are one section."""
        pairs = list(zip(self.views, self.rows, strict=True))
        for is_plot, members in groupby(pairs, lambda pair: isinstance(pair[0], Plot)):
            parts = [self._render_view(view, rows) for view, rows in members]
            yield ("Plot" if is_plot else "Comparison") + ("s" if len(parts) > 1 else ""), Markup("").join(parts)

    def _render_view(self, view: Plot | Comparison, rows: Sequence[int]) -> Markup:
        if isinstance(view, Plot):
            # Not the posters themselves, which the grid has.
            sizes = {str(path): (one.width, one.height) for path, one in self.media.items()}
            return render_plot_markup(view, key=KEY, rows=rows, sizes=sizes)
        items = [view.items[place] for place in view.timings]
        media = [self.media[item.file.path] for item in items if item.file]
        notes = [COPIES] if any(one.copy_size for one in media) else []
        notes += [
            NO_COPY.format(item.label)
            for item, one in zip(items, media, strict=True)
            if item.is_video and one.clip is None
        ]
        return render_comparison_markup(view, advice="", notes=notes, find=self._find_file)

    def _find_file(self, item: Item) -> FileOnPage:
        assert item.file is not None
        key = " ".join(map(str, (KEY, *self._spots[item.file.path])))
        return key, self.media[item.file.path].copy_size

    def find_maker(self, run: TableRun) -> str:
        """Who made a run, in words."""
        service = run.text("service")
        return self.made_by.get(service, service) if service else next(iter(self.made_by.values()), "")


def _format_policy(beside: str) -> str:
    digest = hashlib.sha256(read_static("report.js").encode()).digest()
    return POLICY.format(base64.b64encode(digest).decode(), beside)


def _choose_cost_columns(groups: Sequence[ModelRuns]) -> list[str]:
    """The columns to group costs by: the model if there are several, else the axes with the fewest values."""
    if len(groups) > 1:
        return ["model"]
    axes = sorted(groups[0].axes, key=lambda axis: len(axis.values))
    shared = [axis for axis in axes if len(axis.values) < len(groups[0].entries)]
    return [axis.columns[0] for axis in shared or axes[:1]][:MAX_PLOTS]


def _format_moment(moment: datetime) -> str:
    return f"{moment.day} {moment:%B %Y}, {moment:%H:%M} UTC"


def _format_days(first: datetime, last: datetime) -> str:
    ends = [f"{moment.day} {moment:%B %Y}" for moment in (first.astimezone(UTC), last.astimezone(UTC))]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} – {ends[1]}"
