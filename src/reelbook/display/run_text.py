"""What there is to say about a run and its files, as plain words: captions, tables of facts, and where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import ReelbookError
from ..models.base import Input, Output, Part
from ..models.images import Image
from ..models.images_to_video import Frame
from ..models.service_file import File
from ..models.smart_resize import Size
from .formatting import MARKS, cut, duration, format_credits, joined, size
from .input_code import run_code
from .marks_line import marks_line

if TYPE_CHECKING:
    from pathlib import Path

    from ..media.local_file import LocalFile
    from ..runs.run import Run

Facts = list[tuple[str, str]]
"""Names and values."""

LONGEST_LEAD, LONGEST_VALUE, MAX_FACTS = 60, 300, 40
FOUND = f"{MARKS['from library']} from library"
PAID_BEFORE = "paid when it was made; nothing now"


@dataclass(frozen=True, slots=True)
class Told:
    """What is known of how something was made."""

    lead: str = ""
    """The prompt, on one line."""
    seed: str = ""
    credits: str = ""
    asked: tuple[tuple[str, str], ...] = ()
    answered: tuple[tuple[str, str], ...] = ()
    code: str = ""
    """What runs it again."""
    again: str = ""
    """What fetches it again."""


def of_run(run: Run) -> Told:
    """What is known of a finished run."""
    seed = getattr(run.output, "seed", None)
    paid = format_credits(run.credits, run.credits_source)
    answered = [*output_facts(run.output, beside=run.input), *_run_facts(run)]
    request = run.input if isinstance(run.input, Input) else None
    return Told(
        lead=lead(run),
        seed="" if seed is None else f"seed {cut(seed, 40)}",
        credits=joined(paid, FOUND if run.from_library else ""),
        asked=tuple(input_facts(request)) if request else (),
        answered=tuple(answered),
        code=run_code(request, seed=seed if isinstance(seed, int) else None) if request else "",
        again=attach_code(run.request_id, run.endpoint_id),
    )


def of_file(file: LocalFile) -> Told:
    """What is known of a file by itself, from the run that made it."""
    facts = file.facts
    if not facts:
        return Told()
    asked, seed, source = facts.get("input"), facts.get("seed"), facts.get("credits_source")
    values = asked if isinstance(asked, Mapping) else {}
    request = _typed(str(facts.get("model")), values)
    paid = format_credits(facts.get("credits"), source)
    known = [
        ("seed", seed),
        ("model", facts.get("model")),
        ("request", facts.get("request_id")),
        ("credits", _by(paid, source)),
        ("marks", marks_line([file])),
    ]
    return Told(
        lead=" ".join(str(values.get("prompt") or "").split()),
        seed="" if seed is None else f"seed {cut(seed, 40)}",
        credits=paid,
        asked=tuple(input_facts(request) if request else _some((str(k), text_of(v)) for k, v in values.items())),
        answered=tuple((name, cut(value, LONGEST_VALUE)) for name, value in known if value not in (None, "")),
        code=run_code(request, seed=seed if isinstance(seed, int) else None) if request else "",
        again=attach_code(str(facts.get("request_id") or ""), str(facts.get("model") or "")),
    )


def lead(run: Run) -> str:
    """The prompt of a run on one line; empty where its model takes none."""
    return " ".join(str(getattr(run.input, "prompt", "") or "").split())


def measures(file: LocalFile) -> list[str]:
    """Size, frames, seconds and bytes of a file; nothing where it cannot be read."""
    try:
        return [*str(file.probe).split(" · "), size(file.path.stat().st_size)]
    except (ReelbookError, OSError):
        return []  # The figure says what is wrong with it.


def file_line(file: LocalFile) -> str:
    """A file on one line, with where it is."""
    return joined(*_of_file(file), str(file.path))


def short_file_line(file: LocalFile) -> str:
    """The same with no more of its place than tells it from others."""
    return joined(*_of_file(file), _place(file.path))


def _of_file(file: LocalFile) -> list[str]:
    told = of_file(file)
    return [cut(told.lead, LONGEST_LEAD), told.seed, *measures(file), told.credits]


def run_line(run: Run) -> str:
    """A finished run on one line: how it went, what was asked, what came of it."""
    told = of_run(run)
    files = run.media[:1]
    known = [*(fact for file in files for fact in measures(file)), *(_place(file.path) for file in files)]
    return joined(
        status_line(run),
        cut(told.lead, LONGEST_LEAD),
        told.seed,
        format_credits(run.credits, run.credits_source),
        *known,
    )


def _place(path: Path) -> str:
    """Where a file is, in short: its name is a hash, of which the first letters tell it from others."""
    name = path.name if len(path.name) <= 24 else f"{path.stem[:8]}…{path.suffix[:8]}"
    return f"{cut(path.parent.name, 24)}/{name}"


def status_line(run: Run) -> str:
    """Where a run stands, in one line."""
    fraction, stage = run.progress
    if run.status in ("failed", "cancelled", "unfinished"):
        return f"{MARKS[run.status]} {run.status}: {run.failure}"
    if run.status == "completed":
        mark, how = (MARKS["from library"], "from library") if run.from_library else (MARKS["completed"], "completed")
        return f"{mark} {how} · {duration(run.timings['total'])}"
    seconds = f"{run.timings['total']:.0f} s" if run.timings["total"] < 60 else duration(run.timings["total"])
    if run.status == "IN_QUEUE":
        return joined(f"{MARKS['IN_QUEUE']} {cut(stage, 80)}", seconds)
    # A service that tells no progress has not stopped at nought.
    return joined(f"{MARKS['IN_PROGRESS']} {cut(stage, 80)}", f"{fraction:.0%}" if fraction else "", seconds)


def attach_code(request_id: str, model: str) -> str:
    """The line that picks a run up again."""
    return f"rb.attach({request_id!r}, model={model!r})" if request_id else ""


def input_facts(request: Part) -> Facts:
    """What was asked and differs from the defaults; how many fields do not is said at the end."""
    changed = request.changed()
    rest = len(type(request).model_fields) - len(changed)
    facts = _some((name, text_of(value)) for name, value in changed.items())
    return (
        [*facts, ("other fields", f"{rest} with default values" if rest > 1 else "1 with its default value")]
        if rest
        else facts
    )


def output_facts(output: Output, *, beside: Any = None) -> Facts:
    """What the answer says beside its files; nothing that was asked in the same words."""
    pairs = [(name, value) for name, value in output if value not in (None, "", (), [], {}) and not _holds_files(value)]
    return _some(
        (name, text_of(value)) for name, value in pairs if value != getattr(beside, name, None) or name == "seed"
    )


def text_of(value: Any) -> str:
    """A value on one line, as a person would say it.

    >>> text_of([Size(1080, 1920), Size(1500, 500)]), text_of((Frame(url="https://example.org/a.png", frames=12),))
    ('1080x1920, 1500x500', 'https://example.org/a.png for 12 frames')
    """
    if isinstance(value, Image):
        value = value.label
    elif isinstance(value, Frame):
        value = f"{text_of(value.url)} for {value.frames:,} {'frame' if value.frames == 1 else 'frames'}"
    elif isinstance(value, tuple | list) and value and all(isinstance(one, str | Part | Size | Image) for one in value):
        # No more of them than can be shown: a list can be long.
        value = ", ".join(map(text_of, value[:LONGEST_VALUE]))
    # Cut first, because a value can be a whole picture as text.
    return cut(str(value)[: 4 * LONGEST_VALUE], LONGEST_VALUE)


def download_name(file: LocalFile) -> str:
    """A name to save a file under, without anything that a disk does not take."""
    facts = file.facts or {}
    seed, request = facts.get("seed"), str(facts.get("request_id") or "")
    parts = [str(facts.get("model") or "").rpartition("/")[2], "" if seed is None else f"seed-{seed}", request[:8]]
    plain = [re.sub(r"[^A-Za-z0-9.]+", "-", part).strip("-.")[:60] for part in (*parts, file.path.stem[:8])]
    return "_".join(part for part in plain if part) + re.sub(r"[^A-Za-z0-9.]", "", file.path.suffix)


def _run_facts(run: Run) -> Facts:
    timings = run.timings
    times = joined(*(f"{name} {duration(timings[name])}" for name in ("queued", "running", "total") if name in timings))
    paid = joined(
        _by(format_credits(run.credits, run.credits_source), run.credits_source),
        PAID_BEFORE if run.from_library else "",
    )
    known = [("credits", paid), ("time", times), ("marks", marks_line(run.media))]
    known += [("model", run.endpoint_id), ("request", run.request_id)]
    return [(name, cut(value, LONGEST_VALUE)) for name, value in known if value]


def _by(paid: str, source: Any) -> str:
    """Credits, and from where the figure is."""
    words = {"charged": "charged by the service", "estimated": "estimated; the service reports no charge"}
    return joined(paid, words.get(str(source), "")) if paid else ""


def _typed(model: str, values: Mapping[str, Any]) -> Input | None:
    from ..media.metadata.input_record import typed_input

    return typed_input(model, values)


def _some(facts: Iterable[tuple[str, str]]) -> Facts:
    """As many as a person reads; a stranger's answer may name thousands."""
    found = [(cut(name, 60), value) for name, value in facts]
    more = len(found) - MAX_FACTS
    return [*found[:MAX_FACTS], ("…", f"and {more:,} more")] if more > 0 else found


def _holds_files(value: Any) -> bool:
    if isinstance(value, File) or (isinstance(value, Mapping) and isinstance(value.get("url"), str)):
        return True
    if isinstance(value, Output):
        return any(_holds_files(inner) for _, inner in value)
    return isinstance(value, list | tuple) and any(map(_holds_files, value))
