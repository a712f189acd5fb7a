"""Libraries that are closed with the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.storage.made import Made


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[[str], Made]]:
    """Makes libraries, each in a folder of its name."""
    all_made: list[Made] = []

    def one(name: str) -> Made:
        all_made.append(Made(tmp_path / name))
        return all_made[-1]

    yield one
    for made in all_made:
        made.close()


@pytest.fixture
def made(make: Callable[[str], Made]) -> Made:
    """One library."""
    return make("library")
