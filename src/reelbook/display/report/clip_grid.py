"""The clips of a report or a notebook, arranged by their values: a grid on one clock, or one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ...util.printable import format_count
from ..formatting import STATE_SIGNS, format_credits, join_with_dots, shorten
from ..synced_clips import STYLE, PlayedClip, render_synced_clips
from ..tables.table_columns import format_json
from .report_entries import ModelRuns, ReportRun
from .report_media import PageMedia

# Scripts turn the parts of a grid into tabs, and add what needs them; without scripts all of it is there to be read.
VIEWER = Markup(
    '<div class="rb rb-viewer mathjax_ignore tex2jax_ignore" data-rb-viewer data-view="{view}" data-lm-suppress-shortcuts="true">{summary}{body}{notes}'
    '<script type="application/json">{payload}</script></div>'
)
SUMMARY, NOTES = Markup('<p class="rb-summary">{}</p>'), Markup('<p class="rb-notes">{}</p>')
FACET = Markup("<h3><bdi>{}</bdi></h3>")
PART = Markup('<div data-rb-part="{}">{}</div>')
STYLES, SCRIPT = (STYLE, "clip_grid.css"), "grid.js"
"""The assets of a page with clips, once: `render_style(*STYLES)`, and `render_script(SCRIPT)` after the last grid."""
FLOW = Markup('<div class="rb-flow">{}</div>')
TABLE = Markup(
    '<div class="rb-wide" role="region" aria-label="clips by {}" tabindex="0" style="overflow-x:auto"><table class="rb-clips" style="--across:{}"><thead><tr><td></td>{}</tr></thead>'
    "<tbody>{}</tbody></table></div>"
)
HEAD = Markup('<th scope="{0}" title="{1}"><bdi>{1}</bdi></th>')
ROW = Markup("<tr>{}{}</tr>")
# Limits of height: the width of a figure is limited so that it is no higher, whatever its aspect ratio.
MAX_HEIGHT, ROW_HEIGHT = 320, 112
FIGURE = Markup(
    '<figure data-row="{}" data-place="{}" style="max-width:{:.0f}px">{}<figcaption>{}</figcaption></figure>'
)
FILES_ROW = Markup('<div class="rb-many">{}</div>')
SHARE = Markup('<div style="flex:{:.3f} 1 {:.0f}px;max-width:{:.0f}px">{}</div>')
CAPTION = Markup('<a href="#again-{}">{}</a>')
PRICE = Markup('<span class="rb-price"> · {}</span>')
PICTURE = Markup(
    '<div class="rb-clip" style="aspect-ratio:{width}/{height}"><img src="{src}" alt="{name}" width="{width}" height="{height}" loading="lazy" decoding="async"></div>'
)
PLACEHOLDER = Markup('<div class="rb-clip rb-none" style="aspect-ratio:{0}/{1}"><p title="{2}">{2}</p></div>')
MAX_REASON_LENGTH = 160


@dataclass(frozen=True)
class ClipGrid:
    """All clips and pictures of a table of runs."""

    groups: Sequence[ModelRuns]
    media: Mapping[Path, PageMedia]
    key: str = ""
    """The key with which the page requests files of a kernel; empty in a page without one."""
    view: str = "grid"
    """What is displayed first: the `grid`, or `one` clip at a time."""
    has_recipes: bool = True
    """Whether the page has the recipe of each run, to which its caption leads."""
    summary: str = ""
    table: str = ""
    """A table of the same rows, below the clips."""
    notes: str = ""
    picks: str = ""
    """The key of the ticks, which all displays of a table share."""

    @property
    def markup(self) -> Markup:
        """The clips with their controls; empty where there is nothing to look at in a report."""
        if self.has_recipes and not any(one.poster or one.clip for one in self.media.values()):
            return Markup("")
        body = Markup("").join(self._render_group(group) for group in self.groups)
        clips = self.clips
        count = format_count(len(clips), "clip")
        return VIEWER.format(
            view=self.view,
            summary=SUMMARY.format(self.summary) if self.summary else "",
            body=render_synced_clips(body, name=f"{count} on one clock") if clips else body,
            notes=Markup(self.table) + (NOTES.format(self.notes) if self.notes else ""),
            payload=format_json(
                {"key": self.key, "group": self.picks, "groups": list(map(self._pack_group, self.groups))}
            ),
        )

    def make_cell(self, row: int) -> dict[str, Any]:
        """One row as it is in the markup and in its data, for a page that replaces it."""
        group, entry = next((group, one) for group in self.groups for one in group.entries if one.place == row)
        number = group.entries.index(entry)
        label = "" if group.layout.is_grid else _format_label(group, number)
        html = Markup("").join(self._render_figures(group, entry, label))
        return {"row": row, "html": str(html), "run": self._pack_group(group)["runs"][number]}

    def _pack_group(self, group: ModelRuns) -> dict[str, Any]:
        """What the page needs to know of a model's runs: their axes, and the values, label and price of each."""
        return {
            "model": group.model,
            "axes": [{"name": axis.name, "values": axis.values, "bare": axis.bare} for axis in group.axes],
            "runs": [
                {
                    "row": entry.place, "codes": [axis.codes[number] for axis in group.axes], "name": entry.name,
                    "label": _format_label(group, number), "price": format_credits(entry.credits, entry.credits_source, entry.status),
                    "state": entry.status,
                }
                for number, entry in enumerate(group.entries)
            ],
        }  # fmt: skip

    @property
    def clips(self) -> list[PlayedClip]:
        """Every clip that plays."""
        found = [self.media[file.path].clip for group in self.groups for entry in group.entries for file in entry.files]
        return [clip for clip in found if clip is not None]

    def _render_group(self, group: ModelRuns) -> Markup:
        head = FACET.format(group.model or "another model") if len(self.groups) > 1 else Markup("")
        layout = group.layout
        parts: dict[tuple[int, ...], list[int]] = {}
        for number in range(len(group.entries)):
            parts.setdefault(tuple(axis.codes[number] for axis in layout.facets), []).append(number)
        rendered = [self._render_part(group, codes, numbers) for codes, numbers in sorted(parts.items())]
        return Markup("{}{}").format(head, Markup("").join(rendered))

    def _render_part(self, group: ModelRuns, codes: tuple[int, ...], numbers: Sequence[int]) -> Markup:
        """The runs with these values of the axes that are neither rows nor columns."""
        layout = group.layout
        found = (
            self._render_grid(group, numbers)
            if layout.is_grid
            else FLOW.format(Markup("").join(self._render_flow(group, numbers)))
        )
        if not codes:
            return found
        name = join_with_dots(*(axis.values[code] for axis, code in zip(layout.facets, codes, strict=True)))
        return PART.format(name, FACET.format(name) + found)

    def _render_flow(self, group: ModelRuns, numbers: Sequence[int]) -> Iterator[Markup]:
        for number in numbers:
            yield from self._render_figures(group, group.entries[number], _format_label(group, number))

    def _render_grid(self, group: ModelRuns, numbers: Sequence[int]) -> Markup:
        rows, across = group.layout.rows, group.layout.across
        assert rows is not None
        assert across is not None
        cells: dict[tuple[int, int], list[Markup]] = {}
        for number in numbers:
            place = rows.codes[number], across.codes[number]
            cells.setdefault(place, []).extend(self._render_figures(group, group.entries[number], ""))
        columns = sorted({column for _, column in cells})
        heads = Markup("").join(HEAD.format("col", across.values[column]) for column in columns)
        lines = [
            ROW.format(
                HEAD.format("row", rows.values[row]),
                Markup("").join(Markup("<td>{}</td>").format(Markup("").join(cells.get((row, column), ()))) for column in columns),
            )
            for row in sorted({row for row, _ in cells})
        ]  # fmt: skip
        return TABLE.format(f"{rows.name} and {across.name}", len(columns), heads, Markup("").join(lines))

    def _render_figures(self, group: ModelRuns, entry: ReportRun, label: str) -> Iterator[Markup]:
        if not entry.files:
            shape = self._find_shape(group)
            yield _render_figure(entry, 0, shape, _render_placeholder(entry, shape), self._render_caption(entry, label))
            return
        figures = [
            (
                one,
                _render_figure(
                    entry,
                    place,
                    (one.width, one.height),
                    _render_media(entry, one),
                    self._render_caption(entry, label, place),
                ),
            )
            for place, one in enumerate(self.media[file.path] for file in entry.files)
        ]
        yield (
            figures[0][1]
            if len(figures) == 1
            else FILES_ROW.format(Markup("").join(_render_share(*pair) for pair in figures))
        )

    def _render_caption(self, entry: ReportRun, label: str, place: int = 0) -> Markup:
        """The caption: the label, where no headings have it, the run with a link to its recipe, and its price."""
        name = f"file {place + 1}" if place else entry.name
        lead = (
            Markup('<bdi class="rb-lead" title="{}">{}</bdi>').format(label, shorten(label, 90))
            if label and not place
            else Markup("")
        )
        price = format_credits(entry.credits, entry.credits_source, entry.status) if not place else ""
        words = CAPTION.format(entry.place, name) if self.has_recipes else Markup("<b>{}</b>").format(name)
        return Markup('{}<span class="rb-soft">{}{}</span>').format(lead, words, PRICE.format(price) if price else "")

    def _find_shape(self, group: ModelRuns) -> tuple[int, int]:
        """The size of another file of the group, for a placeholder."""
        sizes = (self.media[file.path] for entry in group.entries for file in entry.files)
        return next(((one.width, one.height) for one in sizes if one.poster), (16, 9))


def _render_figure(entry: ReportRun, place: int, shape: tuple[int, int], box: Markup, caption: Markup) -> Markup:
    return FIGURE.format(entry.place, place, MAX_HEIGHT * shape[0] / shape[1], box, caption)


def _render_share(one: PageMedia, figure: Markup) -> Markup:
    """A figure beside others in a row, all of one height."""
    shape = one.width / one.height
    return SHARE.format(shape, ROW_HEIGHT * shape, 2 * ROW_HEIGHT * shape, figure)


def _render_media(entry: ReportRun, one: PageMedia) -> Markup:
    if one.clip is not None:
        return one.clip.markup
    if one.poster:
        picture = PICTURE.format(src=one.poster, name=entry.name, width=one.width, height=one.height)
        return Markup("{}{}").format(picture, Markup("<p>{}</p>").format(one.note) if one.note else "")
    return PLACEHOLDER.format(one.width, one.height, one.note)


def _render_placeholder(entry: ReportRun, shape: tuple[int, int]) -> Markup:
    words = join_with_dots(
        f"{STATE_SIGNS.get(entry.status, '')} {entry.status}".strip(), shorten(entry.error, MAX_REASON_LENGTH)
    )
    return PLACEHOLDER.format(*shape, words)


def _format_label(group: ModelRuns, number: int) -> str:
    """What distinguishes a run from the others."""
    return join_with_dots(*(axis.values[axis.codes[number]] for axis in group.axes))
