"""Checks of the weights that a `models.toml` names: versions, folders, licences, devices, memory and a short clip."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .dask_cluster import RESOURCE, count_workers
from .lanes import DASK
from .weights.config import BadWeights, LtxWeights, WanWeights
from .weights.folder import check_weights, folders_of, read_record, weights_identity

if TYPE_CHECKING:
    from reelbook.doctor import Finding


def check_rows(rows: Sequence[LtxWeights | WanWeights], *, deep: bool = False) -> Iterator[Finding]:
    """Yield a (passed, sentence) pair for each finding; a clip is made only where everything before was good."""
    healthy = True
    for finding in (*check_versions(), *_check_folders(rows, deep=deep), *_check_licenses(rows)):
        healthy = healthy and finding[0]
        yield finding
    for device in dict.fromkeys(device for row in rows for device in row.devices):
        on_device = [row for row in rows if device in row.devices]
        yield from _check_device(device, on_device, is_healthy=healthy)


def check_versions() -> Iterator[Finding]:
    """Each package of the extra, and whether its version is one of the tested range."""
    try:
        from packaging.requirements import Requirement
    except ImportError:
        yield False, "packaging is missing: pip install 'reelbook[weights]'"
        return
    needed = [
        Requirement(line) for line in requires("reelbook") or [] if 'extra == "weights"' in line.replace("'", '"')
    ]
    for need in needed:
        try:
            installed = version(need.name)
        except PackageNotFoundError:
            yield False, f"{need.name} is missing: pip install 'reelbook[weights]'"
            continue
        is_tested = need.specifier.contains(installed, prereleases=True)
        outside = "" if is_tested else f" is outside the tested {need.specifier}"
        yield is_tested, f"{need.name} {installed}{outside}"


def _check_folders(rows: Sequence[LtxWeights | WanWeights], *, deep: bool) -> Iterator[Finding]:
    for row in rows:
        try:
            check_weights(row)
            yield True, f"{row.endpoint_id}: {row.folder} is complete ({weights_identity(row)})"
        except BadWeights as error:
            yield False, str(error)
    if deep:
        yield from (_check_hashes(folder) for folder in _folders(rows))


def _check_hashes(folder: Path) -> Finding:
    """Whether every file still has the hash that fetch recorded."""
    files = _read_record(folder).get("files", {})
    if not files:
        return True, f"{folder}: no hashes were recorded, as it did not come by `reelbook weights fetch`"
    bad = [name for name, digest in files.items() if not _has_hash(folder / name, digest)]
    if bad:
        return (
            False,
            f"{folder}: {len(bad)} of {len(files)} files are damaged, the first {bad[0]}. Run `reelbook weights fetch` again.",
        )
    return True, f"{folder}: all {len(files)} files have the hash that was recorded"


def _has_hash(path: Path, digest: str) -> bool:
    """Whether a file has a hash as the hub states it: sha256 of large files, that of git for small ones."""
    if not path.is_file():
        return False
    if len(digest) == 40:
        content = path.read_bytes()
        return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest() == digest
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == digest


def _check_licenses(rows: Sequence[LtxWeights | WanWeights]) -> Iterator[Finding]:
    for folder in _folders(rows):
        record = _read_record(folder)
        word, when = record.get("license"), str(record.get("date", ""))[:10]
        if not word:
            yield (
                True,
                f"{folder}: its licence is not recorded, as it did not come by `reelbook weights fetch`; read it yourself",
            )
        elif all(str(word) in row.accepted_licenses for row in rows if folder in folders_of(row)):
            yield True, f"{folder}: licence {word}, accepted in the file, fetched {when}"
        else:
            yield (
                False,
                f'{folder}: licence {word} is not accepted. If you accept it, write accept_license = "{word}" under each model with these weights.',
            )


def _check_device(device: str, rows: Sequence[LtxWeights | WanWeights], *, is_healthy: bool) -> Iterator[Finding]:
    if device.startswith(DASK):
        yield _check_cluster(device)
        return
    try:
        from .weights.pipelines.engine import read_device
    except ImportError:
        yield False, f"{device}: not checked, as torch is missing"
        return
    try:
        facts = read_device(device)
    except Exception as error:  # Whatever torch raises for a device that is not there.
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        yield False, f"{device}: torch cannot use it ({reason})"
        return
    if device == "cpu":
        yield True, "cpu: a real clip would take hours here, so none was made; set device to a GPU such as cuda:0"
        return
    wants_bf16 = any(row.dtype == "bfloat16" for row in rows)
    speech = "bfloat16" if facts.has_bfloat16 else "no bfloat16: it is emulated, and slow"
    yield (
        facts.has_bfloat16 or not wants_bf16,
        f"{device}: {facts.name}, {facts.free_gib:.1f} of {facts.total_gib:.1f} GiB free, CUDA {facts.cuda}, {speech}",
    )
    if is_healthy:
        yield from (_make_clip(row, device) for row in rows)


def _check_cluster(device: str) -> Finding:
    try:
        count = asyncio.run(count_workers(device))
    except ImportError:
        return False, "distributed is missing: pip install 'reelbook[cluster]'"
    except ConnectionError as error:
        return False, f"{device}: {error}"
    return count > 0, f"{device}: workers with the resource {RESOURCE}: {count}; their cards are not checked from here"


def _make_clip(row: LtxWeights | WanWeights, device: str) -> Finding:
    """Nine frames at 480p with the engine itself; how long a step took, and the most memory."""
    try:
        from .weights.pipelines.engine import make_trial_clip

        with tempfile.TemporaryDirectory(prefix="reelbook-doctor-", ignore_cleanup_errors=True) as folder:
            trial: Any = make_trial_clip(row, device, Path(folder))
    except (BadWeights, MemoryError, ImportError, RuntimeError) as error:
        return False, f"{row.endpoint_id} on {device}: no clip was made: {error}"
    return True, (
        f"{row.endpoint_id} on {device}: nine frames at 480p in {trial.seconds:.1f} s after {trial.load_seconds:.1f} s of loading, "
        f"{trial.step_seconds:.2f} s for each step, at most {trial.peak_gib:.1f} GiB"
    )


def _folders(rows: Sequence[LtxWeights | WanWeights]) -> list[Path]:
    return [folder for folder in dict.fromkeys(folder for row in rows for folder in folders_of(row)) if folder.is_dir()]


def _read_record(folder: Path) -> dict[str, Any]:
    try:
        return read_record(folder)
    except BadWeights:
        return {}
