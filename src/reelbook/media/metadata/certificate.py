"""Parse the subject's names from an X.509 certificate, without verification."""

from __future__ import annotations

from collections.abc import Iterator

from ...util.containers import MalformedFile

_ORGANIZATION, _COMMON_NAME = bytes.fromhex("55040a"), bytes.fromhex("550403")
_SEQUENCE, _OID, _VERSION = 0x30, 0x06, 0xA0
_LATIN, _UTF16, _UTF32 = 0x14, 0x1E, 0x1C
_MAX_PARTS = 200


def stated_names(certificate: bytes) -> tuple[str, str]:
    """The organization and the common name of a certificate's subject; empty if missing.

    The fields of X.509 in order: version (optional), serial number, algorithm, issuer, validity, subject.
    """
    ((_, outer),) = list(_parts(certificate))[:1]
    fields = list(_parts(next(content for _, content in _parts(outer))))
    fields = fields[1:] if fields and fields[0][0] == _VERSION else fields
    if len(fields) < 5:
        raise MalformedFile("its certificate is damaged")
    names: dict[bytes, str] = {}
    for _, group in _parts(fields[4][1]):
        for _, pair in _parts(group):
            (kind, name), (coding, value) = list(_parts(pair))[:2]
            if kind == _OID:
                names.setdefault(name, _text(coding, value))
    return names.get(_ORGANIZATION, ""), names.get(_COMMON_NAME, "")


def _parts(content: bytes) -> Iterator[tuple[int, bytes]]:
    """The consecutive DER values, each with its tag."""
    at = 0
    for _ in range(_MAX_PARTS):
        if at + 2 > len(content):
            return
        tag, size, at = content[at], content[at + 1], at + 2
        if size & 0x80:
            more = size & 0x7F
            size, at = int.from_bytes(content[at : at + more]), at + more
        if at + size > len(content):
            raise MalformedFile("its certificate is damaged")
        yield tag, content[at : at + size]
        at += size


def _text(coding: int, value: bytes) -> str:
    return value.decode({_LATIN: "latin-1", _UTF16: "utf-16-be", _UTF32: "utf-32-be"}.get(coding, "utf-8"), "replace")
