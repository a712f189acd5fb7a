"""Parse the claims of a C2PA manifest: its signer, the generating program, and the digital source types."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from ...util.containers import MalformedFile, parse_boxes
from .cbor import decode
from .certificate import stated_names

_CHAIN = 33
"""COSE's header label of the certificate chain."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The claims as stated: neither the signature nor the certificate is validated."""

    organization: str = ""
    name: str = ""
    """The common name of the certificate."""
    generator: str = ""
    """The program that made the claim."""
    source_types: tuple[str, ...] = ()
    """The digital source types named by this manifest and those of its ingredients."""


@dataclass(frozen=True, slots=True)
class _Box:
    """A box that contains other boxes, or content."""

    kind: bytes
    label: str
    content: bytes


def parse_claim(content: bytes) -> Claim:
    """The claim of the active manifest, which is the last one; fields that cannot be parsed are empty."""
    manifests = [box for store in _boxes(content) if store.kind == b"jumb" for box in _inner(store)]
    if not manifests:
        return Claim()
    active = {box.label: box for box in _inner(manifests[-1])}
    organization, name = _signer(active.get("c2pa.signature"))
    claim = next((_value(box) for label, box in active.items() if label.startswith("c2pa.claim")), None)
    types = dict.fromkeys(kind for manifest in manifests for kind in _source_types(manifest))
    return Claim(organization, name, _generator(claim), tuple(types))


def _boxes(content: bytes) -> Iterator[_Box]:
    """The consecutive boxes, up to the first malformed one."""
    with suppress(MalformedFile):
        for box in parse_boxes(BytesIO(content), 0, len(content)):
            inside = content[box.inside : box.stop]
            yield _Box(box.kind, _label(inside) if box.kind == b"jumb" else "", inside)


def _inner(box: _Box | None) -> list[_Box]:
    """The labelled boxes inside a box."""
    return [] if box is None else [inner for inner in _boxes(box.content) if inner.kind == b"jumb"]


def _label(content: bytes) -> str:
    """The label in a box's leading description, after its size, kind, type and flags."""
    if len(content) < 25 or content[4:8] != b"jumd" or not content[24] & 2:
        return ""
    (size,) = struct.unpack_from(">I", content)
    return content[25:size].partition(b"\0")[0].decode("utf-8", "replace")


def _value(box: _Box | None) -> Any:
    """The decoded CBOR content of a box; None if it has none, or it is malformed."""
    inside = next((inner.content for inner in _boxes(box.content) if inner.kind == b"cbor"), None) if box else None
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
    """The name and version of the program, in the format of version 2 or 1 of the standard."""
    stated = claim.get("claim_generator_info") if isinstance(claim, dict) else None
    info = stated[0] if isinstance(stated, list) and stated else stated
    if isinstance(info, dict) and isinstance(info.get("name"), str):
        return f"{info['name']} {info['version']}" if isinstance(info.get("version"), str) else str(info["name"])
    first = claim.get("claim_generator") if isinstance(claim, dict) else None
    return first if isinstance(first, str) else ""


def _source_types(manifest: _Box) -> Iterator[str]:
    """The source types of the manifest's actions."""
    for store in _inner(manifest):
        if store.label != "c2pa.assertions":
            continue
        for assertion in _inner(store):
            if not assertion.label.startswith("c2pa.actions"):
                continue
            value = _value(assertion)
            actions = value.get("actions") if isinstance(value, dict) else None
            for action in actions if isinstance(actions, list) else ():
                kind = action.get("digitalSourceType") if isinstance(action, dict) else None
                if isinstance(kind, str):
                    yield kind
