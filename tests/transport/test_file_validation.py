"""Whether a file is whole: it opens, or somebody who knows its length says so."""

from __future__ import annotations

import io

import pytest

from reelbook.models.base import File
from reelbook.transport.file_validation import Damaged, Declared, validate
from tests.faults.bodies import every_kind

KINDS = every_kind()
OPEN = {"sound.wav"}
"""A sound does not show its own end."""


def kind_of(content: bytes, length: int | None = None) -> str:
    """The suffix under which a file is kept that came without a length, or with this one."""
    return validate(io.BytesIO(content), File(url="https://example.org/x"), Declared(length, "")).suffix


@pytest.mark.parametrize("name", KINDS)
def test_a_whole_file_is_called_what_it_is(name: str) -> None:
    """Every way of writing every kind opens; what does not show its end needs its length."""
    assert f".{name.rpartition('.')[2]}" == kind_of(KINDS[name], len(KINDS[name]))
    if name not in OPEN:
        kind_of(KINDS[name])


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_file_that_lost_its_end_is_refused(name: str, share: float) -> None:
    """Of no length, and of the whole one."""
    content = KINDS[name]
    cut = content[: int(len(content) * share)]

    for length in (None, len(content)):
        with pytest.raises(Damaged):
            kind_of(cut, length)
