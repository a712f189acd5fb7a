"""The fonts installed on this machine, upright sans-serif ones first."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

MAX_FILES, SEARCH_SECONDS = 3000, 10.0
ENDINGS = (".ttf", ".otf", ".ttc", ".otc")
_UPRIGHT_SANS = ("dejavusans.", "notosans", "arial", "segoeui", "sfns", "helvetica", "liberationsans", "roboto", "pingfang", "msyh", "yugoth", "malgun")  # fmt: skip
_ODD = re.compile(
    r"bold|italic|oblique|light|thin|black|heavy|medium|condensed|cond\b|mono|serif|slanted|display|math|bd\.|-bi|ultra|extra",
    re.IGNORECASE,
)
"""Words in the names of fonts unsuitable for plain text."""


class FontFile(NamedTuple):
    """A font: its file, and its index if the file is a collection."""

    path: str
    face: int = 0


@cache
def find_font_files() -> tuple[FontFile, ...]:
    """All fonts installed, upright sans-serif first."""
    found = dict.fromkeys([*_list_fontconfig(), *_find_in(_folders())])
    return tuple(sorted(found, key=_rank)[:MAX_FILES])


def _rank(font: FontFile) -> tuple[bool, bool, int, str]:
    name = Path(font.path).name.lower()
    is_known = any(name.replace("-", "").startswith(known) for known in _UPRIGHT_SANS)
    return bool(_ODD.search(name)), not is_known, len(name), font.path


def _list_fontconfig() -> Iterator[FontFile]:
    """The fonts that `fc-list` lists, if it is installed: it searches more folders than `_folders`."""
    program = shutil.which("fc-list")
    if program is None:
        return
    try:
        listing = subprocess.run(
            [program, "--format", "%{file}\t%{index}\n"], capture_output=True, timeout=SEARCH_SECONDS, check=False
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return
    for line in listing.decode(errors="replace").splitlines():
        path, _, index = line.partition("\t")
        # Higher bits name a variation of the same font, with the same characters.
        if path.lower().endswith(ENDINGS) and index.isdecimal() and int(index) < 0x10000:
            yield FontFile(path, int(index))


def _find_in(folders: list[Path]) -> Iterator[FontFile]:
    for folder in folders:
        for place, _, names in os.walk(folder):
            for name in names:
                if name.lower().endswith(ENDINGS):
                    yield FontFile(str(Path(place, name)))


def _folders() -> list[Path]:
    home = Path.home()
    if sys.platform == "darwin":
        return [Path("/System/Library/Fonts"), Path("/Library/Fonts"), home / "Library" / "Fonts"]
    if sys.platform == "win32":
        own = os.environ.get("LOCALAPPDATA", str(home))
        return [Path(os.environ.get("WINDIR", "C:/Windows"), "Fonts"), Path(own, "Microsoft", "Windows", "Fonts")]
    return [Path("/usr/share/fonts"), Path("/usr/local/share/fonts"), home / ".fonts", home / ".local/share/fonts"]
