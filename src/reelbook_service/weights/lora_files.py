"""LoRA files, found inside the folders that the owner of the service opened."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from reelbook.util.printable import format_line

from .config import LoRAError, LoRAFolders

MAX_NAMED = 10
"""Names that a sentence lists at most."""
MAX_PART_BYTES, MAX_PATH_BYTES = 200, 1000
"""File systems refuse longer names with an error instead of an answer."""


def find_lora(settings: LoRAFolders, path: str, weight_name: str | None) -> Path:
    """The file that a request's `path` names; never an address, and never a file outside the folders."""
    name = _plain_name(path)
    for folder in settings.folders:
        # What a link leads to counts: nothing outside is named, neither a file nor what a folder has.
        if not _is_inside(folder / name, folder):
            continue
        for candidate in _candidates(folder / name, path, weight_name):
            found = candidate.resolve()
            if found.is_file() and _is_inside(found, folder):
                if found.suffix != ".safetensors" or candidate.suffix != ".safetensors":
                    raise LoRAError(
                        f"{name} is not a .safetensors file. Other kinds can run programs, so none is opened."
                    )
                if (size := found.stat().st_size) > settings.most_mib * 2**20:
                    raise LoRAError(
                        f"{name} has {size / 2**20:,.0f} MiB; this service takes LoRAs of {settings.most_mib:,} MiB at most."
                    )
                return found
    raise LoRAError(f"There is no LoRA {name!r} here. {_names_in(settings.folders)}")


def _plain_name(path: str) -> str:
    """The path if it can only be a name inside a folder."""
    parts, name = PurePosixPath(path).parts, format_line(path)[:80]
    if "://" in path or path.startswith(("/", "~")) or "\\" in path or ".." in parts:
        raise LoRAError(
            f"The LoRA {name!r} is not a name in this service's LoRA folders. Addresses and other paths are never read: "
            "give the name of a file there, without a leading slash."
        )
    if not parts or not path.isprintable():
        raise LoRAError(f"The LoRA {name!r} is not the name of a file.")
    if len(path.encode()) > MAX_PATH_BYTES or max(len(part.encode()) for part in parts) > MAX_PART_BYTES:
        raise LoRAError(f"The LoRA {name!r} is not the name of a file.")
    return path


def _is_inside(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # Links in a circle.
        return False


def _candidates(near: Path, path: str, weight_name: str | None) -> list[Path]:
    if not near.is_dir():
        return [near, near.with_name(f"{near.name}.safetensors")]
    held = sorted(near.glob("*.safetensors"))
    names = ", ".join(one.stem for one in held[:MAX_NAMED])
    if weight_name:
        held = [one for one in held if weight_name in (one.name, one.stem)]
        if not held:
            raise LoRAError(f"{path!r} has no LoRA {format_line(weight_name)[:80]!r}. It has: {names or 'none'}.")
    elif len(held) > 1:
        raise LoRAError(f"{path!r} has several LoRAs. Say which by `weight_name`: {names}.")
    return held


def _names_in(folders: Sequence[Path]) -> str:
    names = sorted(
        {one.stem for folder in folders for one in folder.glob("*.safetensors")}
        | {one.name for folder in folders for one in folder.glob("*") if one.is_dir()}
    )
    if not names:
        return "This service has no LoRAs; names of a hub and addresses are never read."
    return f"Those here are: {', '.join(names[:MAX_NAMED])}{' …' if len(names) > MAX_NAMED else ''}."
