"""Checks of the weights that a `models.toml` names: versions, folders, licences, devices, memory and a short clip."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING

from reelbook.errors import ReelbookError

from ..dask_cluster import count_workers
from ..lanes import DASK
from .config import Weights, folders_of
from .folder import INSTALL, check_license, check_weights, find_damaged, read_record, weights_identity

if TYPE_CHECKING:
    from reelbook.doctor import Finding


def check_rows(rows: Sequence[Weights], *, deep: bool = False) -> Iterator[Finding]:
    """Yield a (passed, sentence) pair for each finding; a clip is made only where everything before was good."""
    findings = [*check_versions(), *_check_folders(rows, deep=deep)]
    yield from findings
    for device in dict.fromkeys(device for row in rows for device in row.devices):
        on_device = [row for row in rows if device in row.devices]
        yield _check_cluster(device) if device.startswith(DASK) else _check_device(device, on_device)
        if device.startswith("cuda") and all(passed for passed, _ in findings):
            yield from (_make_clip(row, device) for row in on_device)


def check_versions() -> Iterator[Finding]:
    """Each package of the extra, and whether its version is one of the tested range; those that are missing as one."""
    missing: list[str] = []
    try:
        from packaging.requirements import Requirement
    except ImportError:
        yield False, f"packaging is missing. {INSTALL.format('weights')}"
        return
    for line in requires("reelbook") or []:
        if 'extra == "weights"' not in line.replace("'", '"'):
            continue
        need = Requirement(line)
        try:
            installed = version(need.name)
        except PackageNotFoundError:
            missing.append(need.name)
            continue
        is_tested = need.specifier.contains(installed, prereleases=True)
        outside = "" if is_tested else f" is outside the tested {need.specifier}"
        yield is_tested, f"{need.name} {installed}{outside}"
    if missing:
        yield False, f"missing here: {', '.join(missing)}. {INSTALL.format('weights')}"


def _check_folders(rows: Sequence[Weights], *, deep: bool) -> Iterator[Finding]:
    """Whether each folder is complete, has a licence that is accepted, and the hashes that fetch recorded."""
    for row in rows:
        try:
            check_license(row)
            check_weights(row)
            yield True, f"{row.endpoint_id}: {row.folder} is complete ({weights_identity(row)})"
        except ReelbookError as error:
            yield False, str(error)
    for folder in dict.fromkeys(folder for row in rows for folder in folders_of(row) if folder.is_dir()):
        record = read_record(folder)
        if "license" in record:
            yield True, f"{folder}: fetched {str(record.get('date'))[:10]} under the licence {record['license']}"
        else:
            yield True, f"{folder}: it did not come by `reelbook weights fetch`, so read its licence yourself"
        if deep and (files := record.get("files")):
            if bad := find_damaged(folder, files):
                damaged = f"{len(bad)} of {len(files)} files are damaged, the first {bad[0]}"
                yield False, f"{folder}: {damaged}. Run `reelbook weights fetch models.toml` again."
            else:
                yield True, f"{folder}: all {len(files)} files have the hash that was recorded"


def _check_cluster(device: str) -> Finding:
    try:
        workers = asyncio.run(count_workers(device))
    except ImportError:
        return False, f"distributed is missing. {INSTALL.format('cluster')}"
    except ConnectionError as error:
        return False, f"{device}: {error}"
    return workers > 0, f"{device}: it has {workers} workers with a GPU; their cards are not checked from here"


def _check_device(device: str, rows: Sequence[Weights]) -> Finding:
    if device == "cpu":
        return True, "cpu: a real clip would take hours here, so none was made; set device to a GPU such as cuda:0"
    try:
        from .pipelines.engine import describe_device

        has_bfloat16, text = describe_device(device)
    except ImportError:
        return False, f"{device}: not checked, as torch is missing"
    except Exception as error:  # Whatever torch raises for a device that is not there.
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        return False, f"{device}: torch cannot use it ({reason})"
    if has_bfloat16 or all(row.dtype != "bfloat16" for row in rows):
        return True, f"{device}: {text}"
    return False, f'{device}: {text}; it emulates bfloat16, which is slow: write dtype = "float16"'


def _make_clip(row: Weights, device: str) -> Finding:
    """Nine frames at 480p with the engine itself; how long a step took, and the most memory."""
    try:
        from .pipelines.engine import make_trial_clip

        with tempfile.TemporaryDirectory(prefix="reelbook-doctor-", ignore_cleanup_errors=True) as folder:
            return True, f"{row.endpoint_id} on {device}: {make_trial_clip(row, device, Path(folder))}"
    except (ReelbookError, MemoryError, ImportError, RuntimeError) as error:
        return False, f"{row.endpoint_id} on {device}: no clip was made: {error}"
