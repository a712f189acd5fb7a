"""What ends a sweep before its plan is done."""

from __future__ import annotations

from ...errors import InsufficientCredits, LibraryError, NotFound, ReelbookError, Unauthorized

SAME_FOR_ALL = (Unauthorized, InsufficientCredits, NotFound, LibraryError)
"""What goes wrong with one run goes wrong with every other one: the key, the money, the model, the disk."""
MAX_LOST = 8
"""So many lost answers in a row, and nothing more is paid for: each may have cost its price."""


class Stopped(ReelbookError):
    """A person has stopped the sweep: how, as one clause."""

    def sentence(self) -> str:
        return f"{self.args[0]}. Run the plan again to go on: nothing is paid for twice."
