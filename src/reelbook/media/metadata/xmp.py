"""Read and write XMP packets with our record and the digital source type, keeping foreign content."""

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

_IPTC = b"http://iptc.org/std/Iptc4xmpExt/2008-02-29/"
_SOURCE_TYPE = b'<rdf:Description rdf:about="" xmlns:Iptc4xmpExt="' + _IPTC + b'" Iptc4xmpExt:DigitalSourceType="%s"/>'
OUR_TYPE = re.compile(re.escape(_SOURCE_TYPE).replace(b"%s", rb'[^"]*'))
"""Our exact markup of a source type."""
_PADDING = re.compile(rb"\s+(?=<\?xpacket end)")


def make_packet(record: str = "", source_type: str = "") -> bytes:
    """A packet with only the record, the source type, or both.

    >>> find_record(make_packet('{"seed":7}'))
    '{"seed":7}'
    """
    return _OPENING + _typed(source_type) + _described(record) + _CLOSING


def merge_into_packet(other: bytes, record: str = "", source_type: str = "") -> bytes | None:
    """A foreign packet with our record and the source type added; None if it is no packet.

    An earlier record and source type of ours are replaced; the source type of one of our engines stays.
    """
    before, end, after = OUR_TYPE.sub(b"", _OURS.sub(b"", other)).rpartition(_END)
    typed = b"" if b"DigitalSourceType" in before else _typed(source_type)
    return before + typed + _described(record) + end + after if end else None


def without_padding(content: bytes) -> bytes:
    """The packet without the padding that programs add at its end for later changes."""
    return _PADDING.sub(b"", content)


def find_record(content: bytes) -> str | None:
    """The record of a packet, if it has one, found by our exact markup: the XML is not parsed."""
    found = _OURS.search(content)
    return html.unescape(found[1].decode("utf-8", "replace")) if found else None


def is_ours(content: bytes) -> bool:
    """Whether a packet holds nothing but our record and our source type."""
    return find_record(content) is not None and OUR_TYPE.sub(b"", _OURS.sub(b"", content)) == make_packet()


def _described(record: str) -> bytes:
    # XML cannot represent these two characters; JSON can escape them.
    writable = record.replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")
    return _BEFORE + escape(writable, {'"': "&quot;"}).encode() + _AFTER if record else b""


def _typed(source_type: str) -> bytes:
    return _SOURCE_TYPE % escape(source_type, {'"': "&quot;"}).encode() if source_type else b""
