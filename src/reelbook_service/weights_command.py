"""The command `reelbook weights`: the memory that weights take, and fetching them at a pinned commit."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reelbook.errors import ReelbookError
from reelbook.util.printable import format_count, printable

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from .weights.fetch_weights import Listing
    from .weights.weights_row import WeightsRow

FETCH_HELP = """\
Fetch the weights that a models.toml names, at the commits that it names. First it lists what would come, how large it is
and under which licence; then it asks. Each file is checked by its hash; run again, it goes on with the files that are missing.
"""


class WeightsCommandError(ReelbookError):
    """What ends the command: a sentence with the next step."""


def add_weights_command(commands: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `weights` and its own commands to those of `reelbook`."""
    weights = commands.add_parser("weights", help="weights for your own GPU: fetch them, and plan their memory")
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

    plan = actions.add_parser("plan", help="say what memory the weights take, and which setting fits a card")
    plan.add_argument("file", type=Path, help="the models.toml")
    plan.add_argument(
        "--card", type=_read_card, default=[], nargs="+", metavar="GIB", help="cards to plan for: 24 48 80"
    )
    plan.set_defaults(command=_plan)


def _read_card(text: str) -> float:
    """The memory of a card in GiB, as it was typed."""
    try:
        card = float(text)
    except ValueError:
        card = 0.0
    if not 0 < card < 10_000:
        raise argparse.ArgumentTypeError(f"a card is its memory in GiB, such as 24, and not {text[:40]!r}")
    return card


def read_rows(path: Path) -> Sequence[WeightsRow]:
    """The rows with the engine `diffusers` of a `models.toml`, whose folders need not be there yet."""
    from .hosted.models_file import read_models_file

    file: Any = read_models_file(path)
    rows: Sequence[WeightsRow] = tuple(file.weights.values())
    if not rows:
        raise WeightsCommandError(f'{path} has no model with engine = "diffusers", so there are no weights.')
    return rows


def format_memory(rows: Sequence[WeightsRow]) -> list[str]:
    """One line for each row: what its default clip and its longest clip take."""
    from .weights.memory_plan import LARGEST_CLIP, plan_memory

    return [
        f"{row.endpoint_id} on {', '.join(row.devices)}: {plan_memory(row)}; longest clip {plan_memory(row, LARGEST_CLIP).card:.1f} GiB"
        for row in rows
    ]


def _plan(options: argparse.Namespace) -> int:
    from .weights.memory_plan import advise_memory

    rows = read_rows(options.file)
    for row, line in zip(rows, format_memory(rows), strict=True):
        print(printable(line))
        for card in options.card:
            print(printable(f"  {card:g} GiB: {advise_memory(row, card)}"))
    return 0


def _fetch(options: argparse.Namespace) -> int:
    from .weights.fetch_targets import list_targets
    from .weights.fetch_weights import check_space, list_files, open_hub
    from .weights.weights_row import BadWeights

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
        return _fetch_all(hub, listings, rows, options)
    except BadWeights as error:
        raise WeightsCommandError(str(error)) from None


def _fetch_all(hub: Any, listings: Sequence[Listing], rows: Sequence[WeightsRow], options: argparse.Namespace) -> int:
    from reelbook.display.formatting import format_size

    from .weights.fetch_weights import FetchProgress, fetch, is_accepted, read_license

    licenses = [read_license(hub, listing) for listing in listings]
    for listing, found in zip(listings, licenses, strict=True):
        _print_listing(listing)
        source = f": {found.source}" if found.source else ""
        print(printable(f"  licence {found.word}, as stated there; please read it whole{source}"))
        for line in found.first_lines:
            print(f"    | {line}")
    print(*map(printable, format_memory(rows)), sep="\n")
    for row in rows:
        if row.upsampler and not row.upsampler_repository and not row.upsampler.is_dir():
            print(printable(f"{row.upsampler} is not there and names no upsampler_repository, so it is not fetched"))
    words = sorted(
        {found.word for listing, found in zip(listings, licenses, strict=True) if not is_accepted(listing, found)}
    )
    if words:
        print(
            f"reelbook: Nothing was fetched. Read the licence; if you accept it, write accept_license = "
            f'"{", ".join(words)}" under the model in {options.file}, and run this again.',
            file=sys.stderr,
        )
        return 1
    size = sum(one.size for listing in listings for one in listing.missing)
    if not options.yes and not _confirm(f"Fetch {format_size(size)}? [y/N] "):
        print("Nothing was fetched.")
        return 1
    for listing, found in zip(listings, licenses, strict=True):
        progress = FetchProgress()
        with _progress_line(progress):
            fetch(hub, listing, found, progress)
        print(
            printable(
                f"{listing.target.folder}: {format_count(len(progress.checked), 'file')}, each with its hash as in the commit"
            )
        )
    return 0


def _print_listing(listing: Listing) -> None:
    from reelbook.display.formatting import format_size

    target, missing = listing.target, listing.missing
    whole, rest = (format_size(sum(one.size for one in files)) for files in (listing.files, missing))
    print(printable(f"{target.repository} at {target.revision[:12]} → {target.folder}"))
    print(
        f"  {format_count(len(listing.files), 'file')}, {whole}; to come: {len(missing)}, {rest}; {len(listing.skipped)} others stay there"
    )


def _confirm(question: str) -> bool:
    try:
        return input(question).strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _progress_line(progress: Any) -> Any:
    """The line of a terminal that says how far it is; nothing where there is none."""
    from reelbook.display.formatting import format_size
    from reelbook.display.terminal_line import is_terminal, updating_line

    if not is_terminal():
        return nullcontext()
    return updating_line(
        lambda: f"{format_size(progress.done)} of {format_size(progress.total)}  {progress.name}", lambda: ""
    )
