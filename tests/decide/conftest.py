"""Libraries that are closed with the test."""

from __future__ import annotations

from tests.storage.conftest import made, make

__all__ = ["made", "make"]
