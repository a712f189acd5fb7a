"""What a C2PA manifest states: who has signed it, what has made the file, and of which kind of source it is."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .cbor import decode
from .certificate import stated_names
from .file_pieces import MAX_PARTS, MalformedFile

_CHAIN = 33
"""Under which number COSE keeps the certificates."""


@dataclass(frozen=True, slots=True)
class Claim:
    """As stated. Whether it is true can only be said by who validates the signature and knows whom to trust."""

    organization: str = ""
    name: str = ""
    """The common name of the certificate."""
    generator: str = ""
    """The program that has made the claim."""
    source_types: tuple[str, ...] = ()
    """The digital source types that this manifest or those of its ingredients name."""


@dataclass(frozen=True, slots=True)
class _Box:
    """A box with others in it, or with content."""

    kind: bytes
    label: str
    content: bytes


def parse_claim(content: bytes) -> Claim:
    """The claim of the active manifest, which is the last one; what cannot be read of it is left empty."""
    manifests = [box for store in _boxes(content) if store.kind == b"jumb" for box in _inner(store)]
    if not manifests:
        return Claim()
    active = {box.label: box for box in _inner(manifests[-1])}
    organization, name = _signer(active.get("c2pa.signature"))
    claim = next((_value(box) for label, box in active.items() if label.startswith("c2pa.claim")), None)
    types = dict.fromkeys(kind for manifest in manifests for kind in _source_types(manifest))
    return Claim(organization, name, _generator(claim), tuple(types))


def _boxes(content: bytes) -> Iterator[_Box]:
    """The boxes that stand there one after the other, as far as they make sense."""
    at = 0
    for _ in range(MAX_PARTS):
        if at + 8 > len(content):
            return
        size, kind = struct.unpack_from(">I4s", content, at)
        head = 8
        if size == 1 and at + 16 <= len(content):
            size, head = struct.unpack_from(">Q", content, at + 8)[0], 16
        stop = len(content) if size == 0 else at + size
        if not at + head <= stop <= len(content):
            return
        inside = content[at + head : stop]
        yield _Box(kind, _label(inside) if kind == b"jumb" else "", inside)
        at = stop


def _inner(box: _Box | None) -> list[_Box]:
    """The boxes with labels that are in a box."""
    return [] if box is None else [one for one in _boxes(box.content) if one.kind == b"jumb"]


def _label(content: bytes) -> str:
    """The label in the description with which a box begins: after its size, kind, type and flags."""
    if len(content) < 25 or content[4:8] != b"jumd" or not content[24] & 2:
        return ""
    (size,) = struct.unpack_from(">I", content)
    return content[25:size].partition(b"\0")[0].decode("utf-8", "replace")


def _value(box: _Box | None) -> Any:
    """The content of a box that is written as CBOR; None where it is not, or makes no sense."""
    inside = next((one.content for one in _boxes(box.content) if one.kind == b"cbor"), None) if box else None
    try:
        return None if inside is None else decode(inside)
    except (MalformedFile, ValueError, RecursionError):
        return None


def _signer(box: _Box | None) -> tuple[str, str]:
    signature = _value(box)
    if not isinstance(signature, list) or len(signature) < 2:
        return "", ""
    try:
        protected = decode(signature[0]) if isinstance(signature[0], bytes) and signature[0] else {}
        heads = [head for head in (protected, signature[1]) if isinstance(head, dict)]
        chain = next((head[key] for head in heads for key in (_CHAIN, "x5chain") if key in head), b"")
        first = chain[0] if isinstance(chain, list) and chain else chain
        return stated_names(first) if isinstance(first, bytes) else ("", "")
    except (MalformedFile, ValueError, StopIteration, RecursionError):
        return "", ""


def _generator(claim: Any) -> str:
    """The name and version of the program, as the second version of the standard writes it or the first."""
    told = claim.get("claim_generator_info") if isinstance(claim, dict) else None
    info = told[0] if isinstance(told, list) and told else told
    if isinstance(info, dict) and isinstance(info.get("name"), str):
        return f"{info['name']} {info['version']}" if isinstance(info.get("version"), str) else str(info["name"])
    first = claim.get("claim_generator") if isinstance(claim, dict) else None
    return first if isinstance(first, str) else ""


def _source_types(manifest: _Box) -> Iterator[str]:
    """The source types that its actions name."""
    for store in _inner(manifest):
        if store.label != "c2pa.assertions":
            continue
        for assertion in _inner(store):
            if not assertion.label.startswith("c2pa.actions"):
                continue
            told = _value(assertion)
            actions = told.get("actions") if isinstance(told, dict) else None
            for action in actions if isinstance(actions, list) else ():
                kind = action.get("digitalSourceType") if isinstance(action, dict) else None
                if isinstance(kind, str):
                    yield kind
