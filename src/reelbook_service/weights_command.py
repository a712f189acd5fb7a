"""The command `reelbook weights fetch`: bring the weights that a `models.toml` names, at their commits."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reelbook.errors import ReelbookError
from reelbook.util.printable import format_count, printable

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from .weights.config import LtxWeights, WanWeights
    from .weights.fetch import Listing

FETCH_HELP = """\
Fetch the weights that a models.toml names, at the commits that it names. First it lists what would come, how large it is
and under which licence; then it asks. Each file is checked by its hash; run it again to continue with the missing files.
"""


class WeightsCommandError(ReelbookError):
    """What ends the command: a sentence with the next step."""


def add_weights_command(commands: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `weights` and its own command to those of `reelbook`."""
    weights = commands.add_parser("weights", help="weights for your own GPU")
    actions = weights.add_subparsers(required=True, metavar="ACTION")
    fetch = actions.add_parser("fetch", help="fetch what models.toml names", description=FETCH_HELP)
    fetch.add_argument("file", type=Path, help="the models.toml")
    fetch.add_argument(
        "--lora",
        action="append",
        default=[],
        metavar="ORG/NAME@COMMIT",
        help="a LoRA for the folder of LoRAs; repeatable",
    )
    fetch.add_argument("--yes", action="store_true", help="do not ask; licences are accepted in the file only")
    fetch.set_defaults(command=_fetch)


def read_rows(path: Path) -> Sequence[LtxWeights | WanWeights]:
    """The weights of a `models.toml`, whose folders need not be there yet."""
    from .hosted.models_file import read_models_file

    rows = tuple(read_models_file(path).weights.values())
    if not rows:
        raise WeightsCommandError(f'{path} has no model with engine = "diffusers", so there are no weights.')
    return rows


def _fetch(options: argparse.Namespace) -> int:
    from .weights.config import BadWeights, LtxWeights
    from .weights.fetch import check_space, fetch, list_files, list_targets, open_hub

    rows = read_rows(options.file)
    try:
        targets = list_targets(rows, options.lora)
        if not targets:
            raise WeightsCommandError(
                f"No model of {options.file} names a repository. Write repository and revision, a commit."
            )
        hub = open_hub()
        listings = [list_files(hub, target) for target in targets]
        check_space(listings)
        for listing in listings:
            _print_listing(listing)
        for row in rows:
            upsampler = row.upsampler if isinstance(row, LtxWeights) and not row.upsampler_repository else None
            if upsampler is not None and not upsampler.is_dir():
                print(printable(f"{upsampler} is not there and names no upsampler_repository, so it is not fetched"))
        if words := sorted({listing.license for listing in listings if not listing.is_accepted}):
            raise WeightsCommandError(
                f"Nothing was fetched. Read the licence; if you accept it, write accept_license = "
                f'"{", ".join(words)}" under the model in {options.file}, and run this again.'
            )
        missing = _format_size(sum(listing.missing for listing in listings))
        if not options.yes and not _confirm(f"Fetch {missing}? [y/N] "):
            print("Nothing was fetched.")
            return 1
        for listing in listings:
            fetch(hub, listing)
            files = format_count(len(listing.names), "file")
            print(printable(f"{listing.target.folder}: {files}, each with its hash as in the commit"))
    except BadWeights as error:
        raise WeightsCommandError(str(error)) from None
    return 0


def _print_listing(listing: Listing) -> None:
    target, count = listing.target, format_count(len(listing.names), "file")
    source = f": {listing.license_file}" if listing.license_file else ""
    for line in (
        f"{target.repository} at {target.revision[:12]} → {target.folder}",
        f"  {count}, {_format_size(listing.size)}; to come: {_format_size(listing.missing)}",
        f"  licence {listing.license}, as stated there; please read it whole{source}",
        *(f"    | {line}" for line in listing.license_lines),
    ):
        print(printable(line))


def _format_size(size: int) -> str:
    """A size in decimal megabytes or gigabytes, as disks are sold.

    >>> _format_size(408_000), _format_size(45_100_000_000)
    ('0.4 MB', '45.1 GB')
    """
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def _confirm(question: str) -> bool:
    try:
        return input(question).strip().lower() in ("y", "yes")
    except EOFError:
        return False
