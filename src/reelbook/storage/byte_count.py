"""A number of bytes that prints as a person would say it."""

from __future__ import annotations


class Bytes(int):
    """Bytes.

    >>> Bytes(4_100_000), Bytes(912), Bytes(4_100_000) + 1
    (4.1 MB, 912 bytes, 4100001)
    """

    def __repr__(self) -> str:
        for unit, name in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
            # Not 1,000.0 kB, which rounding would make of a little less than a megabyte.
            if self >= unit * 0.99995:
                return f"{self / unit:,.1f} {name}"
        return f"{int(self)} bytes"

    __str__ = __repr__
