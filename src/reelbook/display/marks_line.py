"""Signatures and source types of files as one line of text."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

from .formatting import shorten

if TYPE_CHECKING:
    from ..media.local_file import LocalFile

_MAX_FILES, _MAX_LENGTH = 40, 300
_STATES = {
    "Trusted": "the signature is valid, by an issuer that is trusted here",
    "Valid": "the signature is valid; who the signer is was not verified",
    "Invalid": "the signature is NOT valid: the file was changed, or the certificate cannot be used for this",
}


def format_marks(files: Iterable[LocalFile]) -> str:
    """Signer, generator, source type and validity of the files of a run, each distinct statement once."""
    here = (file for file in islice(files, _MAX_FILES) if file.path.exists())
    return shorten("; ".join(dict.fromkeys(map(_format_marks_of, here))), _MAX_LENGTH)


def _format_marks_of(file: LocalFile) -> str:
    marks = file.marks
    source = f"ai-marked ({marks.source_type})" if marks.is_ai_marked else marks.source_type
    if not marks.is_signed:
        return f"unsigned, {source}" if source else "unsigned"
    name = f" ({marks.name})" if marks.name and marks.name != marks.signer else ""
    by = f"signed by {marks.signer}{name}, as stated" if marks.signer else "signed (C2PA)"
    program = f"with {marks.generator}" if marks.generator else ""
    return ", ".join(part for part in (by, program, source, _STATES.get(marks.state, "")) if part)
