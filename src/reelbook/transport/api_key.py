"""An API key that signs requests and is never displayed."""

from __future__ import annotations

import base64
from collections.abc import MutableMapping
from hmac import compare_digest
from typing import Any, NoReturn
from urllib.parse import quote, quote_plus

from ..errors import ReelbookError

MIN_SECRET_LENGTH, MIN_DISTINCTIVE_LENGTH = 4, 8
"""Keys shorter than the second length may be ordinary words: they are removed from refusals only, not from results.
Keys shorter than the first length may be syllables, and are not removed at all."""


class Key:
    """A key that appears in no repr, no pickle and no variable that a traceback displays."""

    __slots__ = ("__weakref__", "_encoded", "_text")

    def __init__(self, text: str | None) -> None:
        try:
            self._text = check_key(text) if text else ""
        except ReelbookError:
            # A verbose traceback displays the variables of every frame, and the key is one of them here.
            text = None
            raise
        self._encoded = _encodings(self._text)

    def sign(self, headers: MutableMapping[str, str]) -> None:
        """Add the key to the headers of a request."""
        if self._text:
            headers["x-api-key"] = self._text

    def is_in(self, content: bytes) -> bool:
        """Whether a text contains the key, in any encoding."""
        return any(form.encode() in content for form in self._encoded)

    def scrubbed(self, text: str) -> str:
        """A text with the key replaced by `[key]`, for a service that echoes what it received."""
        for form in self._encoded:
            text = text.replace(form, "[key]")
        return text

    @property
    def is_distinctive(self) -> bool:
        """Whether the key is too long to be an ordinary word."""
        return len(self._text) >= MIN_DISTINCTIVE_LENGTH

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and compare_digest(self._text.encode(), other._text.encode())

    def __hash__(self) -> int:
        return hash(self._text)

    def __bool__(self) -> bool:
        return bool(self._text)

    def __repr__(self) -> str:
        return "<Key, hidden>" if self._text else "<no key>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("A key is not pickled or copied: it would end up in a file. Connect again where it is needed.")


def check_key(key: str) -> str:
    """The key without surrounding spaces; raises an error if it cannot be sent in a header."""
    key = key.strip()
    if not key.isascii() or not key.isprintable():
        # A verbose traceback would display it among the variables of this frame.
        del key
        raise ReelbookError(
            "The key holds a character that no key has, such as a line break. Copy it again, in one piece."
        )
    return key


def _encodings(text: str) -> tuple[str, ...]:
    """The key itself, percent-encoded, and in base64; the longest first, because one can contain another."""
    if len(text) < MIN_SECRET_LENGTH:
        return ()
    packed = (base64.b64encode(text.encode()), base64.urlsafe_b64encode(text.encode()))
    forms = {text, quote(text), quote(text, safe=""), quote_plus(text), *(one.decode().rstrip("=") for one in packed)}
    return tuple(sorted(forms, key=len, reverse=True))
