"""What the rows of a `models.toml` need from a hub: repositories, each at a commit and with its folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .weights_row import BadWeights, WeightsRow

_COMMIT = re.compile(r"[0-9a-f]{40}")
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")


@dataclass(frozen=True, slots=True)
class Target:
    """A repository at a commit, and the folder that it is fetched into."""

    repository: str
    revision: str
    folder: Path
    accepted: frozenset[str]
    """The words of the licences that the owner has accepted in `models.toml`."""
    is_lora: bool = False


def list_targets(rows: Iterable[WeightsRow], loras: Sequence[str] = ()) -> list[Target]:
    """What the rows of a `models.toml` need from a hub, each once; raises `BadWeights` for anything but a commit."""
    rows, found = list(rows), dict[Path, Target]()
    for row in rows:
        pairs = [
            (row.repository, row.revision, row.folder),
            (row.upsampler_repository, row.upsampler_revision, row.upsampler),
        ]
        for repository, revision, folder in pairs:
            if folder is None or not repository:
                continue
            _add(found, _target(row.endpoint_id, repository, revision, folder, row.accepted_licenses))
    for lora in loras:
        _add(found, _lora_target(lora, rows))
    return list(found.values())


def _add(found: dict[Path, Target], target: Target) -> None:
    known = found.setdefault(target.folder, target)
    if (known.repository, known.revision, known.is_lora) != (target.repository, target.revision, target.is_lora):
        raise BadWeights(
            f"{target.folder} is the folder of two repositories or commits. Give each a folder of its own."
        )
    found[target.folder] = replace(target, accepted=known.accepted | target.accepted)


def _target(
    where: str, repository: str, revision: str, folder: Path, accepted: frozenset[str], is_lora: bool = False
) -> Target:
    if not _REPOSITORY.fullmatch(repository):
        raise BadWeights(f'{where}: repository is "organisation/name", and not {repository[:100]!r}.')
    if not _COMMIT.fullmatch(revision):
        raise BadWeights(
            f"{where}: revision is a commit of {repository}, 40 hex digits, and not {revision[:60]!r}. A branch or tag can change "
            "under the same name: open Files and versions of the repository, then History, and copy the commit."
        )
    return Target(repository, revision, folder, accepted, is_lora)


def _lora_target(lora: str, rows: Sequence[WeightsRow]) -> Target:
    repository, _, revision = lora.partition("@")
    folder = next((folder for row in rows for folder in row.lora_folders), None)
    if folder is None:
        raise BadWeights('There is no folder for LoRAs. Write folders = ["loras"] under [loras] in models.toml.')
    accepted = frozenset().union(*(row.accepted_licenses for row in rows))
    return _target(f"--lora {lora[:120]}", repository, revision, folder / repository.rpartition("/")[2], accepted, True)
