"""The command `reelbook class`: the accounts of a service, for teachers."""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from reelbook.errors import ReelbookError
from reelbook.util.printable import format_count, printable

from .service_settings import default_data

if TYPE_CHECKING:
    import sqlite3
    from argparse import _SubParsersAction
    from collections.abc import Iterator

    from .class_admin import Chosen, NewKey, ServiceFacts

T = TypeVar("T")

LIMITS = {
    "from": ("MOMENT", "no runs before this date or moment, such as 2026-11-30 or 2026-11-30T08:00"),
    "until": ("MOMENT", "no runs after this date (its end) or moment"),
    "days": ("DAYS", "runs only on these weekdays: mon-fri, or mon,wed"),
    "hours": ("HOURS", "runs only at this time of day: 08:00-16:00"),
    "at-once": ("RUNS", "how many runs each student may have queued or running"),
    "models": ("MODELS", "the models they may run, by id or part of it: text-to-video,smart-resize"),
}
ADD_HELP = """\
Add accounts, each with its own key. Accounts that exist keep their key, budget and limits unless you give --reset, which changes
what you name and leaves the rest; `none` removes a limit (--until none --reset). Type the names, or give a file: one name on each
line, or a table with the columns name[,group][,budget][,key][,permissions]. Times are in the time zone of the machine that runs
`serve`.

  reelbook class add names.csv --budget 530 --weekly --at-once 2 --sheet keys.html
"""


LIMIT_HELP = """\
Change only what is given here; `none` removes a limit. A budget can also be lowered.

  reelbook class limit Ada --budget 300
  reelbook class limit --all --at-once 1 --until 2026-12-18
  reelbook class limit --together 5000
"""
MAX_ADDRESS_CHARS = 200


class BadSheet(ReelbookError):
    """A sheet of keys that cannot be written."""


def add_class_command(commands: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `class` and its own commands to those of `reelbook`."""
    teacher = commands.add_parser(
        "class",
        help="the students of a service: keys, budgets, limits, report",
        description="Manage the accounts of a service, also while it is running. Changes take effect at once.",
    )
    actions = teacher.add_subparsers(required=True, metavar="ACTION")

    add = _action(actions, "add", _add, "add accounts with their keys, or change limits", ADD_HELP)
    add.add_argument("students", nargs="+", metavar="NAME|FILE", help="names, or a file of them: .csv or .txt")
    _add_limits(add)
    add.add_argument("--group", help="a name for these students as a group, to pause or top up together")
    add.add_argument("--reset", action="store_true", help="also change accounts that exist")
    _add_sheet(add)

    limit = _action(actions, "limit", _limit, "change budgets and limits, or what all may spend in total", LIMIT_HELP)
    _add_choice(limit)
    _add_limits(limit)
    limit.add_argument(
        "--together", metavar="CREDITS", help="the most that all accounts together may ever spend, or `none`"
    )

    top_up = _action(actions, "topup", _top_up, "give accounts more credits")
    _add_choice(top_up)
    top_up.add_argument("credits", type=int, metavar="CREDITS", help="how many more each of them may spend")
    _add_choice(_action(actions, "pause", _pause, "stop accounts from starting runs; those in progress continue"))
    _add_choice(_action(actions, "resume", _resume, "let paused accounts start runs again"))

    keys = _action(actions, "keys", _keys, "list the accounts that have keys, or make new keys")
    _add_choice(keys)
    keys.add_argument("--new", action="store_true", help="replace the keys of the accounts named, or of all")
    _add_sheet(keys)

    replace = _action(actions, "replace", _replace, "replace a leaked key; runs and budget stay")
    replace.add_argument("names", nargs="+", metavar="NAME", help="the accounts")
    _add_sheet(replace)

    _add_choice(
        _action(actions, "remove", _remove, "remove accounts: their keys stop at once, runs in progress continue")
    )

    report = _action(actions, "report", _report, "show spending and budgets, runs, and errors by kind")
    report.add_argument("--csv", action="store_true", help="as CSV, for a spreadsheet")

    board = _action(actions, "board", _board, "print the link of the board")
    board.add_argument("--new", action="store_true", help="make a new link; the old one stops working")


def _action(
    actions: Any, name: str, command: Any, words: str, description: str | None = None
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        name, help=words, description=description or words.capitalize() + ".",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument(
        "--data", type=Path, help="the folder of the service (default: your user data folder, as for serve)"
    )
    parser.set_defaults(command=command)
    return parser


def _add_choice(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="the accounts")
    parser.add_argument("--group", help="all accounts of this group")
    parser.add_argument("--all", action="store_true", help="all accounts of the class")


def _add_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--budget", type=int, metavar="CREDITS", help="what each may spend in total, or every week with --weekly"
    )
    parser.add_argument(
        "--weekly", nargs="?", const="mon", metavar='"DAY TIME"',
        help="refill the budget every week, on Monday at 00:00 or at the time given; unused credits don't carry over",
    )  # fmt: skip
    for name, (metavar, words) in LIMITS.items():
        parser.add_argument(f"--{name}", metavar=metavar, help=words)


def _given_limits(options: argparse.Namespace) -> dict[str, str]:
    given = {name.replace("-", "_"): getattr(options, name.replace("-", "_")) for name in LIMITS}
    return {name: value for name, value in given.items() if value is not None}


def _add_sheet(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--sheet", type=Path, metavar="FILE.html", help="write the new keys there, to print and cut apart"
    )
    parser.add_argument("--address", help="the URL on the sheet (default: the one that the service printed)")


def _add(options: argparse.Namespace) -> int:
    from .class_admin import add, read_students

    students = read_students(options.students, group=options.group, budget=options.budget)
    limits = _given_limits(options)
    sentences = []

    def make(db: sqlite3.Connection) -> list[NewKey]:
        added = add(db, time.time(), students, weekly=options.weekly, limits=limits, reset=options.reset)
        sentences.append(added.sentence)
        return added.keys

    _with_new_keys(options, make)
    print(printable("".join(f"{sentence}\n" for sentence in sentences if sentence)), end="")
    return 0


def _limit(options: argparse.Namespace) -> int:
    from .class_admin import change_limits, share_budget

    limits, changed = _given_limits(options), []
    changes = limits or options.budget is not None or options.weekly is not None
    if not changes and options.together is None:
        raise ReelbookError(
            "Say what to change, such as --budget 300, --at-once 1, or --together 5000 for all as a whole."
        )
    with _transaction(options) as db:
        if changes:
            changed = change_limits(db, time.time(), _chosen(options), options.budget, options.weekly, limits)
        if options.together is not None:
            share_budget(db, options.together)
    if changed:
        print(f"Changed: {_listed(changed)}. Their runs and spending stay.")
    if options.together == "none":
        print("Each account may spend its own budget; there is no limit for all together.")
    elif options.together is not None:
        print(
            f"All accounts together may spend {format_count(int(options.together), 'credit')}, with what is spent already."
        )
    return 0


def _remove(options: argparse.Namespace) -> int:
    from .class_admin import remove

    removed = _administer(options, lambda db: remove(db, _chosen(options)))
    print(
        f"Removed: {_listed(removed)}. Their keys stopped just now; runs under way go on, and what was spent still counts."
    )
    return 0


def _top_up(options: argparse.Namespace) -> int:
    from .class_admin import top_up

    changed = _administer(options, lambda db: top_up(db, time.time(), _chosen(options), options.credits))
    print(f"{format_count(options.credits, 'credit')} more for {_listed(changed)}.")
    return 0


def _pause(options: argparse.Namespace) -> int:
    from .class_admin import pause

    changed = _administer(options, lambda db: pause(db, _chosen(options)))
    print(
        f"Paused: {_listed(changed)}. Runs in progress continue. `reelbook class resume --all` lets everybody start new ones."
    )
    return 0


def _resume(options: argparse.Namespace) -> int:
    from .class_admin import pause

    print(f"Resumed: {_listed(_administer(options, lambda db: pause(db, _chosen(options), paused=False)))}.")
    return 0


def _keys(options: argparse.Namespace) -> int:
    from .class_admin import class_names, replace_keys

    if options.new:
        options.all = not options.names and options.group is None
        _with_new_keys(options, lambda db: replace_keys(db, time.time(), _chosen(options)))
        return 0
    how = "For a sheet of all keys, make new ones: reelbook class keys --new --sheet keys.html (the old ones stop at once)."
    if options.sheet:
        raise BadSheet(f"Keys are stored as hashes only, so nobody can read them, not even you. {how}")
    groups = _administer(options, class_names)
    for name, group in groups.items():
        print(printable(f"{name}{f'  ({group})' if group else ''}"))
    print(f"{format_count(len(groups), 'account')}. Keys are stored as hashes only. {how}")
    return 0


def _replace(options: argparse.Namespace) -> int:
    from .class_admin import Chosen, replace_keys

    _with_new_keys(options, lambda db: replace_keys(db, time.time(), Chosen(options.names)))
    print("The old key no longer works; runs, files and budget stay.")
    return 0


def _report(options: argparse.Namespace) -> int:
    from .class_report import describe_class, format_report, read_class, report_table

    with _transaction(options) as db:
        rows, (facts, problems) = read_class(db, time.time(), with_results=False), describe_class(db)
    if options.csv:
        csv.writer(sys.stdout, lineterminator="\n").writerows(report_table(rows))
    else:
        print(printable("\n".join([format_report(rows), *facts, *problems])))
    return 0


def _board(options: argparse.Namespace) -> int:
    from .board.login import read_token
    from .class_admin import read_facts
    from .key_sheet import board_link, reachable_address

    facts, token = _administer(options, lambda db: (read_facts(db), read_token(db, new=options.new)))
    print(f"  board  {board_link(reachable_address(facts.address, facts.names), token)}")
    if options.new:
        print("  Everyone who had the board open is logged out.")
    return 0


def _chosen(options: argparse.Namespace) -> Chosen:
    from .class_admin import Chosen

    return Chosen(options.names, options.group, options.all)


def _administer(options: argparse.Namespace, work: Callable[[sqlite3.Connection], T]) -> T:
    """Run work in a transaction on the database of the service."""
    with _transaction(options) as db:
        return work(db)


def _transaction(options: argparse.Namespace) -> AbstractContextManager[sqlite3.Connection]:
    from .store import open_transaction

    return open_transaction(options.data or default_data())


def _with_new_keys(options: argparse.Namespace, make: Callable[[sqlite3.Connection], list[NewKey]]) -> None:
    """Carry out an action that makes keys, and write them to the sheet, or print them; without the sheet none is made."""
    from .class_admin import read_facts
    from .key_sheet import connect_line, format_unreachable, render_key_sheet

    with _opened_sheet(options.sheet) as sheet, _transaction(options) as db:
        address = _address(options.address, read_facts(db))
        keys = sorted(make(db), key=lambda key: (key.group, key.name))
        if sheet is not None and keys:
            _write(sheet, render_key_sheet(keys, address))
    if keys and options.sheet:
        print(
            f"{format_count(len(keys), 'new key')} in {options.sheet}, for {address}. Print it, then delete it: keys are stored as "
            "hashes only, and nobody can read them again."
        )
    else:
        for key in keys:
            print(printable(f"  key    {key.key}   (account {key.name}; shown only now)"))
        if len(keys) == 1:
            print(f"  type   {connect_line(address, keys[0].key)}")
    if keys and (unreachable := format_unreachable(address)):
        print(
            f"  {unreachable} For them: reelbook serve --host 0.0.0.0, or --address with the one by which they reach it"
            f"{'; then make the sheet once more' if options.sheet else ''}."
        )


@contextmanager
def _opened_sheet(path: Path | None) -> Iterator[IO[str] | None]:
    """The file of a sheet, opened before any key is made, which only its owner can read; removed if nothing is written."""
    if path is None:
        yield None
        return
    try:
        file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8")
    except FileExistsError:
        raise BadSheet(
            f"{path} exists already, perhaps with keys in it. Name another file, or delete it. No key was made."
        ) from None
    except OSError as error:
        raise BadSheet(f"{path} cannot be written ({error.strerror}). No key was made.") from None
    try:
        with file:
            yield file
    finally:
        if path.stat().st_size == 0:
            path.unlink()


def _write(sheet: IO[str], page: str) -> None:
    try:
        sheet.write(page)
        sheet.flush()
    except OSError as error:
        sheet.truncate(0)
        raise BadSheet(f"The sheet could not be written ({error.strerror}). No key was made.") from None


def _address(given: str | None, facts: ServiceFacts) -> str:
    """The address that students type: the one that was given, else the one of the service, as other machines reach it."""
    address = (given or facts.address).strip().rstrip("/")
    advice = "give one, such as --address http://192.168.1.20:8600"
    if not address:
        raise BadSheet(
            f"The service of this folder has never run, so that its address is not known: start it, or {advice}."
        )
    parts = urlsplit(address)
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or set(address) & set("\"'\\ \n")
        or len(address) > MAX_ADDRESS_CHARS
    ):
        raise BadSheet(f"{address[:100]!r} is not an address: {advice}.")
    from .key_sheet import reachable_address

    return address if given else reachable_address(address, facts.names)


def _listed(names: Sequence[str]) -> str:
    from .class_admin import format_names

    return printable(format_names(names))
