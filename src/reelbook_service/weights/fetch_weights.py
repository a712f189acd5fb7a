"""Weights from a hub at a pinned commit: what a fetch would bring, its licence, and every file checked by its hash."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from reelbook.util.file_locks import try_lock
from reelbook.util.printable import printable

from .fetch_targets import Target
from .hub_errors import hub_errors
from .weights_folder import RECORD_NAME, read_record
from .weights_row import BadWeights

INSTALL = "Fetching weights needs the extra `weights`: pip install 'reelbook[weights]'"
SPARE_BYTES = 256 * 2**20
"""What stays free on the disk beside the files."""
LICENSE_LINES = 8

_VARIANT = re.compile(r"\.(fp16|bf16|fp32|non_ema)[.-]")
_TEXTS, _TOKENIZER = ("", ".txt", ".md"), (".json", ".model", ".txt")


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """One file of a repository."""

    name: str
    size: int
    digest: str
    """Its sha256 for large files, which is their etag, else the hash that git gives it."""


@dataclass(frozen=True, slots=True)
class License:
    """The licence of a repository, as stated there at that commit."""

    word: str
    source: str
    first_lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """What a fetch of one target brings; nothing of it is on the disk for that reason alone."""

    target: Target
    files: tuple[RemoteFile, ...]
    skipped: tuple[str, ...]
    """Names of files that are not fetched, because they could hold a program or no engine reads them."""

    @property
    def missing(self) -> list[RemoteFile]:
        """Files that are not in the folder, or with another length."""
        paths = ((one, self.target.folder / one.name) for one in self.files)
        return [one for one, path in paths if not path.is_file() or path.stat().st_size != one.size]


@dataclass(slots=True)
class FetchProgress:
    """How far a fetch is, for whoever displays it."""

    total: int = 0
    done: int = 0
    name: str = ""
    checked: list[str] = field(default_factory=list)


def open_hub() -> Any:
    """The hub as its own library reaches it: address and token are those that the user has set up for it."""
    try:
        from huggingface_hub import HfApi
    except ImportError:
        raise BadWeights(INSTALL) from None
    return HfApi(library_name="reelbook")


def list_files(hub: Any, target: Target) -> Listing:
    """The files of a repository at its commit that are fetched, by one question to the hub."""
    with hub_errors(target):
        entries = [
            one
            for one in hub.list_repo_tree(target.repository, recursive=True, revision=target.revision)
            if hasattr(one, "blob_id")
        ]
    is_pipeline = any(one.path == "model_index.json" for one in entries)
    wanted = [one for one in entries if is_wanted(one.path, target.is_lora, is_pipeline)]
    if not any(one.path.endswith(".safetensors") for one in wanted):
        raise BadWeights(
            f"{target.repository} has no safetensors that an engine here reads. Choose another repository or commit."
        )
    files = tuple(RemoteFile(one.path, one.size, one.lfs.sha256 if one.lfs else one.blob_id) for one in wanted)
    return Listing(target, files, tuple(sorted({one.path for one in entries} - {one.path for one in wanted})))


def is_wanted(name: str, is_lora: bool, is_pipeline: bool) -> bool:
    """Whether a file of a repository is fetched: weights, their tables, tokenizers, and texts about them.

    >>> names = ("model_index.json", "vae/config.json", "vae/model.safetensors", "LICENSE.md", "vae/model.bin", "run.py", "../x.json")
    >>> [is_wanted(name, False, True) for name in names]
    [True, True, True, True, False, False, False]
    """
    path = PurePosixPath(name)
    if ".." in path.parts or path.is_absolute() or "\\" in name or name.startswith(".") or _VARIANT.search(name):
        return False
    if len(path.parts) == 1 and (path.suffix == ".md" or path.stem.upper().startswith("LICENSE")):
        return path.suffix.lower() in _TEXTS
    if is_lora:
        return path.suffix == ".safetensors"
    if len(path.parts) == 1:
        is_bare = name == "config.json" or (
            name.startswith("diffusion_pytorch_model") and path.suffix in (".safetensors", ".json")
        )
        return name == "model_index.json" or (is_bare and not is_pipeline)
    if len(path.parts) != 2:
        return False
    return path.suffix in (".json", ".safetensors") or (path.parts[0] == "tokenizer" and path.suffix in _TOKENIZER)


def check_space(listings: Iterable[Listing]) -> None:
    """Raise `BadWeights` if a disk has not enough room for all that is missing on it."""
    needed: dict[int, tuple[int, Path]] = {}
    for listing in listings:
        place = next(
            path for path in (listing.target.folder, *listing.target.folder.absolute().parents) if path.exists()
        )
        disk = place.stat().st_dev
        needed[disk] = (needed.get(disk, (0, place))[0] + sum(one.size for one in listing.missing), place)
    for size, place in needed.values():
        free = shutil.disk_usage(place).free
        if size and size + SPARE_BYTES > free:
            raise BadWeights(
                f"The disk of {place} has {free / 1e9:.1f} GB free, and {size / 1e9:.1f} GB are to come. Nothing was "
                "fetched. Make room, or name a folder on another disk in models.toml."
            )


def read_license(hub: Any, listing: Listing) -> License:
    """The licence by the card and the file of the repository; both are read beside the folder, not into it."""
    names = [one.name for one in listing.files]
    text_name = next((name for name in names if name.upper().startswith("LICENSE")), "")
    with tempfile.TemporaryDirectory(prefix="reelbook-license-", ignore_cleanup_errors=True) as folder:
        paths = {
            name: _download(hub, listing.target, name, Path(folder))
            for name in ("README.md", text_name)
            if name in names
        }
        card = _read_card(paths.get("README.md"))
        text = paths[text_name].read_text(encoding="utf-8", errors="replace") if text_name else ""
    stated = card.get("license")
    word = card.get("license_name") if stated in (None, "other") and card.get("license_name") else stated
    word = "+".join(map(str, word)) if isinstance(word, list) else str(word or "none-stated")
    word = re.sub(r"[\s,]+", "-", printable(word).strip())[:80]  # One word, as `accept_license` separates several.
    lines = [printable(line.strip())[:120] for line in text[:20_000].splitlines() if line.strip()]
    return License(word, text_name, tuple(lines[:LICENSE_LINES]))


def is_accepted(listing: Listing, license: License) -> bool:
    """Whether `models.toml` has the word of this licence."""
    return license.word in listing.target.accepted


def fetch(hub: Any, listing: Listing, license: License, progress: FetchProgress) -> None:
    """Bring the folder to exactly the files of the commit, each checked as it finishes, and record it there.

    One file after the other: the hub's library loads the parts of a file in parallel itself, and Ctrl-C ends it at once.
    """
    folder = listing.target.folder
    if not is_accepted(listing, license):
        raise BadWeights(f"The licence {license.word} of {listing.target.repository} is not accepted in models.toml.")
    progress.total, progress.done = sum(one.size for one in listing.files), 0
    with _locked(folder):
        remove_orphans(folder)
        _remove_other_record(listing.target)
        hashes, bad = {}, []
        for one in listing.files:
            progress.name, before = one.name, progress.done
            found = _check(folder, one)
            if found is None:
                _download(hub, listing.target, one.name, folder, progress)
                found = _check(folder, one)
            if found is None:
                bad.append(one.name)
            else:
                hashes[one.name] = found
                progress.checked.append(one.name)
            progress.done = before + one.size
        if bad:
            raise BadWeights(
                f"{len(bad)} of {len(listing.files)} files arrived damaged and were removed: {', '.join(bad[:5])}. "
                "The others are there and sound. Run the command again."
            )
        _write_record(listing, license, hashes)


def remove_orphans(folder: Path) -> int:
    """Remove the parts of files that a killed fetch left behind; the library never reads them again."""
    orphans = list((folder / ".cache" / "huggingface" / "download").rglob("*.incomplete"))
    for path in orphans:
        path.unlink(missing_ok=True)
    return len(orphans)


def _read_card(path: Path | None) -> Mapping[str, Any]:
    from huggingface_hub import metadata_load

    try:
        return (metadata_load(path) or {}) if path else {}
    except Exception:  # A card that is no YAML states no licence, whatever the parser calls its trouble.
        return {}


def _download(hub: Any, target: Target, name: str, folder: Path, progress: FetchProgress | None = None) -> Path:
    from .fetch_bar import bar_class

    with hub_errors(target):
        bars = bar_class(progress or FetchProgress())
        return Path(
            hub.hf_hub_download(target.repository, name, revision=target.revision, local_dir=folder, tqdm_class=bars)
        )


def _check(folder: Path, one: RemoteFile) -> str | None:
    """The sha256 of a file that is the one of the commit; any other is removed."""
    path = folder / one.name
    if not path.is_file():
        return None
    sha256, git = hashlib.sha256(), hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(2**22):
            sha256.update(block)
            if len(one.digest) == 40:
                git.update(block)
    if one.digest in (sha256.hexdigest(), git.hexdigest()):
        return sha256.hexdigest()
    path.unlink()
    (folder / ".cache" / "huggingface" / "download" / f"{one.name}.metadata").unlink(missing_ok=True)
    return None


def _remove_other_record(target: Target) -> None:
    """Remove the record of another commit; one of the same holds what the files must be, also while some are missing."""
    try:
        is_same = read_record(target.folder).get("revision") == target.revision
    except BadWeights:
        is_same = False
    if not is_same:
        (target.folder / RECORD_NAME).unlink(missing_ok=True)


def _write_record(listing: Listing, license: License, hashes: Mapping[str, str]) -> None:
    target = listing.target
    record = {
        "repository": target.repository, "revision": target.revision, "license": license.word, "accepted": license.word,
        "date": datetime.now(UTC).isoformat(timespec="seconds"), "files": dict(sorted(hashes.items())),
    }  # fmt: skip
    partial = target.folder / f"{RECORD_NAME}.partial"
    partial.write_text(json.dumps(record, indent=1), encoding="utf-8")
    partial.replace(target.folder / RECORD_NAME)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    (folder / ".cache").mkdir(parents=True, exist_ok=True)
    with (folder / ".cache" / "reelbook-fetch.lock").open("a+") as lock:
        if not try_lock(lock.fileno()):
            raise BadWeights(f"Another fetch writes into {folder}. Wait for it, or stop it first.")
        yield
