"""Checks of the weights that a `models.toml` names: versions, folders, licences, devices, memory and a short clip."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING

from .dask_cluster import RESOURCE, count_workers
from .lanes import DASK
from .weights.config import BadWeights, LtxWeights, WanWeights
from .weights.folder import check_weights, folders_of, read_record, weights_identity

if TYPE_CHECKING:
    from reelbook.doctor import Finding


def check_rows(rows: Sequence[LtxWeights | WanWeights], *, deep: bool = False) -> Iterator[Finding]:
    """Yield a (passed, sentence) pair for each finding; a clip is made only where everything before was good."""
    healthy = True
    for finding in (*check_versions(), *_check_folders(rows, deep=deep)):
        healthy = healthy and finding[0]
        yield finding
    for device in dict.fromkeys(device for row in rows for device in row.devices):
        on_device = [row for row in rows if device in row.devices]
        yield _check_device(device, on_device)
        if healthy and device.startswith("cuda"):
            yield from (_make_clip(row, device) for row in on_device)


def check_versions() -> Iterator[Finding]:
    """Each package of the extra, and whether its version is one of the tested range."""
    try:
        from packaging.requirements import Requirement
    except ImportError:
        yield False, "packaging is missing: pip install 'reelbook[weights]'"
        return
    for line in requires("reelbook") or []:
        if 'extra == "weights"' not in line.replace("'", '"'):
            continue
        need = Requirement(line)
        try:
            installed = version(need.name)
        except PackageNotFoundError:
            yield False, f"{need.name} is missing: pip install 'reelbook[weights]'"
            continue
        is_tested = need.specifier.contains(installed, prereleases=True)
        outside = "" if is_tested else f" is outside the tested {need.specifier}"
        yield is_tested, f"{need.name} {installed}{outside}"


def _check_folders(rows: Sequence[LtxWeights | WanWeights], *, deep: bool) -> Iterator[Finding]:
    """Whether each folder is complete, has the hashes that fetch recorded, and a licence that is accepted."""
    for row in rows:
        try:
            check_weights(row)
            yield True, f"{row.endpoint_id}: {row.folder} is complete ({weights_identity(row)})"
        except BadWeights as error:
            yield False, str(error)
    for folder in dict.fromkeys(folder for row in rows for folder in folders_of(row) if folder.is_dir()):
        try:
            record = read_record(folder)
        except BadWeights:
            record = {}
        word, when, files = record.get("license"), str(record.get("date", ""))[:10], record.get("files", {})
        accepted = all(str(word) in row.accepted_licenses for row in rows if folder in folders_of(row))
        if not word:
            yield True, f"{folder}: it did not come by `reelbook weights fetch`, so read its licence yourself"
        elif accepted:
            yield True, f"{folder}: licence {word}, accepted in the file, fetched {when}"
        else:
            yield (
                False,
                f'{folder}: licence {word} is not accepted. If you accept it, write accept_license = "{word}" under each model with these weights.',
            )
        if deep and files:
            bad = [name for name, digest in files.items() if not _has_hash(folder / name, digest)]
            damaged = f"{len(bad)} of {len(files)} files are damaged, the first {bad[0]}" if bad else ""
            sound = f"all {len(files)} files have the hash that was recorded"
            yield not bad, f"{folder}: {damaged}. Run `reelbook weights fetch` again." if bad else f"{folder}: {sound}"


def _has_hash(path: Path, digest: str) -> bool:
    """Whether a file has a hash as the hub states it: sha256 of large files, that of git for small ones."""
    if not path.is_file():
        return False
    if len(digest) == 40:
        content = path.read_bytes()
        return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest() == digest
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == digest


def _check_device(device: str, rows: Sequence[LtxWeights | WanWeights]) -> Finding:
    if device.startswith(DASK):
        try:
            count = asyncio.run(count_workers(device))
        except ImportError:
            return False, "distributed is missing: pip install 'reelbook[cluster]'"
        except ConnectionError as error:
            return False, f"{device}: {error}"
        return (
            count > 0,
            f"{device}: workers with the resource {RESOURCE}: {count}; their cards are not checked from here",
        )
    if device == "cpu":
        return True, "cpu: a real clip would take hours here, so none was made; set device to a GPU such as cuda:0"
    try:
        from .weights.pipelines.engine import describe_device

        has_bfloat16, text = describe_device(device)
    except ImportError:
        return False, f"{device}: not checked, as torch is missing"
    except Exception as error:  # Whatever torch raises for a device that is not there.
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        return False, f"{device}: torch cannot use it ({reason})"
    if has_bfloat16 or all(row.dtype != "bfloat16" for row in rows):
        return True, f"{device}: {text}"
    return False, f'{device}: {text}; it emulates bfloat16, which is slow: write dtype = "float16"'


def _make_clip(row: LtxWeights | WanWeights, device: str) -> Finding:
    """Nine frames at 480p with the engine itself; how long a step took, and the most memory."""
    try:
        from .weights.pipelines.engine import make_trial_clip

        with tempfile.TemporaryDirectory(prefix="reelbook-doctor-", ignore_cleanup_errors=True) as folder:
            return True, f"{row.endpoint_id} on {device}: {make_trial_clip(row, device, Path(folder))}"
    except (BadWeights, MemoryError, ImportError, RuntimeError) as error:
        return False, f"{row.endpoint_id} on {device}: no clip was made: {error}"
