"""The marks that a file carries: who has signed it, as stated, and whether it says that a generative model has made it."""

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
"""A maker may deliver the signature as a file of its own, beside the one that it is for."""
MAX_NAME = 60
_MAX_MANIFEST_BYTES = 32 << 20
UNSIGNED = "unsigned"


@dataclass(frozen=True, slots=True)
class Marks:
    """What a file says of who has signed it and how it was made. `str()` of it is what the column of a table says.

    >>> str(Marks()), str(Marks(is_signed=True, signer="Acme", source_type="trainedAlgorithmicMedia"))
    ('unsigned', 'signed by Acme, ai-marked')
    """

    is_signed: bool = False
    """Whether it carries a C2PA manifest, or names one; whether that is valid is another question."""
    signer: str = ""
    """Who has signed it, as the certificate states: the organization, else the name."""
    name: str = ""
    """The name in the certificate, where an organization is there too."""
    generator: str = ""
    """The program that has made the manifest, as that states."""
    source_type: str = ""
    """The last word of its digital source type, such as `trainedAlgorithmicMedia`."""

    @property
    def is_ai_marked(self) -> bool:
        """Whether it says that a generative model has made or changed it."""
        return is_generative(self.source_type)

    def __str__(self) -> str:
        signed = (f"signed by {self.signer}" if self.signer else "signed") if self.is_signed else ""
        parts = [part for part in (signed, "ai-marked" if self.is_ai_marked else "") if part]
        return ", ".join(parts) or UNSIGNED


def read_marks(path: str | os.PathLike[str]) -> Marks:
    """The marks of a file, found by its structure and not verified; of a file that cannot be read there are none."""
    try:
        with Path(path).open("rb") as file:
            return _marks(file, has_manifest_beside=Path(path).with_suffix(MANIFEST_SUFFIX).is_file())
    except (OSError, ValueError):
        return Marks()


def is_signed(path: Path, file: BinaryIO) -> bool:
    """Whether a change to the bytes of this file would break a signature of its maker."""
    return path.with_suffix(MANIFEST_SUFFIX).is_file() or c2pa.is_signed(file)


def _marks(file: BinaryIO, *, has_manifest_beside: bool) -> Marks:
    manifest = c2pa.find_manifest(file)
    packets = c2pa.find_packets(file)
    is_signed = manifest is not None or has_manifest_beside or c2pa.names_manifest(packets)
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
    """The manifest; empty where it is too large to be read."""
    if sum(part.stop - part.start for part in parts) > _MAX_MANIFEST_BYTES:
        return b""
    content = []
    for part in parts:
        file.seek(part.start)
        content.append(file.read(part.stop - part.start))
    return b"".join(content)


def _word(text: str) -> str:
    """A short text on one line, without what moves a cursor or hides letters."""
    plain = "".join(letter if letter.isprintable() else " " for letter in printable(text[: 4 * MAX_NAME]))
    plain = " ".join(plain.split())
    return plain if len(plain) <= MAX_NAME else f"{plain[: MAX_NAME - 1]}…"
