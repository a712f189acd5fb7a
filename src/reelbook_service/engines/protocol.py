"""The interface of engines: they take an input and its pictures, report progress, and write files; and which engine is whose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from reelbook.models.base import Input
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.images_to_video import ImagesToVideo
from reelbook.models.smart_resize import SmartResize
from reelbook.models.text_to_video import TextToVideo

I_co = TypeVar("I_co", bound=Input, covariant=True)


class Cancelled(BaseException):
    """The run was cancelled; no ordinary error, so that it passes through the handlers of libraries."""


class Report:
    """What an engine says while it works. Each call raises `Cancelled` once the run is cancelled.

    An engine calls it at least every quarter of a second; one that does not is killed with its process when the run is
    cancelled.

    >>> said = []
    >>> report = Report(said.append)
    >>> report.progress("painting", 0.5), report.progress("encoding", 0.4)
    (None, None)
    >>> said[-1]
    {'stage': 'encoding', 'fraction': 0.5}
    """

    def __init__(
        self,
        emit: Callable[[dict[str, Any]], object] = lambda message: None,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        self._emit, self._is_cancelled, self._fraction = emit, is_cancelled, 0.0

    def progress(self, stage: str, fraction: float) -> None:
        """Report the current step as text, such as `painting 40 of 121`, and the completed share, which never decreases."""
        self.check()
        self._fraction = max(fraction, self._fraction)
        self._emit({"stage": stage, "fraction": self._fraction})

    def log(self, message: str, level: str = "INFO") -> None:
        """Add a line to the run's log."""
        self.check()
        self._emit({"log": message, "level": level})

    def check(self) -> None:
        """Raise `Cancelled` if the run was cancelled."""
        if self._is_cancelled():
            raise Cancelled


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A file written by an engine; in the run's output it becomes a File with an address."""

    path: Path
    content_type: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the File object, such as width and height."""


@dataclass(frozen=True, slots=True)
class EngineTask(Generic[I_co]):
    """Everything that an engine receives of a run."""

    input: I_co
    seed: int
    """The input's seed, or one drawn by the service; models without a seed may ignore it."""
    folder: Path
    """An empty folder for its output files."""
    sources: Mapping[str, bytes] = field(default_factory=dict)
    """The bytes of each source picture, by its address in the input."""
    may_be_unchecked: bool = False
    """Whether the account may turn the safety check off."""


class Engine(Protocol):
    """Generates media. Deterministic: the same input and seed give the same bytes.

    It returns the run's output, with an `OutputFile` wherever the output has a File.
    """

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def __call__(self, job: EngineTask[Any], report: Report) -> dict[str, Any]: ...


def engine_for(request: Input) -> Engine:
    """The engine of a model, imported lazily: each needs other libraries."""
    match request:
        case TextToVideo():
            from .sketch.engine import sketch

            return sketch
        case ImageToVideo():
            from .move.engine import move

            return move
        case SmartResize():
            from .recompose import recompose

            return recompose
        case ImagesToVideo():
            from .stitch import stitch

            return stitch
    raise LookupError(f"no engine makes {request.endpoint_id}")


class PictureError(Exception):
    """A source picture that cannot be used."""

    error_type = "image_load_error"

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(source, reason)
        self.source, self.reason = source, reason

    def __str__(self) -> str:
        name = self.source if len(self.source) <= 80 else self.source[:79] + "…"
        return f"The picture {name} could not be used: {self.reason}."
