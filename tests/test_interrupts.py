"""Interrupts that come where Python would print and lose them."""

from __future__ import annotations

import functools
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from reelbook.interrupts import raised_once

TIDYING = "def cb(interrupt):\n    interrupt()\n    return 'tidied up'\n"


def test_an_interrupt_while_an_import_tidies_up_is_raised_a_moment_later() -> None:
    """There an exception would be printed as a traceback, and the interrupt would be lost."""
    names: dict[str, Any] = {}
    exec(compile(TIDYING, "<frozen importlib._bootstrap>", "exec"), names)
    tidy: Callable[[Callable[[], None]], str] = names["cb"]

    def interrupted() -> None:
        assert tidy(_interrupted) == "tidied up"
        time.sleep(60)

    began = time.monotonic()
    with raised_once(), pytest.raises(KeyboardInterrupt):
        interrupted()

    assert time.monotonic() - began < 30


# In C, so that the frame that is interrupted is the one that calls it.
_interrupted = functools.partial(signal.raise_signal, signal.SIGINT)
