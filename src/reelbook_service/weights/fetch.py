"""Weights from a hub at a pinned commit: what would come, under which licence, and every file checked by its hash."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from reelbook.util.printable import printable
from reelbook.util.replace_file import replace_file

from .config import BadWeights, LtxWeights, WanWeights
from .folder import RECORD_NAME, read_record

INSTALL = "Fetching weights needs the extra `weights`: pip install 'reelbook[weights]'"
SPARE_BYTES = 256 * 2**20
"""What stays free on the disk in addition to the files."""
LICENSE_LINES = 8

TEXTS = ("*.md", "LICENSE", "LICENSE.txt", "*icense*.txt")
PIPELINE = (
    "model_index.json", "*/*.json", "*/*.safetensors", "tokenizer/*.model", "tokenizer/*.txt",
    "config.json", "diffusion_pytorch_model*.safetensors", "diffusion_pytorch_model*.json",
)  # fmt: skip
"""The files of a pipeline, and those of a bare model: nothing that could hold a program."""
LORA = ("*.safetensors",)
IGNORED = ("*/*/*", ".*", "*..*", *(f"*.{kind}[.-]*" for kind in ("fp16", "bf16", "fp32", "non_ema")))

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

    @property
    def patterns(self) -> dict[str, Any]:
        """Which of its files are fetched, as the hub's library takes it."""
        return {"allow_patterns": [*TEXTS, *(LORA if self.is_lora else PIPELINE)], "ignore_patterns": list(IGNORED)}


@dataclass(frozen=True, slots=True)
class Listing:
    """What a fetch of one target brings; nothing of it is on the disk for that reason alone."""

    target: Target
    names: tuple[str, ...]
    size: int
    missing: int
    """The bytes that are not in the folder yet."""
    license: str
    """The word of its licence, as stated there at that commit."""
    license_file: str
    license_lines: tuple[str, ...]

    @property
    def is_accepted(self) -> bool:
        """Whether `models.toml` has the word of its licence."""
        return self.license in self.target.accepted


def list_targets(rows: Sequence[LtxWeights | WanWeights], loras: Sequence[str] = ()) -> list[Target]:
    """What the rows of a `models.toml` need from a hub, each once; raises `BadWeights` for anything but a commit."""
    wanted = []
    for row in rows:
        wanted.append((row.endpoint_id, row.repository, row.revision, row.folder, row.accepted_licenses))
        if isinstance(row, LtxWeights) and row.upsampler is not None:
            source = row.upsampler_repository, row.upsampler_revision, row.upsampler
            wanted.append((row.endpoint_id, *source, row.accepted_licenses))
    targets: dict[Path, Target] = {}
    found = [_target(*parts) for parts in wanted if parts[1]]
    for target in (*found, *(_lora_target(lora, rows) for lora in loras)):
        same = targets.setdefault(target.folder, target)
        if replace(same, accepted=target.accepted) != target:
            raise BadWeights(
                f"{target.folder} is the folder of two repositories or commits. Give each a folder of its own."
            )
        targets[target.folder] = replace(target, accepted=same.accepted | target.accepted)
    return list(targets.values())


def _target(
    where: str, repository: str, revision: str, folder: Path, accepted: frozenset[str], is_lora: bool = False
) -> Target:
    if not _REPOSITORY.fullmatch(repository):
        raise BadWeights(f'{where}: repository is "organisation/name", and not {repository[:100]!r}.')
    if not _COMMIT.fullmatch(revision):
        raise BadWeights(
            f"{where}: revision is a commit of {repository}, 40 hex digits, and not {revision[:60]!r}. A branch or tag can "
            "change under the same name: open Files and versions of the repository, then History, and copy the commit."
        )
    return Target(repository, revision, folder, accepted, is_lora)


def _lora_target(lora: str, rows: Sequence[LtxWeights | WanWeights]) -> Target:
    repository, _, revision = lora.partition("@")
    folders = [folder for row in rows if isinstance(row, LtxWeights) for folder in row.loras.folders]
    if not folders:
        raise BadWeights('There is no folder for LoRAs. Write folders = ["loras"] under [loras] in models.toml.')
    accepted = frozenset[str]().union(*(row.accepted_licenses for row in rows))
    folder = folders[0] / repository.rpartition("/")[2]
    return _target(f"--lora {lora[:120]}", repository, revision, folder, accepted, is_lora=True)


def open_hub() -> Any:
    """The hub as its own library reaches it: address and token are those that the user has set up for it."""
    try:
        from huggingface_hub import HfApi
    except ImportError:
        raise BadWeights(INSTALL) from None
    return HfApi(library_name="reelbook")


def list_files(hub: Any, target: Target) -> Listing:
    """The files of a repository at its commit that are fetched, and its licence; only texts are read."""
    with _hub_errors(target):
        files = hub.snapshot_download(
            target.repository, revision=target.revision, local_dir=target.folder, dry_run=True, **target.patterns
        )
        names = tuple(sorted(file.filename for file in files))
        if not any(name.endswith(".safetensors") for name in names):
            raise BadWeights(
                f"{target.repository} has no safetensors that an engine here reads. Choose another repository or commit."
            )
        license_file = next((name for name in names if "license" in name.lower()), "")
        texts = {"README.md": "", license_file: ""}
        # Into a folder of its own: before the licence is accepted, nothing comes into the owner's.
        with tempfile.TemporaryDirectory(prefix="reelbook-license-", ignore_cleanup_errors=True) as folder:
            for name in texts.keys() & set(names):
                path = hub.hf_hub_download(target.repository, name, revision=target.revision, local_dir=folder)
                texts[name] = Path(path).read_text(encoding="utf-8", errors="replace")
    lines = [printable(line.strip())[:120] for line in texts[license_file][:20_000].splitlines() if line.strip()]
    size = sum(file.file_size or 0 for file in files)
    missing = sum(file.file_size or 0 for file in files if file.will_download)
    word = _license_word(texts["README.md"])
    return Listing(target, names, size, missing, word, license_file, tuple(lines[:LICENSE_LINES]))


def _license_word(card: str) -> str:
    """What the card of a repository states as its licence, as one word: `accept_license` separates several."""
    from huggingface_hub import ModelCard

    try:
        stated: Mapping[str, Any] = ModelCard(card, ignore_metadata_errors=True).data.to_dict()
    except Exception:  # A card that is no YAML states no licence, whatever the parser calls its trouble.
        stated = {}
    name = stated.get("license")
    name = stated.get("license_name", name) if name in (None, "other") else name
    text = "+".join(map(str, name)) if isinstance(name, list) else str(name or "none-stated")
    return re.sub(r"[\s,]+", "-", printable(text).strip())[:80]


def check_space(listings: Iterable[Listing]) -> None:
    """Raise `BadWeights` if a disk has not enough room for all that is missing on it."""
    needed: dict[Path, int] = {}
    for listing in listings:
        folder = listing.target.folder.absolute()
        existing = next(path for path in (folder, *folder.parents) if path.exists())
        same = next((path for path in needed if path.stat().st_dev == existing.stat().st_dev), existing)
        needed[same] = needed.get(same, 0) + listing.missing
    for existing, size in needed.items():
        free = shutil.disk_usage(existing).free
        if size and size + SPARE_BYTES > free:
            raise BadWeights(
                f"The disk of {existing} has {free / 1e9:.1f} GB free, and {size / 1e9:.1f} GB are needed. Nothing was "
                "fetched. Free some space, or name a folder on another disk in models.toml."
            )


def fetch(hub: Any, listing: Listing) -> None:
    """Bring the folder to exactly the files of the commit, check each by its hash, and record it there."""
    target, folder = listing.target, listing.target.folder
    if not listing.is_accepted:
        raise BadWeights(f"The licence {listing.license} of {target.repository} is not accepted in models.toml.")
    folder.mkdir(parents=True, exist_ok=True)
    # The record of the same commit holds what the files must be, also while some are missing; another one is out of date.
    with suppress(BadWeights):
        if read_record(folder).get("revision") != target.revision:
            (folder / RECORD_NAME).unlink(missing_ok=True)
    # A killed fetch leaves these behind, gigabytes each, and the library never reads them again.
    for path in (folder / ".cache" / "huggingface").rglob("*.incomplete"):
        path.unlink(missing_ok=True)
    with _hub_errors(target):
        for _ in range(2):  # What was damaged on the disk comes again; what arrives damaged twice is the hub's.
            if not (bad := _fetch_once(hub, listing)):
                break
        else:
            raise BadWeights(
                f"{len(bad)} of {len(listing.names)} files arrived damaged and were removed: {', '.join(bad[:5])}. "
                "The others are there and sound. Run the command again."
            )
        entries = hub.list_repo_tree(target.repository, recursive=True, revision=target.revision)
        wanted = [entry for entry in entries if entry.path in listing.names]
    record = {
        "repository": target.repository, "revision": target.revision, "license": listing.license,
        "accepted": listing.license, "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "files": {entry.path: entry.lfs.sha256 if entry.lfs else entry.blob_id for entry in wanted},
    }  # fmt: skip
    replace_file(folder / RECORD_NAME, json.dumps(record, indent=1).encode())


def _fetch_once(hub: Any, listing: Listing) -> list[str]:
    """Fetch what is missing, and remove and name the files whose hash is not that of the commit."""
    target, folder = listing.target, listing.target.folder
    commit = {"revision": target.revision, "local_dir": folder}
    hub.snapshot_download(target.repository, **commit, **target.patterns)
    # The library takes any content of the right length.
    checked = hub.verify_repo_checksums(target.repository, **commit)
    bad = {mismatch["path"] for mismatch in checked.mismatches} | set(checked.missing_paths)
    for name in bad & set(listing.names):
        (folder / name).unlink(missing_ok=True)
        (folder / ".cache" / "huggingface" / "download" / f"{name}.metadata").unlink(missing_ok=True)
    return sorted(bad & set(listing.names))


@contextmanager
def _hub_errors(target: Target) -> Iterator[None]:
    """Turn what the hub's library raises in the block into `BadWeights`: its own message, then what to do."""
    from huggingface_hub.errors import DryRunError, GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    advice = {
        GatedRepoError: "Its owners ask for consent: give it on the page of the repository, then log in with `hf auth login` or set HF_TOKEN.",
        RepositoryNotFoundError: "Check its name; if it is private, log in with `hf auth login` or set HF_TOKEN.",
        RevisionNotFoundError: "The repository has no such commit: copy it from its History.",
    }
    try:
        yield
    except BadWeights:
        raise
    except Exception as error:
        cause = error.__cause__ if isinstance(error, DryRunError) and error.__cause__ else error
        # Its errors, those of files and connections, and those of the HTTP library, whose name differs between versions.
        if not isinstance(cause, (OSError, ValueError, RuntimeError)) and "http" not in type(cause).__module__:
            raise
        what = next((text for kind, text in advice.items() if isinstance(cause, kind)), None)
        message = " ".join(printable(str(cause)).split())[:600] or type(cause).__name__
        raise BadWeights(
            f"{target.repository}: {message} {what or 'What has arrived stays: run the command again.'}"
        ) from None
