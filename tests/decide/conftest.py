"""Libraries that are closed with the test, and clients of a service with an account of the test's own."""

from __future__ import annotations

from tests.storage.conftest import made, make
from tests.sweeps.conftest import client, served

__all__ = ["client", "made", "make", "served"]
