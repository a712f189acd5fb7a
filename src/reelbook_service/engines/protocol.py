"""The interface of engines: they take an input and its pictures, report progress, and write files."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from reelbook.models.base import Input

I_co = TypeVar("I_co", bound=Input, covariant=True)


@dataclass(frozen=True, slots=True)
class Progress:
    """A progress report."""

    stage: str
    """The current step as text: `painting 40 of 121`."""
    fraction: float
    """Completed share of the run, 0 to 1, never decreasing."""


@dataclass(frozen=True, slots=True)
class Log:
    """A line for the run's log."""

    message: str
    level: str = "INFO"


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A file written by an engine; in the run's output it becomes a File with an address."""

    path: Path
    content_type: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the File object, such as width and height."""


Work = Generator[Progress | Log, None, dict[str, Any]]
"""The steps of an engine.

It yields at least every quarter of a second: between two yields the run can be cancelled, which closes
the generator. Its return value is the run's output, with an `OutputFile` wherever the output has a File.
"""


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
    """Generates media. Deterministic: the same input and seed give the same bytes."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def __call__(self, job: EngineTask[Any]) -> Work: ...


class LoadingEngine(Engine, Protocol):
    """An engine whose models have to be loaded before their first run."""

    def load(self, endpoint_id: str) -> Work: ...

    def described(self, endpoint_id: str) -> str: ...


class PictureError(Exception):
    """A source picture that cannot be used; ends the run with `image_load_error`."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(source, reason)
        self.source, self.reason = source, reason

    def __str__(self) -> str:
        name = self.source if len(self.source) <= 80 else self.source[:79] + "…"
        return f"The picture {name} could not be used: {self.reason}."
