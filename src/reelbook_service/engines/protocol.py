"""The interface of engines: they take an input and its pictures, report progress, and write files; and which engine is whose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, cast

from reelbook.models.base import Input
from reelbook.util.data_address import DataAddressError, parse_data_address

from ..spec_decisions import MAX_DATA_URI_BYTES

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

    name: str
    version: str

    def __call__(self, job: EngineTask[Any], report: Report) -> dict[str, Any]: ...


ENGINES = {
    "TextToVideo": ".sketch.engine:sketch",
    "ImageToVideo": ".move.engine:move",
    "SmartResize": ".recompose:recompose",
    "ImagesToVideo": ".stitch:stitch",
}
"""The engine of each kind of input."""


def engine_for(request: Input) -> Engine:
    """The engine of a model, imported lazily: each needs other libraries."""
    module, _, name = ENGINES[type(request).__name__].partition(":")
    return cast(Engine, getattr(import_module(module, __package__), name))


class SourceError(Exception):
    """A source that could not be read."""

    error_type, words = "file_download_error", "The source {} could not be read: {}."

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(source, reason)
        self.source, self.reason = source, reason

    def __str__(self) -> str:
        name = self.source if len(self.source) <= 80 else self.source[:79] + "…"
        return self.words.format("".join(letter if letter.isprintable() else "�" for letter in name), self.reason)


class PictureError(SourceError):
    """A source picture that cannot be used."""

    error_type, words = "image_load_error", "The picture {} could not be used: {}."


def decode_data_uri(address: str) -> bytes:
    """The bytes of a `data:` URI.

    >>> decode_data_uri("data:text/plain;base64,aGk=")
    b'hi'
    """
    # Checked before decoding, so that a huge URI costs nothing: base64 makes 3 bytes of 4 characters.
    if (len(address) - address.find(",") - 1) // 4 * 3 > MAX_DATA_URI_BYTES:
        limit = f"{MAX_DATA_URI_BYTES // 1_000_000} MB"
        raise SourceError(address, f"it holds more than {limit}; upload it as a file instead")
    try:
        return parse_data_address(address)
    except DataAddressError as error:
        raise SourceError(address, f"it is a data: address {error}") from None
