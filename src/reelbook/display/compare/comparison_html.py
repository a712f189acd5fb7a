"""A comparison as the output of a cell: stills side by side, chart and inputs, which a script makes a viewer of."""

from __future__ import annotations

import base64
import io
import json
import math
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from markupsafe import Markup
from PIL import Image

from ...errors import ReelbookError
from ...media.stills import read_frames, read_picture
from ..fact_table import SMALL_STYLE, render_details, render_small_print
from ..formatting import join_with_dots, shorten
from ..original_links import get_link_key
from ..synced_clips import TRANSPORT
from ..theme import render_script, render_style
from .compared_items import Item, PixelSize, Timing, find_box, find_clock, find_differing, find_frame, fit_size
from .comparison import FRAME, TIME, Comparison
from .frame_differences import Differences, get_compared_size

STYLES, SCRIPT = ("clock.css", "compare.css"), "compare.js"
"""The assets of a page with comparisons, once."""
LETTERS = "AB"
STILLS_BYTES, MAX_STILL_SIDE = 66_000, 480
"""Bytes of all stills in a saved notebook, and the longer side of each."""
JPEG_BYTES, JPEG_WIDTH, JPEG_GAP = 30_000, 400, 4
MAX_VALUE_LENGTH = 160
LONG = "No chart of the differences: these files are long, and computing it takes minutes."
ADVICE = "It appears here once `comparison.differences` has been computed."
MAX_FILE_BYTES = 1_000_000_000
"""Larger files are not asked for. Of smaller ones the kernel says itself if they are too large to be sent."""

ROOT = Markup(
    '<div class="rb rb-clock rb-compare mathjax_ignore tex2jax_ignore" data-rb-compare data-rb-by="{}" data-lm-suppress-shortcuts="true" '
    'role="group" tabindex="0" aria-label="{}" aria-keyshortcuts="Space ArrowLeft ArrowRight Home End L [ ] + - 0 A B" style="margin:4px 0 8px">'
    '<div class="rb-compare-stills" style="display:flex;flex-wrap:wrap;gap:8px">{}</div>{}</div>'
)
SERIES = Markup('<script type="application/json" data-rb-data>{}</script>')
STILL = Markup(
    '<figure data-rb-item="{}" data-rb-kind="{}" data-rb-key="{}" data-rb-label="{}" data-width="{}" data-height="{}"{} '
    'style="flex:1 1 200px;max-width:{}px;margin:0">{}<figcaption style="{};overflow-wrap:anywhere"><bdi>{}</bdi></figcaption></figure>'
)
TIMES = Markup(' data-frames="{}" data-rate="{}/{}"')
IMAGE = Markup(
    '<img src="{}" width="{}" height="{}" alt="{}" decoding="async" style="display:block;width:100%;height:auto;border-radius:6px">'
)
CONTROLS = Markup('<div class="rb-compare-transport">{}</div>').format(TRANSPORT)
TABLE = Markup(
    '<div class="rb-compare-inputs" role="region" tabindex="0" aria-label="{}" style="overflow-x:auto"><table style="border-collapse:collapse;font-size:12px;margin:4px 0">'
    '<thead><tr><td></td>{}</tr></thead><tbody>{}</tbody></table></div>'
)  # fmt: skip
HEAD = Markup(
    '<th scope="{}" style="text-align:left;font-weight:{};padding:2px 16px 2px 0;vertical-align:top"><bdi>{}</bdi></th>'
)
CELL = Markup(
    '<td title="{}" style="text-align:left;padding:2px 16px 2px 0;vertical-align:top;overflow-wrap:anywhere"><bdi>{}</bdi></td>'
)


LINE_STYLE = "fill:none;stroke:var(--rb-accent,currentColor);stroke-width:1.5;vector-effect:non-scaling-stroke"
SOFT = "fill:var(--rb-soft,currentColor)"
TOP, HEIGHT, FOOT = 18, 40, 8
# Hidden where the style sheet is lost: a page that drops it drops the drawing as well, and would leave bare numbers.
CHART = Markup(
    '<div class="rb-compare-chart" data-rb-chart data-rb-ticks="{}" hidden style="display:none"><div class="rb-compare-plot">{}</div></div>'
)
# All text is in the drawing, because a host that drops drawings would leave it lying about. The line is as wide as its container,
# and of the same thickness throughout; 7 px from the edges, like the time line.
PANEL = Markup(
    '<svg class="rb-compare-panel" role="img" aria-label="{}" width="100%" height="{}" xmlns="http://www.w3.org/2000/svg" '
    'style="display:block;overflow:visible;font-size:12px;font-variant-numeric:tabular-nums"><title>{}</title>'
    '<text x="0" y="12" style="{}">{}</text><text data-rb-range="" x="100%" y="12" text-anchor="end" style="{}">{}</text>'
    '<svg y="{}" width="100%" height="{}" viewBox="0 0 {} 1" preserveAspectRatio="none" style="overflow:visible">'
    '<polyline data-rb-line="{}" points="{}" style="{}"/></svg></svg>'
)
SENTENCE = Markup('<p data-rb-differences style="{};margin:4px 0">{}</p>')
SSIM, MEAN = "ssim", "mean_absolute"
TITLES = {MEAN: "mean difference, of 255", SSIM: "SSIM, 1 is equal"}
HASH = re.compile(r"\b([0-9a-f]{8})[0-9a-f]{56}\b")
"""The name of a file of the shelf, of which a table has the first letters, as a line cannot be broken within it."""


def render_comparison(comparison: Comparison) -> str:
    """The viewer with its style sheet and script."""
    return str(render_style(*STYLES) + render_comparison_markup(comparison) + render_script(SCRIPT))


def render_comparison_markup(
    comparison: Comparison, *, with_differences: bool = True, advice: str = ADVICE, notes: Sequence[str] = ()
) -> Markup:
    """The viewer alone, for a page that has its style sheet and script already.

    `advice` is how to get differences that take long to compute, and `notes` are more sentences below the buttons.
    """
    items, places = comparison.items, comparison.comparable
    stills = _read_stills(comparison)
    count = max(len(places), 1)
    figures = Markup("").join(
        _render_still(place, items[place], stills.get(place), STILLS_BYTES // count, LETTERS[rank : rank + 1])
        for rank, place in enumerate(places)
    )
    parts = [
        render_differences(comparison, advice=advice) if with_differences else Markup(""),
        _render_controls(comparison),
        *map(render_small_print, [*list_notes(comparison), *notes]),
    ]
    parts.append(_render_inputs(comparison))
    films = sum(items[place].is_video for place in places)
    name = f"{len(places)} {'clips' if films == len(places) else 'files' if films else 'pictures'} compared"
    return ROOT.format(comparison.by, name, figures, Markup("").join(parts))


def render_differences(comparison: Comparison, *, advice: str = ADVICE) -> Markup:
    """The chart and the sentence of the first two, and the figures of all pairs for the page; for long files, why not."""
    places = comparison.comparable
    if len(places) < 2:
        return Markup("")
    if not comparison.is_quick:
        return render_small_print(f"{LONG} {advice}".strip())
    text = Markup(json.dumps(_pack_series(comparison), separators=(",", ":")).replace("<", "\\u003c"))
    return _render_difference(comparison, (places[0], places[1])) + SERIES.format(text)


def render_comparison_jpeg(comparison: Comparison) -> bytes | None:
    """The stills side by side as one JPEG, for output without HTML; None if nothing can be compared."""
    stills = list(_read_stills(comparison).values())
    if not stills:
        return None
    height = max(1, min(JPEG_WIDTH * still.height // still.width for still in stills))
    small = [still.resize((max(1, still.width * height // still.height), height)) for still in stills]
    width = sum(one.width for one in small) + JPEG_GAP * (len(small) - 1)
    sheet = Image.new("RGB", (width, height), "#16191c")
    left = 0
    for one in small:
        sheet.paste(one, (left, 0))
        left += one.width + JPEG_GAP
    return _encode(sheet, JPEG_BYTES)


def format_comparison(comparison: Comparison) -> str:
    """The comparison on one line, for terminals."""
    labels = " and ".join(item.label for item in comparison.items)
    places = comparison.comparable
    if len(places) < 2:
        return join_with_dots(f"comparison of {labels}", "fewer than two can be compared", *comparison.problems)
    pair = (places[0], places[1])
    known = comparison.compute(comparison.by)[pair] if comparison.is_quick else None
    names = (comparison.items[pair[0]].label, comparison.items[pair[1]].label)
    words = format_differences(known, names).rstrip(".") if known else "comparison.differences has the figures"
    return join_with_dots("comparison", words, *comparison.problems)


def list_notes(comparison: Comparison) -> list[str]:
    """What is to be known of files of different size, rate and length, and of those that are missing, in sentences."""
    items = [comparison.items[place] for place in comparison.comparable]
    timings = [item.timing for item in items if item.timing is not None]
    notes = []
    if len(items) < 2:
        notes.append("Fewer than two of these files can be compared.")
    notes += comparison.problems
    sizes = list(dict.fromkeys(timing.size for timing in timings))
    if len(sizes) > 1:
        box = find_box(sizes)
        shapes = any(fit_size(size, box)[2:] != box for size in sizes)
        how = "in the middle of one box, their shapes as they are" if shapes else "to the larger size"
        notes.append(
            f"The sizes differ ({_join(f'{width}×{height}' for width, height in sizes)}): pictures are fitted {how}."
        )
    films = [timing for timing in timings if timing.rate]
    if films and not comparison.is_even:
        rates = list(dict.fromkeys(f"{float(film.rate or 0):.5g}" for film in films))
        uneven = "" if len(rates) > 1 else ", and frames are not evenly spaced"
        what = "frames of the same time" if comparison.by == TIME else "frames of the same number"
        notes.append(
            f"The clips have {_join(rates)} frames per second{uneven}: {what} are compared; the switch next to the time changes that."
        )
    lengths = list(dict.fromkeys(f"{film.frames} frames, {film.seconds:.2f} s" for film in films))
    if len({film.frames if comparison.by == FRAME else round(film.seconds, 2) for film in films}) > 1:
        notes.append(f"The lengths differ ({'; '.join(lengths)}): a clip that has ended stays at its last frame.")
    if films and len(films) < len(timings):
        notes.append("A picture stays still next to a clip.")
    return notes


def _join(words: Any) -> str:
    *first, last = list(words)
    return f"{', '.join(first)} and {last}" if first else last


def _render_still(place: int, item: Item, still: Image.Image | None, max_bytes: int, letter: str) -> Markup:
    timing = item.timing
    assert timing is not None
    width, height = item.copy_size or timing.size
    times = TIMES.format(timing.frames, timing.rate.numerator, timing.rate.denominator) if timing.rate else Markup("")
    image = Markup("")
    if still is not None:
        address = "data:image/jpeg;base64," + base64.b64encode(_encode(still, max_bytes)).decode()
        image = IMAGE.format(address, still.width, still.height, item.label)
    return STILL.format(
        place, "film" if timing.rate else "picture", _find_key(item), item.label, width, height, times, min(timing.size[0], 640), image,
        SMALL_STYLE, join_with_dots(letter, item.label),
    )  # fmt: skip


def _find_key(item: Item) -> str:
    """The key by which the page requests the file; empty without a page."""
    if item.key:
        return item.key
    try:
        return get_link_key(item.file.path, MAX_FILE_BYTES) if item.file is not None else ""
    except OSError:
        return ""


def _render_controls(comparison: Comparison) -> Markup:
    timings = [comparison.items[place].timing for place in comparison.comparable]
    has_clips = any(timing is not None and timing.rate for timing in timings)
    return CONTROLS if has_clips and len(timings) > 1 else Markup("")


def _render_difference(comparison: Comparison, pair: tuple[int, int]) -> Markup:
    found = comparison.compute(comparison.by)[pair]
    ticks = _count_ticks(comparison, comparison.by)
    size = get_compared_size([comparison.items[place] for place in pair])
    shapes = [item.timing.size for place in pair if (item := comparison.items[place]).timing is not None]
    is_partial = any(fit_size(shape, find_box(shapes))[2:] != find_box(shapes) for shape in shapes)
    note = f"computed at {size[0]}×{size[1]}{', where both have pixels' if is_partial else ''}" if size else ""
    return render_chart(found, ticks) + render_sentence(found, ("A", "B"), note)


def _count_ticks(comparison: Comparison, by: str) -> int:
    return find_clock([item.timing for item in comparison.items if item.timing is not None], by=by)[1]


def _pack_series(comparison: Comparison) -> dict[str, Any]:
    """The differences of the pairs for the page, by what is the same in all clips."""
    ways = [comparison.by] if comparison.is_even else [TIME, FRAME]
    return {
        by: {f"{one}-{other}": _pack(found) for (one, other), found in comparison.compute(by).items()} for by in ways
    }


def _pack(found: Differences) -> dict[str, Any]:
    # Frames of both are a stretch from the first on.
    is_known = all(value == value for value in found.ssim)
    return {
        "ssim": [round(value, 4) for value in found.ssim] if is_known else None,
        "mean_absolute": [round(value, 2) for value in found.mean_absolute],
    }


def _render_inputs(comparison: Comparison) -> Markup:
    """The facts that differ as a table, and those that are equal folded below."""
    items = comparison.items
    differing, equal, some = find_differing(items)
    parts = []
    if differing:
        parts.append(_render_table("what differs", differing, items))
    if equal:
        shared = _render_table("what is equal", equal, items[:1])
        named = equal[:2] if len(equal) > 3 else equal
        rest = f" and {len(equal) - len(named)} more" if len(equal) > len(named) else ""
        parts.append(render_details(f"The same in all: {', '.join(named)}{rest}", shared))
    if some:
        parts.append(render_details("Inputs of some only", _render_table("inputs of some only", some, items)))
    return Markup("").join(parts)


def _render_table(name: str, names: list[str], items: Any) -> Markup:
    heads = (
        Markup("").join(HEAD.format("col", 600, item.label) for item in items)
        if len(items) > 1
        else Markup("<td></td>")
    )
    rows = Markup("").join(
        Markup("<tr>{}{}</tr>").format(
            HEAD.format("row", "normal", shorten(fact, 40)),
            Markup("").join(CELL.format(value, shorten(HASH.sub(r"\1…", value), MAX_VALUE_LENGTH)) for value in (item.facts.get(fact, "–") for item in items)),
        )
        for fact in names
    )  # fmt: skip
    return TABLE.format(name, heads, rows)


def _read_stills(comparison: Comparison) -> dict[int, Image.Image]:
    """A frame of each item at the middle of the clock, at most `MAX_STILL_SIDE` long."""
    timings = [item.timing for item in comparison.items if item.timing is not None]
    rate, ticks = find_clock(timings, by=comparison.by)
    found = {}
    for place in comparison.comparable:
        item = comparison.items[place]
        assert item.timing is not None
        assert item.file is not None
        number = find_frame(item.timing, ticks // 2, rate, by=comparison.by)
        try:
            found[place] = _read_still(str(item.file.path), item.file.path.stat().st_mtime_ns, item.timing, number)
        except (ReelbookError, OSError):
            continue
    return found


@lru_cache(maxsize=32)
def _read_still(path: str, version: int, timing: Timing, number: int | None) -> Image.Image:
    box = (MAX_STILL_SIDE, MAX_STILL_SIDE)
    if timing.rate is None:
        return read_picture(Path(path), box).convert("RGB")
    still = read_frames(path, lambda count, _: [count - 1 if number is None else number], box).frames[0]
    return still.rotate(-timing.rotation, expand=True) if timing.rotation else still


def _encode(picture: Image.Image, max_bytes: int) -> bytes:
    content = b""
    for quality, shrink in ((85, 1), (75, 1), (65, 1), (60, 1.5), (50, 2), (40, 3)):
        size: PixelSize = (max(1, round(picture.width / shrink)), max(1, round(picture.height / shrink)))
        out = io.BytesIO()
        (picture if shrink == 1 else picture.resize(size)).save(out, "JPEG", quality=quality)
        content = out.getvalue()
        if len(content) <= max_bytes:
            break
    return content


# The differences over time as a chart, and in words.


def render_chart(differences: Differences, ticks: int) -> Markup:
    """The chart of two series over the frames of the clock; empty for less than two frames."""
    if ticks < 2 or len(differences.frames) < 2:
        return Markup("")
    panels = [
        _render_panel(name, differences.frames, values, ticks)
        for name, values in ((MEAN, differences.mean_absolute), (SSIM, differences.ssim))
        if not any(math.isnan(value) for value in values)
    ]
    return CHART.format(ticks, Markup("").join(panels))


def render_sentence(differences: Differences, names: tuple[str, str], note: str) -> Markup:
    """The differences in words; it stays where a chart cannot be displayed."""
    return SENTENCE.format(SMALL_STYLE, format_differences(differences, names, note))


def format_differences(differences: Differences, names: tuple[str, str], note: str = "") -> str:
    """The least and the greatest difference in words.

    >>> format_differences(Differences((0, 1), (1.0, 0.9), (0.0, 3.25)), ("A", "B"))
    'A and B: mean absolute difference 0.00 to 3.25 of 255, SSIM 0.900 to 1.000.'
    """
    if not differences.frames:
        return f"{names[0]} and {names[1]} have no frame at the same time."
    mean = _format_range(MEAN, differences.mean_absolute, " to ")
    parts = [f"mean absolute difference {mean} of 255"]
    if not any(math.isnan(value) for value in differences.ssim):
        parts.append(f"SSIM {_format_range(SSIM, differences.ssim, ' to ')}")
    return f"{names[0]} and {names[1]}: {', '.join(parts)}{f'; {note}' if note else ''}."


def _render_panel(name: str, frames: Sequence[int], values: Sequence[float], ticks: int) -> Markup:
    low, high = find_scale(name, values)
    points = " ".join(
        f"{frame},{1 - (value - low) / (high - low):.3f}" for frame, value in zip(frames, values, strict=True)
    )
    words = f"{TITLES[name]}: {_format_range(name, values, ' to ')} over {len(frames):,} frames"
    text = _format_range(name, values, " – ")
    return PANEL.format(
        words, TOP + HEIGHT + FOOT, words, SOFT, TITLES[name], SOFT, text, TOP, HEIGHT, ticks - 1, name, points, LINE_STYLE
    )  # fmt: skip


def find_scale(name: str, values: Sequence[float]) -> tuple[float, float]:
    """The values at the lower and the upper edge of a panel; the page uses the same."""
    if name == MEAN:
        return 0.0, max(*values, 1.0)
    return min(*values, 0.9), 1.0


def _format_range(name: str, values: Sequence[float], word: str) -> str:
    digits = 2 if name == MEAN else 3
    ends = [f"{value:.{digits}f}" for value in (min(values), max(values))]
    return ends[0] if ends[0] == ends[1] else word.join(ends)
