"""The reasons that stop a sweep early."""

from __future__ import annotations

from ...errors import InsufficientCredits, LibraryError, NotFound, ReelbookError, Unauthorized

SAME_FOR_ALL = (Unauthorized, InsufficientCredits, NotFound, LibraryError)
"""Errors that would occur for every run: of the key, the credits, the model, the disk."""
MAX_LOST = 8
"""The sweep stops after this many consecutive lost answers, each of which may have cost its price."""


class Stopped(ReelbookError):
    """The user stopped the sweep, or closed its client; the argument states which, as a clause."""

    def sentence(self) -> str:
        return f"{self.args[0]}. Run the plan again to go on: nothing is paid for twice."
