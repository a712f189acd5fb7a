"""The command `reelbook weights fetch`: weights from a hub at a pinned commit, with their licence, each file checked by its hash."""

from __future__ import annotations

import argparse
import json
import logging
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from reelbook.util.printable import format_count, format_size, printable
from reelbook.util.replace_file import replace_file

from .config import BadWeights, LtxWeights, Weights, check_source
from .folder import INSTALL, RECORD_NAME, find_damaged

if TYPE_CHECKING:
    from argparse import _SubParsersAction

HELP = """\
Fetch the weights that a models.toml names, at the commits that it names. First it lists what would come, how large it is
and under which licence; then it asks. Each file is checked by its hash; run it again to continue with the missing files.
"""
SPARE_BYTES = 256 * 2**20
"""What stays free on the disk in addition to the files."""

TEXTS = ("*.md", "LICENSE", "LICENSE.txt", "*icense*.txt")
PIPELINE = (
    "model_index.json", "*/*.json", "*/*.safetensors", "tokenizer/*.model", "tokenizer/*.txt",
    "config.json", "diffusion_pytorch_model*.safetensors", "diffusion_pytorch_model*.json",
)  # fmt: skip
"""The files of a pipeline, and those of a bare model: nothing that could hold a program."""
LORA = ("*.safetensors",)
IGNORED = ("*/*/*", ".*", "*..*", *(f"*.{kind}[.-]*" for kind in ("fp16", "bf16", "fp32", "non_ema")))


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

    targets = list_targets(tuple(read_models_file(options.file).weights.values()), options.lora)
    if not targets:
        raise BadWeights(
            f'No model of {options.file} with engine = "diffusers" names a repository. Write repository and revision, a commit.'
        )
    hub = open_hub()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # It would report each attempt of a call.
    try:
        for target in targets:
            print(printable(f"Looking up {target.repository} …"), flush=True)
            print(list_files(hub, target))
            check_space(target)
        if words := sorted({target.license for target in targets if target.license not in target.accepted}):
            raise BadWeights(
                f"Nothing was fetched. Read the licence; if you accept it, write accept_license = "
                f'"{", ".join(words)}" under the model in {options.file}, and run this again.'
            )
        size = format_size(sum(target.missing for target in targets))
        if not options.yes and input(f"Fetch {size}? [y/N] ").strip().lower() not in ("y", "yes"):
            print("Nothing was fetched.")
            return 1
        for target in targets:
            fetch(hub, target)
            files = format_count(len(target.digests), "file")
            print(printable(f"{target.folder}: {files}, each with its hash as in the commit"))
    except EOFError:
        raise BadWeights("Nothing was fetched: nobody answered. With --yes it does not ask.") from None
    except BadWeights:
        raise
    except Exception as error:  # Whatever the library raises, whose versions have different HTTP clients.
        # Of a list that fails, the library says no more than that, and why in the cause.
        cause = error.__cause__ or error
        if any(kind.__name__ == "TransportError" for failed in (error, cause) for kind in type(failed).__mro__):
            reason = f"{urlsplit(hub.endpoint).netloc} cannot be reached; check the network."
            raise BadWeights(f"{reason} What has arrived stays: run the command again.") from None
        message = " ".join(printable(str(cause)).split())[:600] or type(cause).__name__
        raise BadWeights(
            f"{target.repository}: {message.rstrip('.')}. Where its owners ask for consent, or it is private, log in with `hf auth login` or set HF_TOKEN. "
            "What has arrived stays: run the command again."
        ) from None
    return 0


@dataclass
class Target:
    """A repository at a commit, and the folder that it is fetched into. The last three are known once it was looked up."""

    repository: str
    revision: str
    folder: Path
    accepted: frozenset[str]
    """The words of the licences that the owner has accepted in `models.toml`, where something needs it."""
    kinds: tuple[str, ...] = PIPELINE
    """Which of its files are fetched in addition to its texts."""
    license: str = ""
    """The word of its licence, as stated there at that commit."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """The hash of each file, as the hub states it."""
    missing: int = 0
    """The bytes that are not in the folder yet."""

    @property
    def patterns(self) -> dict[str, Any]:
        """Commit and files, as the hub's library takes them."""
        return {"revision": self.revision, "allow_patterns": [*TEXTS, *self.kinds], "ignore_patterns": list(IGNORED)}


def list_targets(rows: Sequence[Weights], loras: Sequence[str] = ()) -> list[Target]:
    """What the rows of a `models.toml` need from a hub, each once; raises `BadWeights` for anything but a commit."""
    wanted: list[Target] = []
    lora_folders: list[Path] = []
    for row in rows:
        accepted = row.accepted_licenses
        wanted += [Target(*source, accepted) for source in row.sources]
        if isinstance(row, LtxWeights):
            lora_folders += row.loras.folders
    for lora in loras:
        if not lora_folders:
            raise BadWeights('There is no folder for LoRAs. Write folders = ["loras"] under [loras] in models.toml.')
        repository, _, revision = lora.partition("@")
        folder = lora_folders[0] / repository.rpartition("/")[2]
        wanted += [Target(repository, revision, folder, row.accepted_licenses, LORA) for row in rows]
    targets: dict[Path, Target] = {}
    for target in wanted:
        check_source(target.repository, target.revision)
        first = targets.setdefault(target.folder, target)
        if (first.repository, first.revision) != (target.repository, target.revision):
            raise BadWeights(
                f"{target.folder} is the folder of two repositories or commits. Give each a folder of its own."
            )
        first.accepted |= target.accepted
    return list(targets.values())


def open_hub() -> Any:
    """The hub as its own library reaches it: address and token are those that the user has set up for it."""
    try:
        from huggingface_hub import HfApi
    except ImportError:
        raise BadWeights(f"Fetching weights needs the extra `weights`. {INSTALL.format('weights')}") from None
    return HfApi(library_name="reelbook")


def list_files(hub: Any, target: Target) -> str:
    """Fill in the files of a repository at its commit and its licence, and return them in words; only its card is read."""
    files = hub.snapshot_download(target.repository, local_dir=target.folder, dry_run=True, **target.patterns)
    names = {file.filename for file in files}
    entries = hub.list_repo_tree(target.repository, recursive=True, revision=target.revision)
    target.digests = {
        item.path: item.lfs.sha256 if item.lfs else item.blob_id for item in entries if item.path in names
    }
    target.missing = sum(file.file_size or 0 for file in files if file.will_download)
    # Into a folder of its own: before the licence is accepted, nothing comes into the owner's.
    with tempfile.TemporaryDirectory(prefix="reelbook-license-", ignore_cleanup_errors=True) as folder:
        card = ""
        if "README.md" in names:
            path = hub.hf_hub_download(target.repository, "README.md", revision=target.revision, local_dir=folder)
            card = Path(path).read_text(encoding="utf-8", errors="replace")
    target.license = _license_word(card)
    size = format_size(sum(file.file_size or 0 for file in files))
    texts = ", ".join(sorted(name for name in names if "license" in name.lower())) or "README.md"
    return printable(
        f"{target.repository} at {target.revision[:12]} → {target.folder}\n"
        f"  {format_count(len(names), 'file')}, {size}; to come: {format_size(target.missing)}\n"
        f"  licence {target.license}, as stated there; please read it whole: {texts}"
    )


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


def check_space(target: Target) -> None:
    """Raise `BadWeights` if the disk has not enough room for all that is missing of a target."""
    folder = target.folder.absolute()
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if target.missing and target.missing + SPARE_BYTES > free:
        raise BadWeights(
            f"The disk of {existing} has {format_size(free)} free, and {format_size(target.missing)} are needed. Nothing was "
            "fetched. Free some space, or name a folder on another disk in models.toml."
        )


def fetch(hub: Any, target: Target) -> None:
    """Bring the folder to exactly the files of the commit, check each by its hash, and record it there."""
    folder = target.folder
    if target.license not in target.accepted:
        raise BadWeights(f"The licence {target.license} of {target.repository} is not accepted in models.toml.")
    folder.mkdir(parents=True, exist_ok=True)
    # A killed fetch leaves these behind, gigabytes each, and the library never reads them again.
    for path in (folder / ".cache" / "huggingface").rglob("*.incomplete"):
        path.unlink(missing_ok=True)
    hub.snapshot_download(target.repository, local_dir=folder, **target.patterns)
    # The library takes any content of the right length, and what is on the disk already.
    if bad := find_damaged(folder, target.digests):
        for name in bad:
            (folder / name).unlink(missing_ok=True)
        raise BadWeights(
            f"{len(bad)} of {len(target.digests)} files were damaged and are removed: {', '.join(bad[:5])}. The others are "
            "there and sound. Run the command again."
        )
    record = {
        "repository": target.repository, "revision": target.revision, "license": target.license,
        "accepted": target.license, "date": datetime.now(UTC).isoformat(timespec="seconds"), "files": target.digests,
    }  # fmt: skip
    replace_file(folder / RECORD_NAME, json.dumps(record, indent=1).encode())
