"""An error of ours as a notebook shows it: the sentence, then the line of yours that it came from.

The first time it is shown so; asked again with `%tb`, it comes with every frame, as always.
"""

from __future__ import annotations

import linecache
import re
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from ..errors import Interrupted, ReelbookError
from ..util.printable import printable
from .formatting import cut

HOME = str(Path(__file__).resolve().parents[1])
MAX_LINES, LONGEST_LINE = 3, 160
BOLD_RED, BOLD, SOFT, PLAIN = "\x1b[1;31m", "\x1b[1m", "\x1b[2m", "\x1b[0m"
_SECRET = re.compile(
    r"""((?:key|token|secret|password)\w*["'\]]*\s*[=:,]\s*[rRbBuUfF]*)(["']).*?(?:\2|$)""", re.IGNORECASE
)

_shown: weakref.WeakKeyDictionary[BaseException, int] = weakref.WeakKeyDictionary()
"""The errors that have been shown in short, each with its traceback then: raised once more, it has another one."""


def hang(shell: Any) -> None:
    """Let a shell show our errors in short; nobody else's are touched."""

    def render(error: BaseException) -> list[str]:
        trace = id(error.__traceback__)
        # Who has chosen another `%xmode` wants to see more, or less, than we would show.
        if _shown.get(error) == trace or shell.InteractiveTB.mode != "Context":
            return full(shell, error)
        _shown[error] = trace
        return short(shell, error)

    # IPython asks for a method of this name. The error's own module is a lower floor and knows nothing of notebooks.
    for kind in (ReelbookError, Interrupted):
        kind._render_traceback_ = render  # type: ignore[union-attr]


def full(shell: Any, error: BaseException) -> list[str]:
    """Every frame, as IPython shows other errors."""
    return list(shell.InteractiveTB.structured_traceback(type(error), error, error.__traceback__, tb_offset=1))


def short(shell: Any, error: BaseException) -> list[str]:
    """The sentence, the person's own lines, and how to see the rest."""
    is_plain = str(getattr(shell, "colors", "")).lower() == "nocolor"
    red, bold, soft, end = ("",) * 4 if is_plain else (BOLD_RED, BOLD, SOFT, PLAIN)
    lines = [f"{red}{type(error).__name__}{end}: {error}"]
    for place, code in list(own_lines(shell, error.__traceback__))[-MAX_LINES:]:
        lines += ["", f"{soft}{place}{end}"] if place else []
        lines += [f"    {bold}{code}{end}"] if code else []
    return [*lines, "", f"{soft}%tb shows the full traceback.{end}"]


def own_lines(shell: Any, trace: TracebackType | None) -> Iterator[tuple[str, str]]:
    """Where and what: the lines of the person's own code that led to the error, the last one the nearest to it."""
    seen_home = False
    while trace is not None and not seen_home:
        frame, number = trace.tb_frame, trace.tb_lineno
        seen_home = _is_ours(frame)
        if not seen_home and not _is_machinery(frame):
            yield f"{_name(shell, frame)}, line {number}", _code(frame, number)
        trace = trace.tb_next


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(HOME)


def _is_machinery(frame: FrameType) -> bool:
    """Whether it is the shell that runs the cell, or a library on the way."""
    name = str(frame.f_globals.get("__name__", ""))
    return name.partition(".")[0] in ("IPython", "ipykernel", "asyncio", "concurrent", "threading")


def _name(shell: Any, frame: FrameType) -> str:
    file = frame.f_code.co_filename
    find = getattr(getattr(shell, "compile", None), "format_code_name", None)
    told = find(file) if find else None
    place = " ".join(told) if told else f"File {cut(file, 200)}"
    function = frame.f_code.co_name
    return place if function == "<module>" else f"{place}, in {function}"


def _code(frame: FrameType, number: int) -> str:
    """The line itself, without what looks like a key."""
    text = linecache.getline(frame.f_code.co_filename, number, frame.f_globals)
    return printable(cut(_SECRET.sub(r"\1\2…\2", text), LONGEST_LINE))
