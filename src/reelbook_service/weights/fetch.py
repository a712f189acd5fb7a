"""The command `reelbook weights fetch`: weights from a hub at a pinned commit, with their licence, each file checked by its hash."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from reelbook.util.printable import format_count, format_size, printable
from reelbook.util.replace_file import replace_file

from .config import BadWeights, LtxWeights, Weights, folders_of
from .folder import RECORD_NAME, find_damaged, read_record

if TYPE_CHECKING:
    from argparse import _SubParsersAction

HELP = """\
Fetch the weights that a models.toml names, at the commits that it names. First it lists what would come, how large it is
and under which licence; then it asks. Each file is checked by its hash; run it again to continue with the missing files.
"""
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


def add_weights_command(commands: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `weights` and its own command to those of `reelbook`."""
    weights = commands.add_parser("weights", help="weights for your own GPU")
    actions = weights.add_subparsers(required=True, metavar="ACTION")
    parser = actions.add_parser("fetch", help="fetch what models.toml names", description=HELP)
    parser.add_argument("file", type=Path, help="the models.toml")
    parser.add_argument(
        "--lora",
        action="append",
        default=[],
        metavar="ORG/NAME@COMMIT",
        help="a LoRA for the folder of LoRAs; repeatable",
    )
    parser.add_argument("--yes", action="store_true", help="do not ask; licences are accepted in the file only")
    parser.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> int:
    from ..hosted.models_file import read_models_file

    rows = tuple(read_models_file(options.file).weights.values())
    targets = list_targets(rows, options.lora)
    if not targets:
        raise BadWeights(
            f'No model of {options.file} with engine = "diffusers" names a repository. Write repository and revision, a commit.'
        )
    hub = open_hub()
    listings = [list_files(hub, target) for target in targets]
    check_space(listings)
    for listing in listings:
        print(listing.text)
    for row in rows:
        missing = [
            folder for folder in folders_of(row) if not folder.is_dir() and folder not in {t.folder for t in targets}
        ]
        for folder in missing:
            print(printable(f"{folder} is not there and names no repository, so it is not fetched"))
    if words := sorted({listing.license for listing in listings if not listing.is_accepted}):
        raise BadWeights(
            f"Nothing was fetched. Read the licence; if you accept it, write accept_license = "
            f'"{", ".join(words)}" under the model in {options.file}, and run this again.'
        )
    size = format_size(sum(listing.missing for listing in listings))
    if not options.yes and not _confirm(f"Fetch {size}? [y/N] "):
        print("Nothing was fetched.")
        return 1
    for listing in listings:
        fetch(hub, listing)
        files = format_count(len(listing.digests), "file")
        print(printable(f"{listing.target.folder}: {files}, each with its hash as in the commit"))
    return 0


def _confirm(question: str) -> bool:
    try:
        return input(question).strip().lower() in ("y", "yes")
    except EOFError:
        return False


@dataclass(frozen=True, slots=True)
class Target:
    """A repository at a commit, and the folder that it is fetched into."""

    repository: str
    revision: str
    folder: Path
    accepted: frozenset[str] = field(compare=False)
    """The words of the licences that the owner has accepted in `models.toml`, where something needs it."""
    kinds: tuple[str, ...] = PIPELINE
    """Which of its files are fetched in addition to its texts."""

    @property
    def patterns(self) -> dict[str, Any]:
        """Commit and files, as the hub's library takes them."""
        return {"revision": self.revision, "allow_patterns": [*TEXTS, *self.kinds], "ignore_patterns": list(IGNORED)}


@dataclass(frozen=True, slots=True)
class Listing:
    """What a fetch of one target brings; nothing of it is on the disk for that reason alone."""

    target: Target
    digests: Mapping[str, str]
    """The hash of each file, as the hub states it."""
    missing: int
    """The bytes that are not in the folder yet."""
    license: str
    """The word of its licence, as stated there at that commit."""
    text: str
    """All of it in words, with the first lines of the licence."""

    @property
    def is_accepted(self) -> bool:
        """Whether `models.toml` has the word of its licence."""
        return self.license in self.target.accepted


def list_targets(rows: Sequence[Weights], loras: Sequence[str] = ()) -> list[Target]:
    """What the rows of a `models.toml` need from a hub, each once; raises `BadWeights` for anything but a commit."""
    wanted: list[Target] = []
    with_loras = [row for row in rows if isinstance(row, LtxWeights) and row.loras.folders]
    for row in rows:
        if row.repository:
            wanted.append(Target(row.repository, row.revision, row.folder, row.accepted_licenses))
        if isinstance(row, LtxWeights) and row.upsampler is not None and row.upsampler_repository:
            source = row.upsampler_repository, row.upsampler_revision, row.upsampler
            wanted.append(Target(*source, row.accepted_licenses))
    for lora in loras:
        if not with_loras:
            raise BadWeights('There is no folder for LoRAs. Write folders = ["loras"] under [loras] in models.toml.')
        repository, _, revision = lora.partition("@")
        folder = with_loras[0].loras.folders[0] / repository.rpartition("/")[2]
        wanted += [Target(repository, revision, folder, row.accepted_licenses, LORA) for row in rows]
    targets: dict[Target, Target] = {}
    for target in wanted:
        accepted = targets[target].accepted if target in targets else frozenset()
        targets[target] = replace(target, accepted=accepted | target.accepted)
    for target in targets:
        if not _REPOSITORY.fullmatch(target.repository):
            raise BadWeights(f'A repository is "organisation/name", and not {target.repository[:100]!r}.')
        if not _COMMIT.fullmatch(target.revision):
            raise BadWeights(
                f"The revision of {target.repository} is a commit, 40 hex digits, and not {target.revision[:60]!r}. A branch or "
                "tag can change under the same name: open Files and versions of the repository, then History, and copy the "
                "commit."
            )
        if sum(other.folder == target.folder for other in targets) > 1:
            raise BadWeights(
                f"{target.folder} is the folder of two repositories or commits. Give each a folder of its own."
            )
    return list(targets.values())


def open_hub() -> Any:
    """The hub as its own library reaches it: address and token are those that the user has set up for it."""
    try:
        from huggingface_hub import HfApi
    except ImportError:
        words = "Fetching weights needs the extra `weights`: pip install 'reelbook[weights]'"
        raise BadWeights(words) from None
    return HfApi(library_name="reelbook")


def list_files(hub: Any, target: Target) -> Listing:
    """The files of a repository at its commit that are fetched, and its licence; only texts are read."""
    with _hub_errors(target):
        files = hub.snapshot_download(target.repository, local_dir=target.folder, dry_run=True, **target.patterns)
        names = {file.filename for file in files}
        entries = hub.list_repo_tree(target.repository, recursive=True, revision=target.revision)
        digests = {item.path: item.lfs.sha256 if item.lfs else item.blob_id for item in entries if item.path in names}
        if not any(name.endswith(".safetensors") for name in names):
            raise BadWeights(
                f"{target.repository} has no safetensors that an engine here reads. Choose another repository or commit."
            )
        license_file = next((name for name in sorted(names) if "license" in name.lower()), "")
        texts = {"README.md": "", license_file: ""}
        # Into a folder of its own: before the licence is accepted, nothing comes into the owner's.
        with tempfile.TemporaryDirectory(prefix="reelbook-license-", ignore_cleanup_errors=True) as folder:
            for name in texts.keys() & names:
                path = hub.hf_hub_download(target.repository, name, revision=target.revision, local_dir=folder)
                texts[name] = Path(path).read_text(encoding="utf-8", errors="replace")
    size = sum(file.file_size or 0 for file in files)
    missing = sum(file.file_size or 0 for file in files if file.will_download)
    word, source = _license_word(texts["README.md"]), f": {license_file}" if license_file else ""
    lines = [line.strip()[:120] for line in texts[license_file][:20_000].splitlines() if line.strip()]
    text = (
        f"{target.repository} at {target.revision[:12]} → {target.folder}",
        f"  {format_count(len(names), 'file')}, {format_size(size)}; to come: {format_size(missing)}",
        f"  licence {word}, as stated there; please read it whole{source}",
        *(f"    | {line}" for line in lines[:LICENSE_LINES]),
    )
    return Listing(target, digests, missing, word, printable("\n".join(text)))


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


def check_space(listings: Sequence[Listing]) -> None:
    """Raise `BadWeights` if a disk has not enough room for all that is missing on it."""
    needed: dict[int, int] = {}
    for listing in listings:
        folder = listing.target.folder.absolute()
        existing = next(path for path in (folder, *folder.parents) if path.exists())
        disk, free = existing.stat().st_dev, shutil.disk_usage(existing).free
        needed[disk] = needed.get(disk, 0) + listing.missing
        if needed[disk] and needed[disk] + SPARE_BYTES > free:
            raise BadWeights(
                f"The disk of {existing} has {format_size(free)} free, and {format_size(needed[disk])} are needed. Nothing was fetched. "
                "Free some space, or name a folder on another disk in models.toml."
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
    for _ in range(2):  # What was damaged on the disk comes again; what arrives damaged twice is the hub's.
        with _hub_errors(target):
            hub.snapshot_download(target.repository, local_dir=folder, **target.patterns)
        # The library takes any content of the right length.
        bad = find_damaged(folder, listing.digests)
        for name in bad:
            (folder / name).unlink(missing_ok=True)
        if not bad:
            break
    else:
        raise BadWeights(
            f"{len(bad)} of {len(listing.digests)} files arrived damaged and were removed: {', '.join(bad[:5])}. "
            "The others are there and sound. Run the command again."
        )
    record = {
        "repository": target.repository, "revision": target.revision, "license": listing.license,
        "accepted": listing.license, "date": datetime.now(UTC).isoformat(timespec="seconds"), "files": listing.digests,
    }  # fmt: skip
    replace_file(folder / RECORD_NAME, json.dumps(record, indent=1).encode())


@contextmanager
def _hub_errors(target: Target) -> Iterator[None]:
    """Turn what the hub's library raises in the block into `BadWeights`: its own message, then what to do."""
    try:
        yield
    except (OSError, ValueError, RuntimeError, httpx.HTTPError) as error:
        # Of a list that fails, the library says no more than that, and why in the cause.
        cause = error.__cause__ or error
        message = " ".join(printable(str(cause)).split())[:600] or type(cause).__name__
        raise BadWeights(
            f"{target.repository}: {message} Where its owners ask for consent, or it is private, log in with `hf auth login` or "
            "set HF_TOKEN. What has arrived stays: run the command again."
        ) from None
