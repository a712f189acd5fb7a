"""`data:` addresses, which hold their content themselves."""

from __future__ import annotations

import binascii
import contextlib
import re
from urllib.parse import unquote_to_bytes


class DataAddressError(ValueError):
    """A malformed `data:` address; the message continues "a data: address"."""


def is_data_address(text: str) -> bool:
    """Whether the text is a `data:` address, in capitals or not.

    >>> is_data_address("DATA:,a"), is_data_address("https://data:80/")
    (True, False)
    """
    return text[:5].lower() == "data:"


def parse_data_address(address: str, *, padded: bool = False) -> bytes:
    """The content of a `data:` address; `padded` refuses base64 without its padding, which a cut-off text lacks.

    >>> parse_data_address("data:text/plain;base64,aGk="), parse_data_address("data:,a%20b")
    (b'hi', b'a b')
    """
    head, comma, body = address.partition(",")
    if not comma:
        raise DataAddressError("without the comma that goes before its data")
    try:
        if not head.lower().rstrip().endswith(";base64"):
            return unquote_to_bytes(body)
        with contextlib.suppress(ValueError):
            return binascii.a2b_base64(body, strict_mode=True)
        # Variants that occur: escapes, line breaks, the alphabet for URLs, missing padding.
        plain = re.sub(rb"\s", b"", unquote_to_bytes(body)).translate(bytes.maketrans(b"-_", b"+/"))
        return binascii.a2b_base64(plain if padded else plain + b"=" * (-len(plain) % 4), strict_mode=True)
    except ValueError:
        raise DataAddressError("whose base64 is damaged or cut short") from None
