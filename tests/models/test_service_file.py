"""Files that models make."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from reelbook.models.base import File


def test_only_the_address_of_a_file_is_certain() -> None:
    """Type, name and size may be null or left out, and are then unknown."""
    nothing = {"content_type": None, "file_name": None, "file_size": None}

    assert File.model_validate({"url": "a"}) == File.model_validate({"url": "a", **nothing}) == File(url="a", **nothing)
    with pytest.raises(ValidationError):
        File.model_validate({"file_name": "a.mp4"})


def test_a_file_keeps_what_the_service_adds() -> None:
    """Width, duration or whatever else comes with it."""
    file = File.model_validate({"url": "a", "file_size": 10, "duration": 2.5})

    assert file.model_dump() == {
        "url": "a",
        "content_type": None,
        "file_name": None,
        "file_size": 10,
        "duration": 2.5,
    }
