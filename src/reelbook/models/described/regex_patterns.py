"""Matching of JavaScript regular expressions, in linear time wherever possible."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache

from pydantic_core import SchemaError, SchemaValidator, core_schema

Matcher = Callable[[str], bool]
"""Whether a text matches a pattern."""

MAX_BACKTRACKING_CHARS = 20
"""The longest text for Python's own engine, whose time can double with every character: at 20 it takes
20 ms for the slow patterns that occur, at 36 twenty minutes."""

_SPACES = r"\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_TOKEN = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u\{[0-9a-fA-F]+\}|\\k<[^>]*>|\\.|\(\?<(?![=!])|.",
    re.DOTALL,
)
"""One token of a pattern; a surrogate pair is one."""
_ALPHANUMERIC = re.compile("[0-9A-Za-z]")
"""Characters to which a backslash may give another meaning; before any other it only escapes."""
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
"""Within brackets, where Rust has nested brackets and operators, and JavaScript neither."""


def matches(pattern: str, text: str) -> bool:
    """Whether a JavaScript pattern is found in the text.

    A pattern that cannot be compiled matches everything, and so does one that could take minutes: the check is left
    to the service.

    >>> matches("^[0-9]+$", "12"), matches("^[0-9]+$", "12\\n"), matches("(", "anything")
    (True, False, True)
    """
    return _compile_matcher(pattern)(text)


@lru_cache(maxsize=1024)
def _compile_matcher(pattern: str) -> Matcher:
    try:
        # Rust's engine takes linear time, but supports neither lookaround nor back references.
        return SchemaValidator(core_schema.str_schema(pattern=_to_rust(pattern))).isinstance_python
    except SchemaError:
        return _compile_backtracking(pattern)


def _compile_backtracking(pattern: str) -> Matcher:
    try:
        with warnings.catch_warnings():
            # Python warns of syntax that it may interpret differently in future; it is valid in JavaScript.
            warnings.simplefilter("ignore")
            compiled = re.compile(_to_python(pattern), re.ASCII)
    except (re.error, OverflowError, RecursionError):
        return lambda text: True
    return lambda text: len(text) > MAX_BACKTRACKING_CHARS or compiled.search(text) is not None


def _to_rust(pattern: str) -> str:
    """A JavaScript pattern in Rust's syntax: `\\d`, `\\w` and `\\b` are ASCII only, `\\s` has more spaces.

    >>> _to_rust(r"^\\d\\/[[-]$")
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
            # `--` would be an operator.
            out.append(r"\-")
        else:
            out.append(_to_rust_character(token))
        before = "[^" if (before, token) == ("[", "^") else out[-1]
        inside = (inside or token == "[") and token != "]"
    return "".join(out)


def _to_rust_character(token: str) -> str:
    """A token of a pattern; an escape that Rust does not know is rewritten."""
    if token.count("\\") == 2 and len(token) == 12:
        return f"\\u{{{ord(bytes.fromhex(token[2:6] + token[8:]).decode('utf-16-be')):x}}}"
    escaped = token[1:] if token[0] == "\\" and len(token) == 2 else ""
    return token if not escaped or _ALPHANUMERIC.match(escaped) else re.escape(escaped)


def _to_python(pattern: str) -> str:
    """A JavaScript pattern in Python's syntax: `$` is the very end, `\\s` has more spaces, group names need a P."""
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
