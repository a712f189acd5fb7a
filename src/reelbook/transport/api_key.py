"""An API key that signs requests and shows itself to nobody."""

from __future__ import annotations

import base64
from collections.abc import MutableMapping
from typing import Any, NoReturn
from urllib.parse import quote, quote_plus

from ..errors import ReelbookError

SHORTEST_SECRET, SHORTEST_TELLING = 4, 8
"""Keys are ordinary words as well below the second length, so they are taken out of refusals only and not out of
results; and below the first length they are syllables, and taken out of nothing."""


class Key:
    """A key that can be used, and not be seen: not in a repr, a pickle or the variables that a traceback shows."""

    __slots__ = ("__weakref__", "_forms", "_text")

    def __init__(self, text: str | None) -> None:
        try:
            self._text = checked_key(text) if text else ""
        except ReelbookError:
            # A verbose traceback shows the variables of every frame, and the key is one of them here.
            text = None
            raise
        self._forms = _spellings(self._text)

    def sign(self, headers: MutableMapping[str, str]) -> None:
        """Put the key where the service looks for it."""
        if self._text:
            headers["x-api-key"] = self._text

    def stands_in(self, content: bytes) -> bool:
        """Whether a text repeats the key, in some spelling."""
        return any(form.encode() in content for form in self._forms)

    def scrubbed(self, text: str) -> str:
        """A text without the key, for a service that repeats what it was sent."""
        for form in self._forms:
            text = text.replace(form, "[key]")
        return text

    @property
    def is_telling(self) -> bool:
        """Whether the key is long enough to be no ordinary word."""
        return len(self._text) >= SHORTEST_TELLING

    def __bool__(self) -> bool:
        return bool(self._text)

    def __repr__(self) -> str:
        return "<Key, hidden>" if self._text else "<no key>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("A key is not pickled or copied: it would end up in a file. Connect again where it is needed.")


def checked_key(key: str) -> str:
    """A key that can stand in a header; a stray line break would otherwise show it in an error."""
    key = key.strip()
    if not key.isascii() or not key.isprintable():
        # Not only unmentioned: a verbose traceback would show it among the variables of this frame.
        del key
        raise ReelbookError(
            "The key holds a character that no key has, such as a line break. Copy it again, in one piece."
        )
    return key


def _spellings(text: str) -> tuple[str, ...]:
    """The key as it is, as it stands in an address, and in base64; the longest first, for one can contain another."""
    if len(text) < SHORTEST_SECRET:
        return ()
    packed = (base64.b64encode(text.encode()), base64.urlsafe_b64encode(text.encode()))
    forms = {text, quote(text), quote(text, safe=""), quote_plus(text), *(one.decode().rstrip("=") for one in packed)}
    return tuple(sorted(forms, key=len, reverse=True))
