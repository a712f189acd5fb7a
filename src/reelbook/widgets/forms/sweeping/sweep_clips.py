"""The completed runs of a form's sweep, labelled by their varied values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ....display.formatting import join_with_dots, shorten
from ....display.report.layout import format_named_value
from ....media.local_file import LocalFile
from ....models.base import File
from ....storage.run_status import RunStatus
from ....sweeps.results.table_files import find_paths
from ..running.run_history import file_json

if TYPE_CHECKING:
    from ....sweeps.execute.job import SweepJob

MAX_RUNS, MAX_LABEL_LENGTH = 120, 80


class CompletedRun(NamedTuple):
    """One completed run of a sweep."""

    key: str
    """The key with which the page requests its poster and its clip."""
    label: str
    files: tuple[LocalFile, ...]

    @property
    def as_json(self) -> Mapping[str, Any]:
        """The run for the page."""
        return {"key": self.key, "label": self.label, "file": file_json(self.files[0]), "count": len(self.files)}


def find_completed_runs(job: SweepJob, sweep: str) -> tuple[list[CompletedRun], int]:
    """The first completed runs in the order of the plan, also those from the library, and the number of all."""
    frame = job.frame
    made = frame[(frame["status"] == RunStatus.COMPLETED).to_numpy()]
    numbers = [number for number, status in enumerate(frame["status"]) if status == RunStatus.COMPLETED]
    found = [
        CompletedRun(
            f"sweep{sweep}-{number}", _label(job, number), tuple(LocalFile(Path(path), File(url="")) for path in paths)
        )
        for number, paths in zip(numbers[:MAX_RUNS], find_paths(made.head(MAX_RUNS)), strict=True)
        if paths
    ]
    return found, len(numbers)


def _label(job: SweepJob, number: int) -> str:
    """The varied values of a run as text."""
    values = job.plan.rows[number].values
    words = join_with_dots(*(format_named_value(name, value) for name, value in values.items() if value is not None))
    return shorten(words or f"run {number}", MAX_LABEL_LENGTH)
