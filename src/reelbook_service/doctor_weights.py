"""Checks of the weights that a `models.toml` names: versions, devices, memory, folders, licences and a short clip."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .dask_cluster import RESOURCE, cluster_address, count_workers
from .lanes import DASK
from .weights.memory_plan import CONTEXT_GIB, MARGIN, advise_memory, plan_card, propose_setting
from .weights.weights_folder import check_weights, read_record, weights_identity
from .weights.weights_row import BadWeights, WeightsRow

if TYPE_CHECKING:
    from reelbook.doctor import Finding


def check_weights_file(path: Path, *, deep: bool = False) -> Iterator[Finding]:
    """Check the weights of a `models.toml`, and yield a (passed, sentence) pair for each finding."""
    from reelbook.errors import ReelbookError

    from .weights_command import read_rows

    try:
        rows = read_rows(path)
    except ReelbookError as error:
        yield False, str(error)
        return
    yield from check_rows(rows, deep=deep)


def check_rows(rows: Sequence[WeightsRow], *, deep: bool = False) -> Iterator[Finding]:
    """The same for rows that were read already; a clip is made only where everything before was good."""
    healthy = True
    for finding in (*check_versions(), *_check_folders(rows, deep=deep), *_check_licenses(rows)):
        healthy = healthy and finding[0]
        yield finding
    for device in dict.fromkeys(device for row in rows for device in row.devices):
        on_device = [row for row in rows if device in row.devices]
        yield from _check_device(device, on_device, makes_clip=healthy)


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
            found = version(need.name)
        except PackageNotFoundError:
            yield False, f"{need.name} is missing: pip install 'reelbook[weights]'"
            continue
        good = need.specifier.contains(found, prereleases=True)
        yield good, f"{need.name} {found}" if good else f"{need.name} {found} is outside the tested {need.specifier}"


def _check_folders(rows: Sequence[WeightsRow], *, deep: bool) -> Iterator[Finding]:
    for row in rows:
        try:
            check_weights(row)
            yield True, f"{row.endpoint_id}: {row.folder} is complete ({weights_identity(row)})"
        except BadWeights as error:
            yield False, str(error)
    if deep:
        yield from (_check_hashes(folder) for folder in _folders(rows))


def _check_hashes(folder: Path) -> Finding:
    """Whether every file still has the sha256 that fetch recorded."""
    files = _read_record(folder).get("files", {})
    if not files:
        return True, f"{folder}: no hashes were recorded, as it did not come by `reelbook weights fetch`"
    bad = [name for name, digest in files.items() if not (folder / name).is_file() or _sha256(folder / name) != digest]
    if bad:
        return (
            False,
            f"{folder}: {len(bad)} of {len(files)} files are damaged, the first {bad[0]}. Run `reelbook weights fetch` again.",
        )
    return True, f"{folder}: all {len(files)} files have the hash that was recorded"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_licenses(rows: Sequence[WeightsRow]) -> Iterator[Finding]:
    for folder in _folders(rows):
        record = _read_record(folder)
        word, when = record.get("license"), str(record.get("date", ""))[:10]
        owners = [row for row in rows if folder in (row.folder, row.upsampler)]
        if not word:
            yield (
                True,
                f"{folder}: its licence is not recorded, as it did not come by `reelbook weights fetch`; read it yourself",
            )
        elif all(str(word) in row.accepted_licenses for row in owners):
            yield True, f"{folder}: licence {word}, accepted in the file, fetched {when}"
        else:
            yield (
                False,
                f'{folder}: licence {word} is not accepted. If you accept it, write accept_license = "{word}" under each model with these weights.',
            )


def _check_cluster(device: str) -> Finding:
    try:
        count = asyncio.run(count_workers(cluster_address(device)))
    except ImportError:
        return False, "distributed is missing: pip install 'reelbook[cluster]'"
    except ConnectionError as error:
        return False, f"{device}: {error}"
    return count > 0, f"{device}: workers with the resource {RESOURCE}: {count}; their cards are not checked from here"


def _check_device(device: str, rows: Sequence[WeightsRow], *, makes_clip: bool) -> Iterator[Finding]:
    if device.startswith(DASK):
        yield _check_cluster(device)
        return
    try:
        from .weights.pipelines.device_facts import read_device
    except ImportError:
        yield False, f"{device}: not checked, as torch is missing"
        return
    try:
        facts = read_device(device)
    except Exception as error:  # Whatever torch raises for a device that is not there.
        yield (
            False,
            f"{device}: torch cannot use it ({str(error).splitlines()[0][:200] if str(error) else type(error).__name__})",
        )
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
    yield from check_memory(rows, facts.total_gib)
    if makes_clip:
        yield from (_make_clip(row, device) for row in rows)


def check_memory(rows: Sequence[WeightsRow], card: float) -> Iterator[Finding]:
    """For each row whether it fits on a card of so many GiB, and which setting would; and whether all can stay loaded."""
    for row in rows:
        yield propose_setting(row, card) == row, f"{row.endpoint_id}: {advise_memory(row, card)}"
    if len({row.folder for row in rows}) > 1:
        together = plan_card(rows, max_loaded=len(rows))
        fits = together * MARGIN + CONTEXT_GIB <= card
        yield (
            True,
            f"all of them loaded at once take {together:.1f} GiB, which {'fits' if fits else 'does not fit: the least recently used one is unloaded'}",
        )


def _make_clip(row: WeightsRow, device: str) -> Finding:
    """Nine frames at 480p with the engine itself; how long a step took, and the most memory."""
    try:
        from .weights.pipelines.trial_clip import make_trial_clip

        with tempfile.TemporaryDirectory(prefix="reelbook-doctor-", ignore_cleanup_errors=True) as folder:
            trial: Any = make_trial_clip(replace(row, devices=(device,)), device, Path(folder))
    except (BadWeights, MemoryError, ImportError, RuntimeError) as error:
        return False, f"{row.endpoint_id} on {device}: no clip was made: {error}"
    return True, (
        f"{row.endpoint_id} on {device}: nine frames at 480p in {trial.seconds:.1f} s after {trial.load_seconds:.1f} s of loading, "
        f"{trial.step_seconds:.2f} s for each step, at most {trial.peak_gib:.1f} GiB"
    )


def _folders(rows: Sequence[WeightsRow]) -> list[Path]:
    found = dict.fromkeys(folder for row in rows for folder in (row.folder, row.upsampler) if folder is not None)
    return [folder for folder in found if folder.is_dir()]


def _read_record(folder: Path) -> dict[str, Any]:
    try:
        return read_record(folder)
    except BadWeights:
        return {}
