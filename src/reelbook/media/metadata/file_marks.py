"""The marks of a file: whether it is signed and by whom, and whether it states a generative model as its source."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ...models.images_to_video import ImagesToVideo
from ...util.printable import format_line, printable
from .packets import OUR_TYPE, read_blocks

PREFIX = "http://cv.iptc.org/newscodes/digitalsourcetype/"
TRAINED = PREFIX + "trainedAlgorithmicMedia"
"""Made entirely by a model trained on media. Also for hosted models that start from the user's picture, to move or
recompose it: they generate every pixel of their output."""
ALGORITHMIC = PREFIX + "algorithmicMedia"
"""Made by a program without trained weights: what the embedded engines paint, move and recompose."""
COMPOSITE = PREFIX + "composite"
"""Pictures joined to a film. Joining generates nothing, and the sources of the pictures are unknown."""
SYNTHETIC = PREFIX + "compositeSynthetic"
"""Pictures joined to a film, at least one of which states a generative model as its source, as the film then must."""
BY_GENERATIVE_MODELS = ("trainedAlgorithmicMedia", "compositeWithTrainedAlgorithmicMedia", "compositeSynthetic")
"""The last segments of the types made or changed by a generative model, in whole or in part."""

MAX_NAME = 60
UNSIGNED = "unsigned"

_STORE, _MP4_BOX = (
    b"jumdc2pa" + bytes.fromhex("00110010800000aa00389b71"),
    bytes.fromhex("d8fec3d61b0e483c92975828877ec481"),
)
"""The identifier of a manifest, 16 bytes in every kind of file; and that of its box in an MP4."""
_DUBLIN_CORE, _REFERENCE = b"http://purl.org/dc/terms/", re.compile(rb":provenance\s*[=>]")
"""How an XMP packet refers to a manifest elsewhere, which is bound to these bytes, too."""
_TYPE = re.compile(
    rb"""igitalSourceType(?:x.|\s*=\s*["']|\s[^<>]{0,200}?resource\s*=\s*["']|\s*>)\s*"""
    + re.escape(PREFIX.encode())
    + rb"(\w{1,60})",
    re.DOTALL,
)
"""A source type in a manifest or in an XMP packet, of which neither is parsed."""
_OURS = re.compile(OUR_TYPE.pattern + rb'|CreatorTool="reelbook [^"]*" Iptc4xmpExt:DigitalSourceType="[^"]*"')
"""How our copies and our engines state a source type."""
_OFFLINE = {"verify": {"remote_manifest_fetch": False, "ocsp_fetch": False}}


@dataclass(frozen=True, slots=True)
class Marks:
    """The signer and source that a file states; `str()` of it is the text in tables.

    >>> str(Marks()), str(Marks(is_signed=True, signer="Acme", source_type="trainedAlgorithmicMedia"))
    ('unsigned', 'signed by Acme, ai-marked')
    """

    is_signed: bool = False
    """Whether the file has a C2PA manifest, or refers to one."""
    signer: str = ""
    """The signer as the certificate states it: the organization, else the common name. Needs the extra `sign`."""
    source_type: str = ""
    """The last segment of its digital source type, such as `trainedAlgorithmicMedia`."""
    state: str = ""
    """What the C2PA library found: `Trusted`, `Valid` or `Invalid`; empty without the extra `sign`."""

    @property
    def is_ai_marked(self) -> bool:
        """Whether the file states that a generative model made or changed it."""
        return is_generative(self.source_type)

    def __str__(self) -> str:
        signed = (f"signed by {self.signer}" if self.signer else "signed") if self.is_signed else ""
        parts = [part for part in (signed, "ai-marked" if self.is_ai_marked else "") if part]
        return ", ".join(parts) or UNSIGNED


def is_generative(source_type: str) -> bool:
    """Whether a source type states that a generative model was used.

    >>> is_generative(TRAINED), is_generative(ALGORITHMIC), is_generative("")
    (True, False, False)
    """
    return source_type.rpartition("/")[2] in BY_GENERATIVE_MODELS


def get_source_type(model: object, engine: Mapping[str, Any], sources: Iterable[str]) -> str:
    """The IPTC digital source type of a model's output, which must be true; empty if the model is unknown.

    `engine` is the record of an embedded engine in the file, if there is one; `sources` are the types stated by the
    source pictures.
    """
    if not model:
        return ""
    if model == ImagesToVideo.endpoint_id:
        return SYNTHETIC if any(map(is_generative, sources)) else COMPOSITE
    return ALGORITHMIC if engine else TRAINED


def read_marks(path: str | os.PathLike[str]) -> Marks:
    """Read the marks of a file; empty marks if it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            is_signed, types = _scan(file)
    except (OSError, ValueError):
        return Marks()
    source_type = next(filter(is_generative, types), next(iter(types), ""))
    if not is_signed:
        return Marks(source_type=source_type)
    report = _report(path)
    manifest = report.get("manifests", {}).get(report.get("active_manifest"), {})
    signature = manifest.get("signature_info", {})
    return Marks(
        is_signed=True,
        signer=_word(signature.get("issuer") or signature.get("common_name")),
        source_type=source_type,
        state=_word(report.get("validation_state")),
    )


def is_marked(file: BinaryIO) -> bool:
    """Whether the file carries a mark that is not ours; such a file is left byte for byte."""
    is_signed, types = _scan(file, without=_OURS)
    return is_signed or bool(types)


def _scan(file: BinaryIO, without: re.Pattern[bytes] | None = None) -> tuple[bool, list[str]]:
    """Whether the file has a manifest or refers to one, and the source types that it states, but in such a markup."""
    is_signed, types = False, dict[str, None]()
    for block in read_blocks(file):
        is_signed = is_signed or _STORE in block or _MP4_BOX in block
        is_signed = is_signed or (_DUBLIN_CORE in block and _REFERENCE.search(block) is not None)
        if b"igitalSourceType" in block:
            stated = block if without is None else without.sub(b"", block)
            types.update(dict.fromkeys(found.decode() for found in _TYPE.findall(stated)))
    return is_signed, list(types)


def _report(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What the C2PA library says of a file; empty if it is not installed, or cannot read the file.

    No requests are made: remote manifests are ignored, and no list of trusted issuers is downloaded.
    """
    # The library raises errors of many types for a broken file; what it says is optional.
    with suppress(Exception):
        import c2pa

        with c2pa.Context.from_dict(_OFFLINE) as context, c2pa.Reader(str(path), context=context) as reader:
            return dict(json.loads(reader.json()))
    return {}


def _word(text: object) -> str:
    """A short text on one line, without unprintable characters."""
    plain = format_line(printable(str(text or "")[: 4 * MAX_NAME])).strip()
    return plain if len(plain) <= MAX_NAME else f"{plain[: MAX_NAME - 1]}…"
