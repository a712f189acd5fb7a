"""A comparison as the output of a cell: stills side by side, chart and inputs, which a script makes a viewer of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from markupsafe import Markup
from PIL import Image

from ...errors import ReelbookError
from ...media.stills import read_frames, read_picture
from ..embedding import data_uri, fit_jpegs, join_frames
from ..formatting import join_with_dots, shorten
from ..original_links import get_link_key
from ..tables.table_columns import format_json
from ..theme import Macros, render_script, render_style
from .comparison import FRAME, TIME, Comparison, Differences, Item, PixelSize, Timing

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
SSIM, MEAN = "ssim", "mean_absolute"
TITLES = {MEAN: "mean difference, of 255", SSIM: "SSIM, 1 is equal"}

views = Macros("compare.html")


FileOnPage = tuple[str, PixelSize | None]
"""The key by which the page gets a file, and the size of a smaller copy that it gets in its place."""


def find_on_page(item: Item) -> FileOnPage:
    """The key by which the page of a notebook requests the file from its kernel; empty without one."""
    try:
        return get_link_key(item.file.path, MAX_FILE_BYTES) if item.file is not None else "", None
    except OSError:
        return "", None


def render_comparison(comparison: Comparison) -> str:
    """The viewer with its style sheet and script."""
    return str(render_style(*STYLES) + render_comparison_markup(comparison) + render_script(SCRIPT))


def render_comparison_markup(
    comparison: Comparison,
    *,
    advice: str = ADVICE,
    notes: Sequence[str] = (),
    find: Callable[[Item], FileOnPage] = find_on_page,
) -> Markup:
    """The viewer alone, for a page that has its style sheet and script already.

    `advice` is how to get differences that take long to compute, `notes` are more sentences below the buttons, and `find`
    says what the page has of a file.
    """
    items, timings, stills = comparison.items, comparison.timings, _read_stills(comparison)
    films = sum(timing.rate is not None for timing in timings.values())
    kind = "clips" if films == len(timings) else "files" if films else "pictures"
    described = []
    for letter, (place, timing) in zip([*LETTERS, *[""] * len(timings)], timings.items(), strict=False):
        key, size = find(items[place])
        still = stills.get(place)
        address = data_uri("image/jpeg", fit_jpegs([still], STILLS_BYTES // len(timings))[0]) if still else ""
        described.append({
            "place": place, "timing": timing, "key": key, "label": items[place].label, "letter": letter,
            "size": size or timing.size, "still": still, "address": address,
        })  # fmt: skip
    return views.viewer(
        comparison.by,
        f"{len(timings)} {kind} compared",
        described,
        _describe_differences(comparison, advice),
        bool(films) and len(timings) > 1,
        [*list_notes(comparison), *notes],
        list(_list_tables(items)),
    )


def render_comparison_jpeg(comparison: Comparison) -> bytes | None:
    """The stills side by side as one JPEG, for output without HTML; None if nothing can be compared."""
    stills = list(_read_stills(comparison).values())
    if not stills:
        return None
    height = max(1, min(JPEG_WIDTH * still.height // still.width for still in stills))
    small = [still.resize((max(1, still.width * height // still.height), height)) for still in stills]
    return fit_jpegs([join_frames(small, JPEG_GAP)], JPEG_BYTES)[0]


def format_comparison(comparison: Comparison) -> str:
    """The comparison on one line, for terminals."""
    labels = " and ".join(item.label for item in comparison.items)
    few = "fewer than two can be compared" if len(comparison.timings) < 2 else "comparison.differences has the figures"
    return join_with_dots(f"comparison of {labels}", few, *comparison.problems)


def list_notes(comparison: Comparison) -> list[str]:
    """What is to be known of files of different size, rate and length, and of those that are missing, in sentences."""
    timings = [*comparison.timings.values()]
    films = [timing for timing in timings if timing.rate]
    notes = ["Fewer than two of these files can be compared."] if len(timings) < 2 else []
    notes += comparison.problems
    sizes = list(dict.fromkeys(timing.size for timing in timings))
    if len(sizes) > 1:
        names = _join(f"{width}×{height}" for width, height in sizes)
        notes.append(f"The sizes differ ({names}): pictures are fitted into one box.")
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


def _describe_differences(comparison: Comparison, advice: str) -> dict[str, Any]:
    """The chart and the sentence of the first two that can be compared, and those of all pairs for the page."""
    if len(comparison.timings) < 2:
        return {}
    if not comparison.is_quick:
        return {"missing": f"{LONG} {advice}".strip()}
    note = f"computed at {'×'.join(map(str, comparison.compared_size))}"
    pairs = {
        by: {f"{one}-{other}": _describe_pair(found, note) for (one, other), found in comparison.compute(by).items()}
        for by in ([comparison.by] if comparison.is_even else [TIME, FRAME])
    }
    first = next(iter(pairs[comparison.by].values()))
    ticks = comparison.clock(comparison.by)[1]
    return {"ticks": ticks, "titles": TITLES, "first": first, "pairs": format_json(pairs)}


def _describe_pair(found: Differences, note: str) -> dict[str, Any]:
    """The sentence and the lines of two items."""
    lines = {
        name: _describe_line(name, found.frames, values)
        for name, values in ((MEAN, found.mean_absolute), (SSIM, found.ssim))
        if len(found.frames) > 1
    }
    return {"words": format_differences(found, ("A", "B"), note), "lines": lines}


def _describe_line(name: str, frames: Sequence[int], values: Sequence[float]) -> dict[str, str]:
    """The points of a line in a panel whose sides are 1, and the values at its ends."""
    low, high = (0.0, max(*values, 1.0)) if name == MEAN else (min(*values, 0.9), 1.0)
    points = (f"{frame},{1 - (value - low) / (high - low):.3f}" for frame, value in zip(frames, values, strict=True))
    return {"points": " ".join(points), "range": _format_range(name, values, " – ")}


def format_differences(differences: Differences, names: tuple[str, str], note: str = "") -> str:
    """The least and the greatest difference in words.

    >>> format_differences(Differences((0, 1), (1.0, 0.9), (0.0, 3.25)), ("A", "B"))
    'A and B: mean absolute difference 0.00 to 3.25 of 255, SSIM 0.900 to 1.000.'
    """
    if not differences.frames:
        return f"{names[0]} and {names[1]} have no frame at the same time."
    mean, ssim = (
        _format_range(name, values, " to ")
        for name, values in ((MEAN, differences.mean_absolute), (SSIM, differences.ssim))
    )
    found = f"mean absolute difference {mean} of 255, SSIM {ssim}{f'; {note}' if note else ''}"
    return f"{names[0]} and {names[1]}: {found}."


def _format_range(name: str, values: Sequence[float], word: str) -> str:
    digits = 2 if name == MEAN else 3
    ends = [f"{value:.{digits}f}" for value in (min(values), max(values))]
    return ends[0] if ends[0] == ends[1] else word.join(ends)


def _list_tables(items: Sequence[Item]) -> Iterator[dict[str, Any]]:
    """The facts that differ, and with a title to fold them away those that are equal."""
    facts = [{**item.inputs, **item.file_facts} for item in items]
    # A run that failed has no file whose facts could be equal.
    whole = [each for each, item in zip(facts, items, strict=True) if item.timing] or facts
    names = list(dict.fromkeys(name for each in facts for name in each))
    inputs = {name for item in items for name in item.inputs}
    differing = [name for name in names if len({each.get(name) for each in (facts if name in inputs else whole)}) > 1]
    equal = [name for name in names if name not in differing]
    named = equal[:2] if len(equal) > 3 else equal
    rest = f" and {len(equal) - len(named)} more" if len(equal) > len(named) else ""
    for name, listed, count, title in (
        ("what differs", differing, len(items), ""),
        ("what is equal", equal, 1, f"The same in all: {', '.join(named)}{rest}"),
    ):
        heads, shown = ([item.label for item in items], facts) if count > 1 else ([], whole[:1])
        rows = [(shorten(fact, 40), [_format_fact(each.get(fact, "–")) for each in shown]) for fact in listed]
        if rows:
            yield {"name": name, "title": title, "rows": rows, "heads": heads}


def _format_fact(value: str) -> tuple[str, str]:
    """A value whole and shortened."""
    return value, shorten(value, MAX_VALUE_LENGTH)


def _read_stills(comparison: Comparison) -> dict[int, Image.Image]:
    """A frame of each item at the middle of the clock, at most `MAX_STILL_SIDE` long."""
    rate, ticks = comparison.clock(comparison.by)
    found = {}
    for place, timing in comparison.timings.items():
        file = comparison.items[place].file
        assert file is not None
        number = timing.find_frame(ticks // 2, rate, by=comparison.by)
        try:
            found[place] = _read_still(str(file.path), file.path.stat().st_mtime_ns, timing, number)
        except (ReelbookError, OSError):
            continue
    return found


@lru_cache(maxsize=32)
def _read_still(path: str, version: int, timing: Timing, number: int | None) -> Image.Image:
    box = (MAX_STILL_SIDE, MAX_STILL_SIDE)
    if timing.rate is None:
        return read_picture(Path(path), box).convert("RGB")
    return read_frames(path, lambda count, _: [count - 1 if number is None else number], box).frames[0]
