"""Our record inside an XMP packet, the form in which WebP and MP4 carry texts of any length."""

from __future__ import annotations

import html
import re
from xml.sax.saxutils import escape

_OPENING = (
    '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">'
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
).encode()
_END = b"</rdf:RDF>"
_CLOSING = _END + b'</x:xmpmeta><?xpacket end="w"?>'

_BEFORE = b'<rdf:Description rdf:about="" xmlns:reelbook="urn:reelbook:provenance#" reelbook:record="'
_AFTER = b'"/>'
_OURS = re.compile(re.escape(_BEFORE) + rb'([^"]*)' + re.escape(_AFTER))


def packet(record: str) -> bytes:
    """A packet that holds the record and nothing else.

    >>> record_in(packet('{"seed":7}'))
    '{"seed":7}'
    """
    return _OPENING + _described(record) + _CLOSING


def joined(other: bytes, record: str) -> bytes | None:
    """Somebody's packet with our record in it, in place of an earlier one; None where it is no packet."""
    before, end, after = _OURS.sub(b"", other).rpartition(_END)
    return before + _described(record) + end + after if end else None


def record_in(content: bytes) -> str | None:
    """The record of a packet, if it has one. Nothing of its XML is followed: only our own words are looked for."""
    found = _OURS.search(content)
    return html.unescape(found[1].decode("utf-8", "replace")) if found else None


def _described(record: str) -> bytes:
    # XML has no way to write these two; JSON has.
    writable = record.replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")
    return _BEFORE + escape(writable, {'"': "&quot;"}).encode() + _AFTER
