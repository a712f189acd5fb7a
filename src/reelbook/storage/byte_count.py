"""A number of bytes with a readable representation."""

from __future__ import annotations


class Bytes(int):
    """An `int` that prints with the suitable unit.

    >>> Bytes(4_100_000), Bytes(912), Bytes(4_100_000) + 1
    (4.1 MB, 912 bytes, 4100001)
    """

    def __repr__(self) -> str:
        for unit, name in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
            # So that slightly less than a megabyte is not rounded to 1,000.0 kB.
            if self >= unit * 0.99995:
                return f"{self / unit:,.1f} {name}"
        return f"{int(self)} bytes"

    __str__ = __repr__
