"""A number of bytes with a readable representation."""

from __future__ import annotations

from ..util.printable import format_size


class Bytes(int):
    """An `int` that prints with the suitable unit.

    >>> Bytes(4_100_000), Bytes(912), Bytes(4_100_000) + 1
    (4.1 MB, 912 bytes, 4100001)
    """

    def __repr__(self) -> str:
        return format_size(self)

    __str__ = __repr__
