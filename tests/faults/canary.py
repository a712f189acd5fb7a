"""A key that is easily found again: in every spelling, in files, texts, values, pickles and tracebacks.

canary = Canary()
assert canary.found_in("key=" + quote(canary.key)) == ["quoted"]
assert canary.found_below(tmp_path) == {}
"""

from __future__ import annotations

import base64
import copy
import dataclasses
import html
import json
import pickle
import traceback
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote, quote_plus

import reelbook

HOUSE = str(Path(reelbook.__file__).parent)
COPIED = ("reelbook", "tests", "builtins", "collections", "types", "pathlib", "pydantic")
LOOKED_INTO = (*COPIED, "httpx", "httpcore", "h11", "asyncio", "_asyncio", "pandas")
"""The packages whose values are looked into, and copied. Others could lead to the test itself, which has the key; and the
copy of an event loop would close what is open in the first."""
PART = 12
"""So many letters from the beginning or the end are found too, for texts that were cut."""


class Canary:
    """The key, and the eyes for it."""

    # Letters that each spelling changes, so that none is found in another's place.
    key = "rb-canary_7Zq>>/=&%~wT4x9??Kd>?>~~"

    def __init__(self) -> None:
        self.spellings = spellings(self.key)
        self._forms = {name: tuple(form.encode() for form in forms) for name, forms in self.spellings.items()}

    def found_in(self, content: str | bytes) -> list[str]:
        """The spellings in which the key stands in this."""
        content = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        texts = (content, content.replace(b"\0", b"")) if b"\0" in content else (content,)
        return [name for name, forms in self._forms.items() if any(form in text for form in forms for text in texts)]

    def found_below(self, folder: Path, *, except_in: Collection[Path] = ()) -> dict[str, list[str]]:
        """The files, by their names in this folder, that have the key in them or in their names."""
        found = {}
        for path in sorted(folder.rglob("*")):
            name = str(path.relative_to(folder))
            content = path.read_bytes() if path.is_file() and path not in except_in else b""
            if hits := self.found_in(name) + self.found_in(content):
                found[name] = hits
        return found

    def found_about(self, *values: Any) -> list[str]:
        """Where the key stands in what can be seen of these values and of all that they hold."""
        return [place for place, text in shown(values) if self.found_in(text)]

    def found_in_error(self, error: BaseException, *, verbosely: bool = True) -> list[str]:
        """Where the key stands in an error: its words, its values, and tracebacks as people see them."""
        tracebacks = {"traceback": "".join(traceback.format_exception(error))}
        if verbosely:
            tracebacks["verbose"] = verbose(error)
        return self.found_about(error) + [name for name, text in tracebacks.items() if self.found_in(text)]


def spellings(key: str) -> dict[str, tuple[str, ...]]:
    """The key as it can come to stand somewhere, by the name of the spelling."""
    quoted = quote(key, safe="")
    return {
        "plain": (key,),
        "begun": (key[:PART],),
        "ended": (key[-PART:],),
        "base64": tuple(_in_base64(key)),
        "base64url": tuple(text.translate(str.maketrans("+/", "-_")) for text in _in_base64(key)),
        "quoted": (quoted, quoted.lower(), quote_plus(key), quote(key)),
        "reversed": (key[::-1], quoted[::-1], quote(key[::-1], safe="")),
        "hexadecimal": (key.encode().hex(), key.encode().hex().upper()),
        "escaped": (json.dumps(key)[1:-1].replace("/", "\\/"), html.escape(key)),
    }


def _in_base64(key: str) -> Iterator[str]:
    """The letters that are the same whatever stands before and after it."""
    for before in range(3):
        text = base64.b64encode(b"\0" * before + key.encode() + b"\0" * ((3 - (before + len(key)) % 3) % 3)).decode()
        yield text[(4 if before else 0) : len(text) - 4]


def verbose(error: BaseException) -> str:
    """A traceback as `%xmode Verbose` shows it, from the first frame of ours on: those before are its reader's own."""
    from IPython.core.ultratb import VerboseTB

    trace = error.__traceback__
    while trace is not None and not trace.tb_frame.f_code.co_filename.startswith(HOUSE):
        trace = trace.tb_next
    if trace is None:
        return ""
    before = error.__traceback__
    try:
        error.__traceback__ = trace
        return str(VerboseTB(theme_name="nocolor").text(type(error), error, trace))
    finally:
        error.__traceback__ = before


def shown(values: Any) -> Iterator[tuple[str, str | bytes]]:
    """Everything that can be read of a value and of what it holds, each text with the way to it."""
    left: list[tuple[str, Any]] = [("", values)]
    seen: dict[int, Any] = {}
    while left:
        place, value = left.pop()
        if isinstance(value, (str, bytes, bytearray)):
            yield place, bytes(value) if isinstance(value, bytearray) else value
            continue
        if id(value) in seen or not type(value).__module__.startswith(LOOKED_INTO):
            continue
        seen[id(value)] = value  # Held, so that no other value gets its id.
        yield from ((f"{place}: {way}", text) for way, text in _texts(value))
        left += [(f"{place}.{name}", held) for name, held in _held(value)]


def _texts(value: Any) -> Iterator[tuple[str, str | bytes]]:
    copies = (copy.copy, pickle.dumps) if type(value).__module__.startswith(COPIED) else ()
    for way in (repr, str, format, *copies):
        # What cannot be copied or pickled says so, and may say too much.
        try:
            made = way(value)
            yield way.__name__, made if isinstance(made, (str, bytes)) else repr(made)
        except Exception as error:
            yield way.__name__, repr(error)


def _held(value: Any) -> Iterator[tuple[str, Any]]:
    """What a value holds, as far as its surface and its variables show."""
    if isinstance(value, Mapping):
        yield from ((f"[{name!r}]", part) for name, part in [*value.items()])
        yield from (("key", name) for name in [*value])
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from ((f"[{place}]", part) for place, part in enumerate([*value]))
    if not isinstance(value, type):
        with suppress(TypeError):
            yield from [*vars(value).items()]
    if dataclasses.is_dataclass(value):
        yield from ((field.name, getattr(value, field.name, None)) for field in dataclasses.fields(value))
    if isinstance(value, BaseException):
        yield from (("args", value.args), ("cause", value.__cause__), ("context", value.__context__))
        yield from (("notes", note) for note in getattr(value, "__notes__", ()))
        yield from (("frames", name) for name in _locals(value.__traceback__))


def _locals(trace: TracebackType | None) -> Iterator[str]:
    """The variables of our own frames: what debuggers and error collectors send home."""
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith(HOUSE):
            for name, value in trace.tb_frame.f_locals.items():
                with suppress(Exception):
                    yield f"{name} = {value!r}"
        trace = trace.tb_next
