"""The clips of a report where their values put them, all on one clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from ..formatting import MARKS, cut, format_credits, joined
from ..synced_clips import Clip, on_one_clock
from .report_entries import Entry, Group
from .report_media import Shown

FACET = Markup("<h3><bdi>{}</bdi></h3>")
FLOW = Markup('<div class="rb-flow">{}</div>')
TABLE = Markup(
    '<div class="rb-wide" role="region" aria-label="clips by {}" tabindex="0"><table class="rb-clips" style="--across:{}"><thead><tr><td></td>{}</tr></thead>'
    "<tbody>{}</tbody></table></div>"
)
HEAD = Markup('<th scope="{}"><bdi>{}</bdi></th>')
ROW = Markup("<tr>{}{}</tr>")
# No wider than would make it taller than this: a telephone's picture beside a cinema's.
TALLEST, ROW_HEIGHT = 320, 112
FIGURE = Markup(
    '<figure data-row="{}" data-place="{}" style="max-width:{:.0f}px">{}<figcaption>{}</figcaption></figure>'
)
MANY = Markup('<div class="rb-many">{}</div>')
SHARE = Markup('<div style="flex:{:.3f} 1 {:.0f}px;max-width:{:.0f}px">{}</div>')
CAPTION = Markup('<a href="#again-{}">{}</a>{}')
PRICE = Markup('<span class="rb-price"> · {}</span>')
PICTURE = Markup(
    '<div class="rb-clip" style="aspect-ratio:{width}/{height}"><img src="{src}" alt="{name}" width="{width}" height="{height}" loading="lazy" decoding="async"></div>'
)
NONE = Markup('<div class="rb-clip rb-none" style="aspect-ratio:{0}/{1}"><p title="{2}">{2}</p></div>')
LONGEST_REASON = 160


@dataclass(frozen=True)
class Grid:
    """All clips and pictures of a report."""

    groups: Sequence[Group]
    media: Mapping[Path, Shown]

    @property
    def markup(self) -> Markup:
        """They with their clock; nothing where there are none."""
        if not any(one.poster or one.clip for one in self.media.values()):
            return Markup("")
        body = Markup("").join(self._group(group) for group in self.groups)
        clips = self.clips
        if not clips:
            return body
        count = f"{len(clips):,} clip{'' if len(clips) == 1 else 's'}"
        return on_one_clock(body, clips, name=f"{count} on one clock")

    @property
    def clips(self) -> list[Clip]:
        """Every clip that plays."""
        found = [self.media[file.path].clip for group in self.groups for entry in group.entries for file in entry.files]
        return [clip for clip in found if clip is not None]

    def _group(self, group: Group) -> Markup:
        head = FACET.format(group.model or "another model") if len(self.groups) > 1 else Markup("")
        layout = group.layout
        if not layout.is_grid:
            return Markup("{}{}").format(head, FLOW.format(Markup("").join(self._flow(group))))
        facets: dict[tuple[int, ...], list[int]] = {}
        for number in range(len(group.entries)):
            facets.setdefault(tuple(axis.codes[number] for axis in layout.facets), []).append(number)
        grids = [
            Markup("{}{}").format(
                FACET.format(joined(*(axis.values[code] for axis, code in zip(layout.facets, codes, strict=True)))) if codes else "",
                self._grid(group, numbers),
            )
            for codes, numbers in sorted(facets.items())
        ]  # fmt: skip
        return Markup("{}{}").format(head, Markup("").join(grids))

    def _flow(self, group: Group) -> Iterator[Markup]:
        for number, entry in enumerate(group.entries):
            label = joined(*(axis.values[axis.codes[number]] for axis in group.axes))
            yield from self._figures(group, entry, label)

    def _grid(self, group: Group, numbers: Sequence[int]) -> Markup:
        rows, across = group.layout.rows, group.layout.across
        assert rows is not None
        assert across is not None
        cells: dict[tuple[int, int], list[Markup]] = {}
        for number in numbers:
            place = rows.codes[number], across.codes[number]
            cells.setdefault(place, []).extend(self._figures(group, group.entries[number], ""))
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

    def _figures(self, group: Group, entry: Entry, label: str) -> Iterator[Markup]:
        if not entry.files:
            shape = self._shape(group)
            yield _figure(entry, 0, shape, _nothing(entry, shape), _caption(entry, label))
            return
        figures = [
            (one, _figure(entry, place, (one.width, one.height), _box(entry, one), _caption(entry, label, place)))
            for place, one in enumerate(self.media[file.path] for file in entry.files)
        ]
        yield figures[0][1] if len(figures) == 1 else MANY.format(Markup("").join(_share(*pair) for pair in figures))

    def _shape(self, group: Group) -> tuple[int, int]:
        """The shape of what the others made, so that a gap is as large as they are."""
        sizes = (self.media[file.path] for entry in group.entries for file in entry.files)
        return next(((one.width, one.height) for one in sizes if one.poster), (16, 9))


def _figure(entry: Entry, place: int, shape: tuple[int, int], box: Markup, caption: Markup) -> Markup:
    return FIGURE.format(entry.place, place, TALLEST * shape[0] / shape[1], box, caption)


def _share(one: Shown, figure: Markup) -> Markup:
    """A figure beside others in a row, all of one height."""
    shape = one.width / one.height
    return SHARE.format(shape, ROW_HEIGHT * shape, 2 * ROW_HEIGHT * shape, figure)


def _box(entry: Entry, one: Shown) -> Markup:
    if one.clip is not None:
        return one.clip.markup
    if one.poster:
        picture = PICTURE.format(src=one.poster, name=entry.name, width=one.width, height=one.height)
        return Markup("{}{}").format(picture, Markup("<p>{}</p>").format(one.note) if one.note else "")
    return NONE.format(one.width, one.height, one.note)


def _nothing(entry: Entry, shape: tuple[int, int]) -> Markup:
    words = joined(f"{MARKS.get(entry.status, '')} {entry.status}".strip(), cut(entry.error, LONGEST_REASON))
    return NONE.format(*shape, words)


def _caption(entry: Entry, label: str, place: int = 0) -> Markup:
    """What varies, if no heads tell it; then the number of the run, which leads to how it was made, and its price."""
    name = f"file {place + 1}" if place else entry.name
    shown = label and not place
    lead = Markup('<bdi class="rb-lead" title="{}">{}</bdi>').format(label, cut(label, 90)) if shown else Markup("")
    price = format_credits(entry.credits, entry.credits_source) if not place else ""
    link = CAPTION.format(entry.place, name, PRICE.format(price) if price else "")
    return Markup('{}<span class="rb-soft">{}</span>').format(lead, link)
