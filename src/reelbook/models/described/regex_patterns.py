"""Patterns in JavaScript's spelling, judged in time that grows no faster than the text, wherever that is possible."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache

from pydantic_core import SchemaError, SchemaValidator, core_schema

Judge = Callable[[str], bool]
"""What tells whether a text has the form."""

LONGEST = 20
"""How long a text may be for Python's own engine, whose time can double with every character: at 20 it takes
20 ms for the slow patterns that occur, at 36 twenty minutes."""

_SPACES = r"\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_TOKEN = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u\{[0-9a-fA-F]+\}|\\k<[^>]*>|\\.|\(\?<(?![=!])|.",
    re.DOTALL,
)
"""One step of a pattern; the two halves that JavaScript may write for one character are one."""
_HAS_MEANING = re.compile("[0-9A-Za-z]")
"""What a backslash may make something else of; before all else it only says that the character itself is meant."""
_RUST: Mapping[str, str] = {
    r"\d": "[0-9]",
    r"\D": "[^0-9]",
    r"\w": "[0-9A-Za-z_]",
    r"\W": "[^0-9A-Za-z_]",
    r"\s": f"[{_SPACES}]",
    r"\S": f"[^{_SPACES}]",
}
_RUST_OUTSIDE: Mapping[str, str] = {r"\b": r"(?-u:\b)", r"\B": r"(?-u:\B)"}
_RUST_INSIDE: Mapping[str, str] = {r"\b": r"\x08", "[": r"\[", "&": r"\&", "~": r"\~"}
"""Within brackets, where Rust knows brackets in brackets and operators, and JavaScript neither."""


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern in JavaScript's spelling is found in the text.

    One that cannot be read allows everything, and so does one that could take minutes: what it means is for the
    service to say.

    >>> matches("^[0-9]+$", "12"), matches("^[0-9]+$", "12\\n"), matches("(", "anything")
    (True, False, True)
    """
    return _judge(pattern)(text)


@lru_cache(maxsize=1024)
def _judge(pattern: str) -> Judge:
    try:
        # Rust's engine takes time in proportion to the text, but knows no lookaround and no back references.
        return SchemaValidator(core_schema.str_schema(pattern=_rust(pattern))).isinstance_python
    except SchemaError:
        return _judge_of_short_texts(pattern)


def _judge_of_short_texts(pattern: str) -> Judge:
    try:
        with warnings.catch_warnings():
            # Python warns of spellings that it may read differently some day; they are fine in JavaScript.
            warnings.simplefilter("ignore")
            compiled = re.compile(_python(pattern), re.ASCII)
    except (re.error, OverflowError, RecursionError):
        return lambda text: True
    return lambda text: len(text) > LONGEST or compiled.search(text) is not None


def _rust(pattern: str) -> str:
    """A pattern of JavaScript as Rust spells it: `\\d`, `\\w` and `\\b` know ASCII only, `\\s` knows more spaces.

    >>> _rust(r"^\\d\\/[[-]$")
    '^[0-9]/[\\\\[-]$'
    """
    inside = False
    before = ""
    out: list[str] = []
    for token in _TOKEN.findall(pattern):
        special = {**_RUST, **(_RUST_INSIDE if inside else _RUST_OUTSIDE)}
        if token in special:
            out.append(special[token])
        elif inside and token == "-" and before in ("[", "[^", "-"):
            # Two of them would be an operator.
            out.append(r"\-")
        else:
            out.append(_character(token))
        before = "[^" if (before, token) == ("[", "^") else out[-1]
        inside = (inside or token == "[") and token != "]"
    return "".join(out)


def _character(token: str) -> str:
    """A step of a pattern, where it is one character that is written in a way Rust does not know."""
    if token.count("\\") == 2 and len(token) == 12:
        return f"\\u{{{ord(bytes.fromhex(token[2:6] + token[8:]).decode('utf-16-be')):x}}}"
    escaped = token[1:] if token[0] == "\\" and len(token) == 2 else ""
    return token if not escaped or _HAS_MEANING.match(escaped) else re.escape(escaped)


def _python(pattern: str) -> str:
    """A pattern of JavaScript as Python spells it: `$` is the very end, `\\s` knows more spaces, names carry a P."""
    inside = False
    out: list[str] = []
    for token in _TOKEN.findall(pattern):
        inside = (inside or token == "[") and token != "]"
        if token == r"\s":
            out.append(_SPACES if inside else f"[{_SPACES}]")
        elif inside:
            out.append(token)
        elif token.startswith(r"\k<"):
            out.append(f"(?P={token[3:-1]})")
        else:
            out.append({"$": r"\Z", "(?<": "(?P<", r"\S": f"[^{_SPACES}]"}.get(token, token))
    return "".join(out)
