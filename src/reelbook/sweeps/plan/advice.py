"""Warnings about plans that are valid but probably unintended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ...models.base import Input
from ...models.catalog import find_endpoint
from ...models.problems import format_literal
from .axes import Axis, SweepPart
from .field_paths import get_fields
from .plan_rows import Row


def find_axis_notes(parts: Sequence[SweepPart]) -> tuple[str, ...]:
    """Warnings about the axes.

    >>> find_axis_notes([Axis("seed", (7,)), Axis("num_frames", (9, 49, 9))])
    ('`seed` has one value, 7, so it does not vary.', '`num_frames` has 9 twice.')
    """
    return tuple(note for part in parts for note in _notes_on(part))


def find_warnings(base: Input, columns: Sequence[str], rows: Sequence[Row], *, distinct: int) -> Iterator[str]:
    """Warnings about the runs."""
    model = find_endpoint(base.endpoint_id)
    without_effect = dict(model.without_effect) if model is not None else {}
    for name in columns:
        if name in without_effect:
            yield f"`{name}` has hardly any effect on {base.endpoint_id}: {without_effect[name]}."
    possible = [row for row in rows if row.input is not None]
    if len(possible) > distinct:
        again = len(possible) - distinct
        yield (
            f"{again:,} of {len(possible):,} runs {'asks' if again == 1 else 'ask'} for the same as another one; "
            "what is the same is run and paid once. For several clips of one input, use repeated(n)."
        )
    if rows and not possible:
        yield "No run of this plan is possible."
    yield from _on_seeds(base, possible)


def _notes_on(part: SweepPart) -> Iterator[str]:
    if not isinstance(part, Axis):
        return
    if len(part.values) == 1:
        yield f"`{part.name}` has one value, {format_literal(part.values[0], 30)}, so it does not vary."
    for text, count in Counter(format_literal(value, 200) for value in part.values).items():
        if count > 1:
            yield f"`{part.name}` has {text} {'twice' if count == 2 else f'{count} times'}."


def _on_seeds(base: Input, possible: Sequence[Row]) -> Iterator[str]:
    """Warnings about repeated runs: with a fixed seed they are all the same clip, without one not reproducible."""
    if "seed" not in get_fields(type(base)) or not any(row.take for row in possible):
        return
    seeded = sum(1 for row in possible if row.take and row["seed"] is not None)
    if seeded:
        yield (
            f"{seeded:,} repeats have the seed of the run they repeat, so they give the same again and are paid again; "
            "leave the repeats out, or sweep the seed: seed=range(3)."
        )
    if any(row.take and row["seed"] is None for row in possible):
        yield (
            "Repeats without a seed differ by chance and cannot be made again elsewhere; "
            "to compare like with like, sweep the seed instead: seed=range(3)."
        )
