"""One run of a form as its page gets it: plain words and numbers, of which nothing is markup."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ....display import run_text
from ....display.embedding import KINDS
from ....display.formatting import MARKS, cut, duration, format_credits, joined
from ....display.input_code import run_code
from ....display.run_card import blamed, failure_facts, kind_in_words, next_step
from ....display.run_progress import OVER
from ....errors import (
    InvalidInput,
    LibraryError,
    OverBudget,
    RunFailed,
    ServiceError,
    UncertainRun,
    UnknownModel,
    Unreachable,
)
from ....models.base import Input
from ....models.smart_resize import Size
from ..fields.field_tree import sheet_of
from ..page_messages import labels_in, plainly, problem_told

if TYPE_CHECKING:
    from ....media.local_file import LocalFile
    from ....runs.run import Run

LONGEST_WHOLE, LONGEST_REASON, LONGEST_LINE = 400, 900, 200
MAX_FILES = 40
"""Files of one run that the page shows; the others are in `run.media`."""
WORDS = {
    "IN_QUEUE": "waiting", "IN_PROGRESS": "running", "completed": "completed", "from library": "from library", "failed": "failed",
    "cancelled": "cancelled", "unfinished": "unfinished", "uncertain": "uncertain",
}  # fmt: skip
SENDING = "being sent to the service"
UNSENT = (InvalidInput, LibraryError, OverBudget, UnknownModel, Unreachable)
"""What goes wrong before anything has left this machine."""

log = logging.getLogger("reelbook")


@dataclass(eq=False)
class Entry:
    """One click on Run, and what became of it."""

    key: str
    value: Input
    since: float = field(default_factory=time.time)
    """When it was asked for, by the clock of this machine."""
    run: Run | None = None
    error: Exception | None = None
    """Why there is no run."""
    is_cancelling: bool = False
    said: str = ""
    """What the service answered when it was asked to cancel."""
    change: int | None = None
    """The number of the form's last change when it was asked for."""

    ended_at: float | None = None
    """When its end was first noticed, by the monotonic clock."""

    def notice(self) -> None:
        """Remember when it ended, once it has."""
        if self.ended_at is None and self.is_over:
            self.ended_at = time.monotonic()

    @property
    def is_completed(self) -> bool:
        """Whether it has its result."""
        return self.run is not None and self.run.status == "completed"

    @property
    def is_sending(self) -> bool:
        """Whether the service does not have it yet, as far as is known here."""
        return self.run is None and self.error is None

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.error is not None or (self.run is not None and self.run.status in OVER)

    @property
    def files(self) -> tuple[LocalFile, ...]:
        """What it made, once it is here."""
        return self.run.media if self.run is not None and self.run.status == "completed" else ()

    @property
    def news(self) -> tuple[tuple[Any, ...], float, int]:
        """What its page would show, in short: its state, how far it is, and lines of its log. Time passes there by itself."""
        state = self.key, self.status, self.is_cancelling, self.said
        if self.run is None or self.is_over:
            return state, 1.0, 0
        fraction, stage = self.run.progress
        return (*state, stage), fraction, len(self.run.logs)

    @property
    def status(self) -> str:
        """Its state, as one of those that have a word and a mark."""
        if self.run is None:
            uncertain = isinstance(self.error, UncertainRun)
            return "uncertain" if uncertain else "failed" if self.error else "IN_QUEUE"
        return "from library" if self.run.from_library and self.run.status == "completed" else self.run.status

    @cached_property
    def outcome(self) -> dict[str, Any]:
        """What is to be said once it is over. Looked at once: a run that is over stays as it is."""
        assert self.run is not None
        return _finished(self.run) if self.run.status == "completed" else _broken(self.run)


def shown(entry: Entry) -> dict[str, Any]:
    """An entry as the page gets it; one that cannot be put into words still has its state."""
    try:
        return _shown(entry)
    # The words come from services and files of all kinds, and one odd run must not hide the others.
    except Exception:
        log.debug("a run could not be shown", exc_info=True)
        return {**_state(entry), "error": "This run cannot be shown here. It is in rb.library().", "can": ["use"]}


def _shown(entry: Entry) -> dict[str, Any]:
    common = {**_state(entry), "lead": cut(_lead(entry.value), run_text.LONGEST_LEAD)}
    # That a run was cancelled is said by its state.
    if entry.said and entry.status != "cancelled":
        common["said"] = cut(entry.said, LONGEST_REASON)
    if entry.error is not None:
        return {**common, **_unsent(entry.error, _labels(entry.value))}
    if entry.run is None:
        return {**common, "line": SENDING, "since": entry.since, "shapes": shapes_of(entry.value), "can": ["use"]}
    if entry.is_over:
        return {**common, **entry.outcome}
    return {**common, **_going(entry, entry.run)}


def _state(entry: Entry) -> dict[str, Any]:
    status = entry.status
    state: dict[str, Any] = {
        "key": entry.key,
        "status": WORDS.get(status, "running"),
        "mark": MARKS.get(status, MARKS["running"]),
    }
    if entry.change is not None:
        state["change"] = entry.change
    return {**state, "sending": True} if entry.is_sending else state


def _going(entry: Entry, run: Run) -> dict[str, Any]:
    """A run that is under way."""
    fraction, stage = run.progress
    logs = run.logs
    line = joined(cut(stage, 80), f"{fraction:.0%}" if fraction else "")
    return {
        "line": "being cancelled" if entry.is_cancelling else line,
        "fraction": round(fraction, 3),
        "since": entry.since,
        "log": cut(logs[-1], LONGEST_LINE) if logs else "",
        "lines": len(logs),
        "facts": [format_credits(run.credits, run.credits_source)] if run.credits is not None else [],
        "shapes": shapes_of(entry.value),
        "can": [*([] if entry.is_cancelling else ["cancel"]), "log", "use"],
    }


def _unsent(error: Exception, labels: Mapping[str, str]) -> dict[str, Any]:
    """A run that there is not, or of which nobody knows."""
    words = plainly(str(error), labels) or f"Something unexpected happened ({type(error).__name__})."
    if isinstance(error, InvalidInput):
        words = " ".join(problem_told(problem, labels) for problem in error.problems)
    line = "not accepted" if isinstance(error, ServiceError) else "not sent" if isinstance(error, UNSENT) else ""
    if isinstance(error, UncertainRun):
        line = joined("may have been paid", format_credits(error.credits, "estimated"))
        if "rb.library().uncertain" not in words:
            words = f"{words} See rb.library().uncertain."
    return {"line": line, "error": words[: 2 * LONGEST_REASON], "can": ["use", "code"]}


def _finished(run: Run) -> dict[str, Any]:
    """A run with its files."""
    files, seed = run.media, getattr(run.output, "seed", None)
    paid = format_credits(run.credits, run.credits_source)
    measured = run_text.measures(files[0]) if len(files) == 1 else [f"{len(files)} files"]
    facts = [fact for fact in ("" if seed is None else f"seed {cut(seed, 40)}", *measured, paid) if fact]
    answered = dict(run_text.output_facts(run.output, beside=run.input))
    said = {
        "line": joined(duration(run.timings["total"]), "nothing paid now" if run.from_library else ""),
        "lines": len(run.logs),
        "facts": facts,
        "whole": joined(cut(run_text.lead(run), LONGEST_WHOLE), *facts),
        "files": [file_shown(file) for file in files[:MAX_FILES]],
        "can": [*(["log"] if run.logs else []), "use", "code", "facts"],
    }
    if len(files) > MAX_FILES:
        said["said"] = f"{len(files) - MAX_FILES} more files are in run.media."
    expanded = answered.get("prompt")
    return {**said, "expanded": expanded} if expanded else said


def _broken(run: Run) -> dict[str, Any]:
    """A run without a result: why, which value was at fault, what it cost, and what to do next."""
    reason = run.failure.message if isinstance(run.failure, RunFailed) else str(run.failure or "")
    advice, code = next_step(run)
    labels = _labels(run.input)
    paid = "not charged" if run.credits == 0 else format_credits(run.credits, run.credits_source)
    cancelled = run.status == "cancelled"
    return {
        "line": joined(kind_in_words(run), duration(run.timings["total"])),
        "lines": len(run.logs),
        "facts": [paid] if paid else [],
        "error": "" if cancelled else cut(plainly(reason, labels), LONGEST_REASON),
        "blamed": [[plainly(f"`{name}`", labels), cut(value, 120)] for name, value in blamed(run)],
        "advice": "" if cancelled else plainly(advice, labels).rstrip(":. ") + ".",
        # Only a run that is paid for and goes on elsewhere needs its code at once.
        "code": code if run.status == "unfinished" else "",
        "can": [*(["log"] if run.logs else []), "use", "code", "facts"],
    }


def file_shown(file: LocalFile) -> dict[str, Any]:
    """What the page must know of a file before it has any of it: above all its shape."""
    kind = KINDS.get(file.path.suffix.lower(), "")
    name = run_text.download_name(file)
    try:
        probe, count = file.probe, file.path.stat().st_size
    except Exception as error:  # Whatever a decoder stumbles over, it is the file.
        return {"kind": kind, "name": name, "width": 320, "height": 180, "words": cut(error, LONGEST_REASON)}
    size = {"width": probe.width, "height": probe.height, "bytes": count, "frames": probe.frames}
    rate = {"rate": float(probe.rate)} if probe.rate else {}
    return {"kind": kind, "name": name, **size, **rate, "caption": joined(*run_text.measures(file))}


def details(entry: Entry) -> dict[str, Any]:
    """What was asked and answered, and the code that asks for it again."""
    run = entry.run
    if run is None or not entry.is_over:
        return {"asked": run_text.input_facts(entry.value), "answered": [], "code": run_code(entry.value)}
    if run.status != "completed":
        return {
            "asked": run_text.input_facts(entry.value),
            "answered": failure_facts(run),
            "code": run_code(entry.value),
        }
    known = run_text.of_run(run)
    return {"asked": list(known.asked), "answered": list(known.answered), "code": known.code or run_code(entry.value)}


def shapes_of(value: Input) -> list[list[int]]:
    """About the shapes of what will come of an input, so that its place is there before it is; empty where nobody knows.

    >>> from reelbook.models.smart_resize import SmartResize
    >>> from reelbook.models.text_to_video import TextToVideo
    >>> shapes_of(TextToVideo(prompt="a boat", aspect_ratio="9:16"))
    [[9000, 16000]]
    >>> shapes_of(SmartResize(image_url="https://example.org/a.png", target_sizes=[(64, 32), (20, 40)]))
    [[64, 32], [20, 40]]
    """
    sizes = getattr(value, "target_sizes", None)
    if isinstance(sizes, tuple) and all(isinstance(size, Size) for size in sizes):
        each = getattr(value, "num_images_per_size", 1)
        return [[size.width, size.height] for size in sizes for _ in range(each)][:MAX_FILES]
    asked = getattr(value, "aspect_ratio", None)
    sides = asked.split(":") if isinstance(asked, str) else []
    if len(sides) != 2 or not all(side.isdecimal() and 0 < len(side) < 4 and int(side) > 0 for side in sides):
        return []
    # As large as there is room for: how many pixels it will have is the model's affair.
    width, height = (1000 * int(side) for side in sides)
    return [[width, height]] if 0.2 < width / height < 5 else []


def is_same(one: Run | None, run: Run) -> bool:
    """Whether two are about the same request: the library answers with a new `Run` for a stored one."""
    return one is run or (
        one is not None
        and bool(run.request_id)
        and (one.request_id, one.endpoint_id) == (run.request_id, run.endpoint_id)
    )


def kept(entries: Sequence[Entry], most: int) -> list[Entry]:
    """Those that stay on the page, the newest first: the latest ones, and whatever is still under way."""
    going = [entry for entry in entries if not entry.is_over]
    over = [entry for entry in entries if entry.is_over]
    room = max(most - len(going), 0)
    stays = {id(entry) for entry in [*going, *(over[-room:] if room else [])]}
    return [entry for entry in reversed(entries) if id(entry) in stays]


def _labels(value: Any) -> dict[str, str]:
    """What the fields of an input are called on the page."""
    return labels_in(sheet_of(type(value))) if isinstance(value, Input) else {}


def _lead(value: Input) -> str:
    return " ".join(str(getattr(value, "prompt", "") or "").split())
