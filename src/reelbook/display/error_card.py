"""Short tracebacks in a notebook: the message of a Reelbook error, then the lines of the user's code that led to it.

An error displayed again, by `%tb` for instance, has every frame.
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
from .formatting import WRAP_WIDTH, shorten, wrap

PACKAGE_FOLDER = str(Path(__file__).resolve().parents[1])
MAX_LINES, MAX_LINE_LENGTH = 3, WRAP_WIDTH - 4
BOLD_RED, BOLD, SOFT, PLAIN = "\x1b[1;31m", "\x1b[1m", "\x1b[2m", "\x1b[0m"
_SECRET = re.compile(
    r"""((?:key|token|secret|password)\w*["'\]]*\s*[=:,]\s*[rRbBuUfF]*)(["']).*?(?:\2|$)""", re.IGNORECASE
)

_shortened: weakref.WeakKeyDictionary[BaseException, int] = weakref.WeakKeyDictionary()
"""The errors displayed in short form, with the id of their traceback: an error that is raised again has a new one."""


def install(shell: Any) -> None:
    """Display Reelbook's errors in short form in this shell; other errors are unchanged."""

    def render(error: BaseException) -> list[str]:
        trace = id(error.__traceback__)
        # Another `%xmode` was chosen by the user, for more or less than the short form.
        if _shortened.get(error) == trace or shell.InteractiveTB.mode != "Context":
            structured = shell.InteractiveTB.structured_traceback
            *frames, message = structured(type(error), error, error.__traceback__, tb_offset=1)
            return [*frames, wrap(message)]
        _shortened[error] = trace
        return format_short_traceback(shell, error)

    # IPython calls a method of this name. It is set here because `errors` may not import display.
    for kind in (ReelbookError, Interrupted):
        kind._render_traceback_ = render  # type: ignore[union-attr]


def format_short_traceback(shell: Any, error: BaseException) -> list[str]:
    """The message, the last lines of the user's code, and how to see the rest."""
    is_plain = str(getattr(shell, "colors", "")).lower() == "nocolor"
    red, bold, soft, end = ("",) * 4 if is_plain else (BOLD_RED, BOLD, SOFT, PLAIN)
    # Wrapped without the colours, whose signs take no room.
    name, _, message = wrap(f"{type(error).__name__}: {error}").partition(":")
    lines = [f"{red}{name}{end}:{message}"]
    for place, code in list(find_own_lines(shell, error.__traceback__))[-MAX_LINES:]:
        lines += ["", f"{soft}{place}{end}"] if place else []
        lines += [f"    {bold}{code}{end}"] if code else []
    return [*lines, "", f"{soft}%tb shows the full traceback.{end}"]


def find_own_lines(shell: Any, trace: TracebackType | None) -> Iterator[tuple[str, str]]:
    """Location and source of the lines of the user's code that led to the error, the nearest last."""
    is_inside = False
    while trace is not None and not is_inside:
        frame, number = trace.tb_frame, trace.tb_lineno
        is_inside = frame.f_code.co_filename.startswith(PACKAGE_FOLDER)
        if not is_inside and not _is_machinery(frame):
            yield f"{_name(shell, frame)}, line {number}", _code(frame, number)
        trace = trace.tb_next


def _is_machinery(frame: FrameType) -> bool:
    """Whether a frame is of IPython or of the asynchronous machinery."""
    name = str(frame.f_globals.get("__name__", ""))
    return name.partition(".")[0] in ("IPython", "ipykernel", "asyncio", "concurrent", "threading")


def _name(shell: Any, frame: FrameType) -> str:
    file = frame.f_code.co_filename
    find = getattr(getattr(shell, "compile", None), "format_code_name", None)
    label = find(file) if find else None
    place = " ".join(label) if label else f"File {shorten(file, 200)}"
    function = frame.f_code.co_name
    return place if function == "<module>" else f"{place}, in {function}"


def _code(frame: FrameType, number: int) -> str:
    """The source line, with anything that resembles an API key masked."""
    text = linecache.getline(frame.f_code.co_filename, number, frame.f_globals)
    return printable(shorten(_SECRET.sub(r"\1\2…\2", text), MAX_LINE_LENGTH))
