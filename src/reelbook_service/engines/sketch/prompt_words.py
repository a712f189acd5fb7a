"""The words of a prompt: split in any script, reduced to the singular, and hashed to numbers."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Container, Iterable

import numpy as np
from numpy.typing import NDArray

from .scene import STYLE_SIZE

MAX_WORDS = 6000
"""Further words no longer change the grammar; the hash of the rest still counts as one word."""

_WORD = re.compile(r"[a-zà-öø-ÿ]+|\d+|[^\W\d_a-zà-öø-ÿ]|[\u2190-\U0001faff]|[,.;:!?]", re.IGNORECASE)
_IRREGULAR = {
    "people": "person", "men": "man", "women": "woman", "children": "child", "geese": "goose", "mice": "mouse",
    "leaves": "leaf", "wolves": "wolf", "skies": "sky", "fireflies": "firefly", "feet": "foot", "teeth": "tooth",
}  # fmt: skip
_SAME_IN_PLURAL = {"fish", "sheep", "deer", "koi", "aircraft", "spacecraft", "salmon", "moose"}


def spoken(prompt: str) -> list[str]:
    """The words, numbers and punctuation marks of a prompt in order, in lower case.

    >>> spoken("Three RED balloons, 船!")
    ['three', 'red', 'balloons', ',', '船', '!']
    """
    words: list[str] = []
    for match in _WORD.finditer(prompt):
        if len(words) == MAX_WORDS:
            words.append(hashlib.sha256(prompt[match.start() :].encode()).hexdigest())
            break
        words.append(match.group().lower())
    return words


def singular(word: str, known: Container[str]) -> tuple[str, bool]:
    """The singular of a word if the vocabulary has it, else the word; and whether it was a plural.

    >>> singular("butterflies", {"butterfly"}), singular("bus", {"bus"}), singular("xyzs", set())
    (('butterfly', True), ('bus', False), ('xyzs', False))
    """
    if word in known:
        return word, False
    guesses = [_IRREGULAR.get(word, "")]
    if word.endswith("ies"):
        guesses.append(word[:-3] + "y")
    if word.endswith("es"):
        guesses.append(word[:-2])
    if word.endswith("s"):
        guesses.append(word[:-1])
    return next(((guess, True) for guess in guesses if guess and guess in known), (word, False))


def is_mass(word: str) -> bool:
    """Whether singular and plural are the same word, so that only a number or an article distinguishes them."""
    return word in _SAME_IN_PLURAL


def style_of(words: Iterable[str], avoided: Iterable[str] = ()) -> NDArray[np.float32]:
    """A style vector, each number from -1 to 1: every word shifts it, known or not, by the root of its count."""
    raw = _weighed(words) - np.float32(0.4) * _weighed(avoided)
    style: NDArray[np.float32] = np.tanh(raw * np.float32(0.8))
    return style


def _weighed(words: Iterable[str]) -> NDArray[np.float32]:
    total = np.zeros(STYLE_SIZE, np.float32)
    counts = Counter(word for word in words if word.isalnum() or not word.isascii())
    for word, count in counts.items():
        total += np.float32(count**0.5) * _hashed(word)
    return np.asarray(total / np.float32(max(1.0, sum(counts.values()) ** 0.5)), np.float32)


def _hashed(word: str) -> NDArray[np.float32]:
    """Approximately normal numbers from a hash: each the sum of two bytes."""
    digest = hashlib.blake2b(word.encode(), digest_size=2 * STYLE_SIZE).digest()
    pairs = np.frombuffer(digest, np.uint8).reshape(STYLE_SIZE, 2).astype(np.float32)
    return np.asarray((pairs.sum(axis=1) - 255) / 104, np.float32)
