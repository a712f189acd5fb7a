"""The JSON of a form's run for its page: plain text and numbers, no markup."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...display import run_text
from ...display.embedding import MIME_TYPES
from ...display.formatting import STATE_SIGNS, format_credits, format_duration, join_with_dots, shorten
from ...display.input_code import format_run_code
from ...display.run_card import (
    find_blamed_fields,
    format_error_type,
    format_failure_facts,
    format_next_step,
    format_reason,
)
from ...errors import (
    InvalidInput,
    LibraryError,
    OverBudget,
    ServiceError,
    UncertainRun,
    UnknownModel,
    Unreachable,
)
from ...models.base import Input
from ...models.smart_resize import Size
from ...storage.run_status import ENDED, RunStatus
from .schema import get_sheet
from .words import format_problem, format_sentence, get_labels

if TYPE_CHECKING:
    from ...media.local_file import LocalFile
    from ...runs.run import Run

MAX_CAPTION_LENGTH, MAX_REASON_LENGTH, MAX_LINE_LENGTH, MAX_LINES = 400, 900, 1000, 500
MAX_FILES = 40
"""Files of one run on the page; the others are in `run.media`."""
STATUS_WORDS = {
    "IN_QUEUE": "waiting", "IN_PROGRESS": "running", "completed": "completed", "from library": "from library", "failed": "failed",
    "cancelled": "cancelled", "unfinished": "unfinished", "uncertain": "uncertain",
}  # fmt: skip
SENDING = "being sent to the service"
CANCEL_REQUESTED, NOT_CANCELLED = "The service was asked to stop it.", "The service did not cancel it, so it continues."
TOO_LATE = "It had ended before it could be cancelled."
UNSENT = (InvalidInput, LibraryError, OverBudget, UnknownModel, Unreachable)
"""Errors raised before anything is sent."""

log = logging.getLogger("reelbook")


@dataclass(eq=False)
class PressedRun:
    """One press of Run, and its outcome."""

    key: str
    value: Input
    started_at: float = field(default_factory=time.time)
    """When Run was pressed, by the clock of this machine."""
    run: Run | None = None
    paid_run: Run | None = None
    """The same request as it was paid for here earlier, where it was found in the library now."""
    error: Exception | None = None
    """Why there is no run."""
    is_cancelling: bool = False
    cancel_message: str = ""
    """The outcome of a cancellation request."""
    change: int | None = None
    """The number of the form's last change when Run was pressed."""

    ended_at: float | None = None
    """When its end was first noticed, by the monotonic clock."""

    def note_end(self) -> None:
        """Record when it ended, once it has."""
        if self.ended_at is None and self.is_over:
            self.ended_at = time.monotonic()

    def cancel(self) -> None:
        """Ask the service to cancel the run, wait for its answer, and record the outcome."""
        assert self.run is not None
        try:
            is_accepted = self.run.cancel()
            message = CANCEL_REQUESTED if is_accepted else TOO_LATE if self.is_over else NOT_CANCELLED
        except Exception as error:
            is_accepted, message = False, str(error)
        self.cancel_message, self.is_cancelling = message, is_accepted

    @property
    def can_cancel(self) -> bool:
        """Whether it can be cancelled, and is not being cancelled already."""
        return self.run is not None and not self.is_over and not self.is_cancelling

    @property
    def is_completed(self) -> bool:
        """Whether it has its result."""
        return self.run is not None and self.run.status == "completed"

    @property
    def is_sending(self) -> bool:
        """Whether it is being sent, and the service has not answered yet."""
        return self.run is None and self.error is None

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.error is not None or (self.run is not None and self.run.status in ENDED)

    @property
    def files(self) -> tuple[LocalFile, ...]:
        """Its files, once it is completed."""
        return self.run.media if self.run is not None and self.run.status == "completed" else ()

    @property
    def progress_key(self) -> tuple[tuple[Any, ...], float, int]:
        """A key that changes when its display would: state, fraction, and lines of the log. The page counts the time."""
        state = self.key, self.status, self.is_cancelling, self.cancel_message
        if self.run is None or self.is_over:
            return state, 1.0, 0
        fraction, stage = self.run.progress
        return (*state, stage), fraction, len(self.run.logs)

    @property
    def status(self) -> str:
        """Its state, as a key of `STATUS_WORDS`."""
        if self.run is None:
            uncertain = isinstance(self.error, UncertainRun)
            return "uncertain" if uncertain else "failed" if self.error else "IN_QUEUE"
        return "from library" if self.run.from_library and self.run.status == "completed" else self.run.status

    @cached_property
    def final_json(self) -> dict[str, Any]:
        """Its JSON once it is over, made once: an ended run does not change."""
        assert self.run is not None
        return _completed_json(self.run) if self.run.status == "completed" else _failed_json(self.run)


def entry_json(entry: PressedRun) -> dict[str, Any]:
    """An entry as JSON for the page; one that cannot be described still has its state."""
    try:
        return _entry_json(entry)
    # The texts come from untrusted services and files, and one broken run must not hide the others.
    except Exception:
        log.debug("a run could not be displayed", exc_info=True)
        return {**_state_json(entry), "error": "This run cannot be shown here. It is in rb.library().", "can": ["use"]}


def _entry_json(entry: PressedRun) -> dict[str, Any]:
    common = {**_state_json(entry), "lead": shorten(run_text.get_prompt(entry.value), run_text.MAX_PROMPT_LENGTH)}
    # The state itself names a cancelled run.
    if entry.cancel_message and entry.status != "cancelled":
        common["said"] = shorten(entry.cancel_message, MAX_REASON_LENGTH)
    if entry.error is not None:
        return {**common, **_unsent_json(entry.error, _labels(entry.value))}
    if entry.run is None:
        return {
            **common,
            "line": SENDING,
            "since": entry.started_at,
            "shapes": estimate_shapes(entry.value),
            "can": ["use"],
        }
    if entry.is_over:
        return {**common, **entry.final_json}
    return {**common, **_under_way_json(entry, entry.run)}


def _state_json(entry: PressedRun) -> dict[str, Any]:
    status = entry.status
    state: dict[str, Any] = {
        "key": entry.key,
        "status": STATUS_WORDS.get(status, "running"),
        "mark": STATE_SIGNS.get(status, STATE_SIGNS["running"]),
    }
    if entry.change is not None:
        state["change"] = entry.change
    return {**state, "sending": True} if entry.is_sending else state


def _under_way_json(entry: PressedRun, run: Run) -> dict[str, Any]:
    """A run in progress."""
    fraction, stage = run.progress
    logs = run.logs
    paid = format_credits(run.credits, run.credits_source, run.status)
    line = join_with_dots(shorten(stage, 80), f"{fraction:.0%}" if fraction else "")
    return {
        "line": "being cancelled" if entry.is_cancelling else line,
        "fraction": round(fraction, 3),
        "since": entry.started_at,
        "log": shorten(logs[-1], 200) if logs else "",
        "lines": len(logs),
        "facts": [paid] if paid else [],
        "paid": paid,
        "shapes": estimate_shapes(entry.value),
        "can": [*([] if entry.is_cancelling else ["cancel"]), "use", "facts"],
    }


def _unsent_json(error: Exception, labels: Mapping[str, str]) -> dict[str, Any]:
    """A run that was not sent, or is uncertain."""
    words = format_sentence(str(error), labels) or f"Something unexpected happened ({type(error).__name__})."
    if isinstance(error, InvalidInput):
        words = " ".join(format_problem(problem, labels) for problem in error.problems)
    line = "not accepted" if isinstance(error, ServiceError) else "not sent" if isinstance(error, UNSENT) else ""
    if isinstance(error, UncertainRun):
        line = join_with_dots("may have been paid", format_credits(error.credits, "estimated", RunStatus.UNCERTAIN))
        if "rb.library().uncertain" not in words:
            words = f"{words} See rb.library().uncertain."
    return {"line": line, "error": words[: 2 * MAX_REASON_LENGTH], "can": ["use", "code"]}


def _completed_json(run: Run) -> dict[str, Any]:
    """A completed run."""
    files, seed = run.media, getattr(run.output, "seed", None)
    paid = format_credits(run.credits, run.credits_source, run.status)
    measured = run_text.format_media_facts(files[0]) if len(files) == 1 else [f"{len(files)} files"]
    seed_text = "" if seed is None else f"seed {shorten(seed, 40)}"
    facts = [fact for fact in (seed_text, *measured, paid, run.made_by) if fact]
    output_facts = dict(run_text.format_output_facts(run.output, beside=run.input))
    completed = {
        "line": join_with_dots(format_duration(run.timings["total"]), "nothing paid now" if run.from_library else ""),
        "lines": len(run.logs),
        "facts": facts,
        "seed": seed_text,
        "paid": paid,
        "whole": join_with_dots(shorten(run_text.get_prompt(run.input), MAX_CAPTION_LENGTH), *facts),
        "files": [file_json(file) for file in files[:MAX_FILES]],
        "can": ["use", "code", "facts"],
    }
    if len(files) > MAX_FILES:
        completed["said"] = f"{len(files) - MAX_FILES} more files are in run.media."
    expanded = output_facts.get("prompt")
    return {**completed, "expanded": expanded} if expanded else completed


def _failed_json(run: Run) -> dict[str, Any]:
    """A run without a result: the reason, the invalid values, the cost, and the next step."""
    advice, code = format_next_step(run)
    labels = _labels(run.input)
    paid = "not charged" if run.credits == 0 else format_credits(run.credits, run.credits_source, run.status)
    cancelled = run.status == "cancelled"
    return {
        "line": join_with_dots(format_error_type(run), format_duration(run.timings["total"])),
        "lines": len(run.logs),
        "facts": [paid] if paid else [],
        "paid": paid,
        "error": "" if cancelled else shorten(format_sentence(format_reason(run), labels), MAX_REASON_LENGTH),
        "blamed": [
            [format_sentence(f"`{name}`", labels), shorten(value, 120)] for name, value in find_blamed_fields(run)
        ],
        "advice": "" if cancelled else format_sentence(advice, labels).rstrip(":. ") + ".",
        # Only a paid run that goes on at the service needs its code at once.
        "code": code if run.status in ("unfinished", "uncertain") else "",
        "can": ["use", "code", "facts"],
    }


def file_json(file: LocalFile) -> dict[str, Any]:
    """A file as JSON for the page, so that its place is reserved before it is sent."""
    kind = MIME_TYPES.get(file.path.suffix.lower(), "")
    name = file.make_name()
    try:
        probe, count = file.probe, file.path.stat().st_size
    except Exception as error:  # Any decoder error is a fault of the file.
        return {"kind": kind, "name": name, "width": 320, "height": 180, "words": shorten(error, MAX_REASON_LENGTH)}
    size = {"width": probe.width, "height": probe.height, "bytes": count, "frames": probe.frames}
    rate = {"rate": float(probe.rate)} if probe.rate else {}
    return {"kind": kind, "name": name, **size, **rate, "caption": join_with_dots(*run_text.format_media_facts(file))}


def details_json(entry: PressedRun) -> dict[str, Any]:
    """The inputs and outputs of a run, its log, and the code that runs it again."""
    run, outputs, code = entry.run, [], ""
    inputs = run_text.format_input_facts(entry.value)
    if run is not None and run.status == "completed":
        known = run_text.describe_run(run)
        inputs, outputs, code = list(known.inputs), list(known.outputs), known.code
    elif run is not None and entry.is_over:
        outputs = format_failure_facts(run)
    lines = [line[:MAX_LINE_LENGTH] for line in run.logs[-MAX_LINES:]] if run is not None else []
    code = code or format_run_code(entry.value)
    return {"asked": inputs, "answered": outputs, "code": code, "log": "\n".join(lines)}


def estimate_shapes(value: Input) -> list[list[int]]:
    """The estimated shapes of the files of an input, to reserve their places; empty if unknown.

    >>> from reelbook.models.smart_resize import SmartResize
    >>> from reelbook.models.text_to_video import TextToVideo
    >>> estimate_shapes(TextToVideo(prompt="a boat", aspect_ratio="9:16"))
    [[9000, 16000]]
    >>> estimate_shapes(SmartResize(image_url="https://example.org/a.png", target_sizes=[(64, 32), (20, 40)]))
    [[64, 32], [20, 40]]
    """
    sizes = getattr(value, "target_sizes", None)
    if isinstance(sizes, tuple) and all(isinstance(size, Size) for size in sizes):
        each = getattr(value, "num_images_per_size", 1)
        return [[size.width, size.height] for size in sizes for _ in range(each)][:MAX_FILES]
    aspect_ratio = getattr(value, "aspect_ratio", None)
    sides = aspect_ratio.split(":") if isinstance(aspect_ratio, str) else []
    if len(sides) != 2 or not all(side.isdecimal() and 0 < len(side) < 4 and int(side) > 0 for side in sides):
        return []
    # Only the ratio matters: the model chooses the pixels.
    width, height = (1000 * int(side) for side in sides)
    return [[width, height]] if 0.2 < width / height < 5 else []


def is_same_request(one: Run | None, run: Run) -> bool:
    """Whether two runs are the same request: the library returns a new `Run` for a stored one."""
    return one is run or (
        one is not None
        and bool(run.request_id)
        and (one.request_id, one.endpoint_id) == (run.request_id, run.endpoint_id)
    )


def find_newest_entries(entries: Sequence[PressedRun], count: int) -> list[PressedRun]:
    """The entries for the page, the newest first: the latest ones, and all in progress."""
    active = [entry for entry in entries if not entry.is_over]
    ended = [entry for entry in entries if entry.is_over]
    room = max(count - len(active), 0)
    remaining = {id(entry) for entry in [*active, *(ended[-room:] if room else [])]}
    return [entry for entry in reversed(entries) if id(entry) in remaining]


def _labels(value: Any) -> dict[str, str]:
    """The labels of the fields of an input."""
    return get_labels(get_sheet(type(value))) if isinstance(value, Input) else {}
