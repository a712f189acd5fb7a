"""The runs that a form or a studio shows: those started there, and those of the library, each as JSON for its page.

Plain text and numbers, no markup.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
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
from ...display.run_text import format_marks
from ...errors import (
    InvalidInput,
    LibraryError,
    OverBudget,
    ReelbookError,
    ServiceError,
    UncertainRun,
    UnknownModel,
    Unreachable,
)
from ...media.local_file import LocalFile
from ...models.base import File, Input
from ...models.catalog import CATALOG
from ...models.smart_resize import Size
from ...storage.ledger.known_services import describe_maker
from ...storage.run_status import ENDED, RunStatus
from ...sweeps.table_files import IMAGES, VIDEO, find_column, find_paths
from ...util.missing_values import is_missing
from .draft import get_row_values
from .schema import get_sheet, get_title
from .words import format_problem, format_sentence, get_labels

if TYPE_CHECKING:
    import pandas as pd

    from ...runs.run import Run

CardJSON = dict[str, Any]

MAX_CAPTION_LENGTH, MAX_REASON_LENGTH, MAX_LINE_LENGTH, MAX_LINES = 400, 900, 1000, 500
MAX_FILES = 40
"""Files of one run on the page; the others are in `run.media`."""
STATUS_WORDS = {
    "IN_QUEUE": "waiting", "IN_PROGRESS": "running", "completed": "completed", "from library": "from library", "failed": "failed",
    "cancelled": "cancelled", "unfinished": "unfinished", "uncertain": "uncertain",
    "rejected": "failed", "expired": "failed", "planned": "planned", "waiting": "waiting", "running": "running",
}  # fmt: skip
"""The states of runs, here and in a library, as a page names them."""
SENDING = "being sent to the service"
CANCEL_REQUESTED, NOT_CANCELLED = "The service was asked to stop it.", "The service did not cancel it, so it continues."
TOO_LATE = "It had ended before it could be cancelled."
UNREADABLE = "This run cannot be shown here. It is in rb.library()."
IN_CAPTION = {"prompt", "seed", "num_frames", "frame_rate", "fps", "aspect_ratio", "resolution", "duration"}
"""Fields that the caption of a result covers."""
MAX_INPUT_LENGTH, MAX_INPUTS = 48, 6
NOT_OUTPUTS = ("credits", "credits_source", "queued_s", "running_s", "request_id", "model", "error_type", "error")
"""Columns of a library about a run that are neither its inputs nor its outputs."""
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

    @property
    def model(self) -> str:
        """The id of its model."""
        return self.value.endpoint_id

    @property
    def request_id(self) -> str:
        """The id that the service has given it; empty before that."""
        return self.run.request_id if self.run is not None else ""

    @property
    def seed(self) -> Any:
        """The seed that the service has used; None if there is none."""
        return getattr(getattr(self.run, "output", None), "seed", None)

    @cached_property
    def asked(self) -> list[str]:
        """The inputs that its caption does not cover."""
        return format_asked(type(self.value), self.value.changed())

    @cached_property
    def _final_json(self) -> CardJSON:
        """Its JSON once it is over, made once: an ended run does not change."""
        assert self.run is not None
        return _completed_json(self.run) if self.run.status == "completed" else _failed_json(self.run)

    def card(self) -> CardJSON:
        """It as JSON for the page."""
        state = make_state(self.key, self.status)
        if self.change is not None:
            state["change"] = self.change
        if self.is_sending:
            state["sending"] = True
        return {**state, **describe_or_fail(self._describe)}

    def _describe(self) -> CardJSON:
        common: CardJSON = {"lead": shorten(run_text.get_prompt(self.value), run_text.MAX_PROMPT_LENGTH)}
        # The state itself names a cancelled run.
        if self.cancel_message and self.status != "cancelled":
            common["said"] = shorten(self.cancel_message, MAX_REASON_LENGTH)
        if self.error is not None:
            return {**common, **_unsent_json(self.error, _labels(self.value))}
        if self.run is None:
            shapes = estimate_shapes(self.value)
            return {**common, "line": SENDING, "since": self.started_at, "shapes": shapes, "can": ["use"]}
        return {**common, **(self._final_json if self.is_over else _under_way_json(self, self.run))}

    def details(self) -> CardJSON:
        """Its inputs and outputs, its log, and the code that runs it again."""
        run, outputs, code = self.run, [], ""
        inputs = run_text.format_input_facts(self.value)
        if run is not None and run.status == "completed":
            known = run_text.describe_run(run)
            inputs, outputs, code = list(known.inputs), list(known.outputs), known.code
        elif run is not None and self.is_over:
            outputs = format_failure_facts(run)
        lines = [line[:MAX_LINE_LENGTH] for line in run.logs[-MAX_LINES:]] if run is not None else []
        code = code or format_run_code(self.value)
        return {"asked": inputs, "answered": outputs, "code": code, "log": "\n".join(lines)}


class LibraryRun:
    """A run of the library, from its row in a table of runs."""

    def __init__(self, key: str, row: Mapping[str, Any], files: Iterable[str], kind: type[Input] | None) -> None:
        self.key, self.model = key, str(row.get("model"))
        self.files = tuple(LocalFile(Path(path), File(url="")) for path in files)
        self._row = {name: value for name, value in row.items() if not is_missing(value)}
        self._kind = kind
        self.request_id = str(self._row.get("request_id") or "")
        self.label = ""
        """What it differs by from the other runs of its sweep."""
        self.seed = _parse_int(self._row.get("output_seed"))

    @property
    def made_by(self) -> str:
        """Who made it, for readers."""
        service = str(self._row.get("service") or "")
        return describe_maker(service, self.files[0].path.parent.parent if self.files else None) if service else ""

    @property
    def value(self) -> Input:
        """Its inputs; an error if the model is not known yet."""
        if self._kind is None:
            raise ReelbookError(f"Open the model {self.model} first: its fields are not known here yet.")
        found = get_row_values(self._row, self._kind)
        return found if isinstance(found, self._kind) else self._kind(**dict(found))

    @cached_property
    def asked(self) -> list[str]:
        """The inputs that its caption does not cover."""
        fields = {} if self._kind is None else self._kind.model_fields
        values = {name: self._row[name] for name in fields if name in self._row}
        changed = {name: value for name, value in values.items() if value != fields[name].default}
        return format_asked(self._kind, changed)

    def card(self) -> CardJSON:
        """It as JSON for the page."""
        return self._card

    @cached_property
    def _card(self) -> CardJSON:
        return {**make_state(self.key, str(self._row.get("status"))), **describe_or_fail(self._describe)}

    def _describe(self) -> CardJSON:
        row, status = self._row, str(self._row.get("status"))
        prompt = " ".join(str(row.get("prompt") or "").split())
        paid = format_credits(_parse_int(row.get("credits")), str(row.get("credits_source")), status)
        found = _describe_result(prompt, row.get("output_seed", row.get("seed")), self.files, paid, self.made_by)
        if error := str(row.get("error") or ""):
            found["error"] = shorten(error, MAX_REASON_LENGTH)
        if status == "completed" and not self.files:
            found["said"] = "Its files are not on this machine any more."
        created = row.get("created")
        line = f"{created:%Y-%m-%d %H:%M} UTC" if hasattr(created, "strftime") else ""
        return {**found, "line": line, "can": ["use", "code", "facts"]}

    def details(self) -> CardJSON:
        """Its inputs and outputs; if the model is not known here, as the library stores them."""
        row = self._row
        outputs = [(name, run_text.format_value(row[name])) for name in NOT_OUTPUTS if name in row]
        outputs += [("marks", format_marks(self.files))] if self.files else []
        outputs += [("made by", self.made_by)]
        try:
            inputs, code = run_text.format_input_facts(self.value), format_run_code(self.value, seed=self.seed)
        except ReelbookError as error:
            others = (name for name in row if name not in (*NOT_OUTPUTS, "marks") and not name.startswith("output_"))
            inputs = [(shorten(name, 60), run_text.format_value(row[name])) for name in others][: run_text.MAX_FACTS]
            code = f"# {shorten(error, MAX_REASON_LENGTH)}"
        return {"asked": inputs, "answered": outputs, "code": code, "log": ""}


ShownRun = PressedRun | LibraryRun


def list_library_runs(
    table: pd.DataFrame, prefix: str, kind_of: Callable[[str], type[Input] | None]
) -> list[LibraryRun]:
    """The runs in a table, in its order; their keys are its index after `prefix`."""
    has_files = find_column(table, VIDEO) is not None or find_column(table, IMAGES) is not None
    paths: Iterable[Iterable[str]] = find_paths(table) if has_files else ([] for _ in range(len(table)))
    rows: list[dict[Any, Any]] = table.to_dict("records")
    return [
        LibraryRun(
            f"{prefix}{number}",
            {str(name): value for name, value in row.items()},
            files,
            kind_of(str(row.get("model"))),
        )
        for number, row, files in zip(table.index, rows, paths, strict=True)
    ]


def short_model_name(model: str) -> str:
    """The short name of a model: the title of its form, if it is in the catalog.

    >>> short_model_name("svc/video-gen/v2.1/master/image-to-video"), short_model_name("lab/song-maker")
    ('Image to video', 'song-maker')
    """
    known = next((row.input for row in CATALOG if row.id == model), None)
    if known is not None:
        return get_title(known)
    return shorten(model.rstrip("/").rpartition("/")[2] or model, 60)


def make_state(key: str, status: str) -> CardJSON:
    """The state of a run, which every card has."""
    mark = STATE_SIGNS.get(status, STATE_SIGNS["running"])
    return {"key": key, "status": STATUS_WORDS.get(status, "running"), "mark": mark}


def describe_or_fail(describe: Callable[[], CardJSON]) -> CardJSON:
    """The rest of a card; of a run that cannot be described, a sentence."""
    try:
        return describe()
    # The texts come from untrusted services and files, and one broken run must not hide the others.
    except Exception:
        log.debug("a run could not be displayed", exc_info=True)
        return {"error": UNREADABLE, "can": ["use"]}


def format_asked(kind: type[Input] | None, values: Mapping[str, Any]) -> list[str]:
    """The inputs that a caption does not cover, as text; cards may differ by them."""
    labels = {} if kind is None else get_labels(get_sheet(kind))
    inputs = {name: one for name, one in values.items() if name not in IN_CAPTION and not isinstance(one, list | tuple)}
    return [
        shorten(f"{labels.get(name, name)}: {run_text.format_value(value)}", MAX_INPUT_LENGTH)
        for name, value in inputs.items()
    ][:MAX_INPUTS]


def _describe_result(prompt: str, seed: Any, files: Sequence[LocalFile], paid: str, made_by: str) -> CardJSON:
    """What a run has made, and how."""
    measured = run_text.format_media_facts(files[0]) if len(files) == 1 else [f"{len(files)} files"] if files else []
    seed_text = "" if seed is None else f"seed {shorten(seed, 40)}"
    facts = [fact for fact in (seed_text, *measured, paid, made_by) if fact]
    return {
        "lead": shorten(prompt, run_text.MAX_PROMPT_LENGTH),
        "facts": facts,
        "paid": paid,
        "whole": join_with_dots(shorten(prompt, MAX_CAPTION_LENGTH), *facts),
        "files": [file_json(file) for file in files[:MAX_FILES]],
    }


def _under_way_json(entry: PressedRun, run: Run) -> CardJSON:
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


def _completed_json(run: Run) -> CardJSON:
    """A completed run."""
    files, prompt = run.media, run_text.get_prompt(run.input)
    paid = format_credits(run.credits, run.credits_source, run.status)
    completed = {
        **_describe_result(prompt, getattr(run.output, "seed", None), files, paid, run.made_by),
        "line": join_with_dots(format_duration(run.timings["total"]), "nothing paid now" if run.from_library else ""),
        "lines": len(run.logs),
        "can": ["use", "code", "facts"],
    }
    if len(files) > MAX_FILES:
        completed["said"] = f"{len(files) - MAX_FILES} more files are in run.media."
    if expanded := dict(run_text.format_output_facts(run.output, beside=run.input)).get("prompt"):
        completed["expanded"] = expanded
    return completed


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


def _parse_int(value: Any) -> int | None:
    try:
        return None if is_missing(value) else int(value)
    except (TypeError, ValueError):
        return None
