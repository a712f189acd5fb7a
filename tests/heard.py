"""A report of an engine that notes what it hears, and can cancel the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reelbook_service.engines.protocol import Report


@dataclass(frozen=True)
class Progress:
    """A step that was reported."""

    stage: str
    fraction: float


@dataclass(frozen=True)
class Log:
    """A line for the log of the run."""

    message: str
    level: str


class Heard(Report):
    """Notes all that an engine reports; the run is cancelled once `cancel_at` is true of an item of it."""

    def __init__(self, cancel_at: Callable[[Progress | Log], object] = lambda item: False) -> None:
        super().__init__(self._hear, lambda: self.is_cancelled)
        self._cancel_at, self.is_cancelled = cancel_at, False
        self.news: list[Progress | Log] = []

    @property
    def progress_news(self) -> list[Progress]:
        return [item for item in self.news if isinstance(item, Progress)]

    @property
    def lines(self) -> list[str]:
        return [item.message for item in self.news if isinstance(item, Log)]

    def _hear(self, message: dict[str, Any]) -> None:
        item = Log(message["log"], message["level"]) if "log" in message else Progress(**message)
        self.news.append(item)
        self.is_cancelled = self.is_cancelled or bool(self._cancel_at(item))
