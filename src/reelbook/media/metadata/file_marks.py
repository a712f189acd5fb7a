"""The marks of a file: its signer as stated, and whether it declares a generative model as its source."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ...util.printable import printable
from . import c2pa, xmp
from .c2pa_claim import Claim, parse_claim
from .file_pieces import Stretch
from .source_types import is_generative

MANIFEST_SUFFIX = ".c2pa"
"""Suffix of a manifest that is delivered as a separate file next to the media file."""
MAX_NAME = 60
_MAX_MANIFEST_BYTES = 32 << 20
UNSIGNED = "unsigned"


@dataclass(frozen=True, slots=True)
class Marks:
    """The signer and source that a file states; `str()` of it is the text in tables.

    >>> str(Marks()), str(Marks(is_signed=True, signer="Acme", source_type="trainedAlgorithmicMedia"))
    ('unsigned', 'signed by Acme, ai-marked')
    """

    is_signed: bool = False
    """Whether the file has a C2PA manifest, or refers to one; it is not validated."""
    signer: str = ""
    """The signer as the certificate states it: the organization, else the common name."""
    name: str = ""
    """The common name in the certificate, if there is an organization, too."""
    generator: str = ""
    """The program that made the manifest, as stated."""
    source_type: str = ""
    """The last segment of its digital source type, such as `trainedAlgorithmicMedia`."""

    @property
    def is_ai_marked(self) -> bool:
        """Whether the file states that a generative model made or changed it."""
        return is_generative(self.source_type)

    def __str__(self) -> str:
        signed = (f"signed by {self.signer}" if self.signer else "signed") if self.is_signed else ""
        parts = [part for part in (signed, "ai-marked" if self.is_ai_marked else "") if part]
        return ", ".join(parts) or UNSIGNED


def read_marks(path: str | os.PathLike[str]) -> Marks:
    """Read the marks of a file, unverified; empty marks if it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            return _marks(file, has_manifest_file=Path(path).with_suffix(MANIFEST_SUFFIX).is_file())
    except (OSError, ValueError):
        return Marks()


def is_signed(path: Path, file: BinaryIO) -> bool:
    """Whether changing this file would break its creator's signature."""
    return path.with_suffix(MANIFEST_SUFFIX).is_file() or c2pa.is_signed(file)


def _marks(file: BinaryIO, *, has_manifest_file: bool) -> Marks:
    manifest = c2pa.find_manifest(file)
    packets = c2pa.find_packets(file)
    is_signed = manifest is not None or has_manifest_file or c2pa.names_manifest(packets)
    claim = parse_claim(_content(file, manifest)) if manifest else Claim()
    types = [*claim.source_types, *filter(None, map(xmp.find_source_type, packets))]
    organization, name = _word(claim.organization), _word(claim.name)
    return Marks(
        is_signed=is_signed,
        signer=organization or name,
        name=name if organization else "",
        generator=_word(claim.generator),
        source_type=_word(next(filter(is_generative, types), next(iter(types), "")).rstrip("/").rpartition("/")[2]),
    )


def _content(file: BinaryIO, parts: list[Stretch]) -> bytes:
    """The content of the manifest; empty if it is too large."""
    if sum(part.stop - part.start for part in parts) > _MAX_MANIFEST_BYTES:
        return b""
    content = []
    for part in parts:
        file.seek(part.start)
        content.append(file.read(part.stop - part.start))
    return b"".join(content)


def _word(text: str) -> str:
    """A short text on one line, without unprintable characters."""
    plain = "".join(letter if letter.isprintable() else " " for letter in printable(text[: 4 * MAX_NAME]))
    plain = " ".join(plain.split())
    return plain if len(plain) <= MAX_NAME else f"{plain[: MAX_NAME - 1]}…"
