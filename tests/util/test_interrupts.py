"""Interrupts that come where Python would print and lose them."""

from __future__ import annotations

import functools
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from reelbook.util.interrupts import raise_once


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """No handler of an interrupt before, which drops those that follow closely."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, signal.default_int_handler)


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
    with raise_once(), pytest.raises(KeyboardInterrupt):
        interrupted()

    assert time.monotonic() - began < 30


INTERRUPTED_IMPORT = """\
import signal
try:
    raise ImportError("an optional part is not there")
except ImportError:
    signal.raise_signal(signal.SIGINT)
    done = True
"""


@pytest.mark.parametrize("depth", [1, 2])
def test_an_interrupt_during_an_import_is_raised_plainly_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, depth: int
) -> None:
    """Neither is half of a module left, nor a second exception shown that the import was handling; also one import within another."""
    inner, outer = f"interrupted_{depth}", f"outer_{depth}"
    (tmp_path / f"{inner}.py").write_text(INTERRUPTED_IMPORT)
    (tmp_path / f"{outer}.py").write_text(f"import {inner}\ndone = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    name = inner if depth == 1 else outer

    with pytest.raises(KeyboardInterrupt) as caught, raise_once():
        import_module(name)

    assert caught.value.__context__ is None
    assert sys.modules[name].done
    assert sys.modules[inner].done


def test_a_script_that_is_itself_imported_is_interrupted_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The import around a wait is as long as the wait."""
    (tmp_path / "a_script.py").write_text(
        "import signal\nfrom reelbook.util.interrupts import raise_once\n"
        "with raise_once():\n    signal.raise_signal(signal.SIGINT)\n    went_on = True\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(KeyboardInterrupt):
        import_module("a_script")


FIRST_USE = """\
import signal, sys
import reelbook as rb

class Interrupting:
    def find_spec(self, name, *more):
        if name == "reelbook.sweeps.plan.plan":
            sys.meta_path.remove(self)
            try:
                raise LookupError("something that an import handles")
            except LookupError:
                signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
try:
    rb.sweep
except KeyboardInterrupt as stop:
    print("interrupted", stop.__context__)
print(len(rb.sweep(rb.TextToVideo(prompt="a boat"), seed=range(3))))
"""


def test_an_interrupt_at_the_first_use_of_a_name_leaves_it_usable() -> None:
    """One plain interrupt, and the next use finds all."""
    done = subprocess.run([sys.executable, "-c", FIRST_USE], capture_output=True, text=True, timeout=60, check=False)

    assert (done.stdout, done.stderr) == ("interrupted None\n3\n", "")


# In C, so that the frame that is interrupted is the one that calls it.
_interrupted = functools.partial(signal.raise_signal, signal.SIGINT)
