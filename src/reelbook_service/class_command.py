"""The command `reelbook class`: the accounts of a service, for teachers. Each is one transaction on its database."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sqlite3
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reelbook.util.printable import format_count, printable

from . import class_admin
from .class_admin import (
    ACTIONS,
    ASK_CREDITS,
    NewKey,
    Student,
    format_names,
    read_board_token,
    read_count,
    read_state,
    sort_key,
)
from .limits import OPTIONS, BadAccounts
from .service_settings import default_data
from .store import open_transaction

if TYPE_CHECKING:
    from argparse import _SubParsersAction

Work = Callable[[sqlite3.Connection, float, argparse.Namespace], str]
"""Carries a command out, and returns what it prints."""

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

    for name, action in ACTIONS.items():
        parser = _action(actions, name, partial(_act, name), action.purpose)
        _add_choice(parser)
        if name == "topup":
            parser.add_argument("credits", metavar="CREDITS", help="how many more each of them may spend")
        elif name == "replace":
            _add_sheet(parser)

    report = _action(actions, "report", _report, "show spending and budgets, runs, and errors by kind")
    report.add_argument("--csv", action="store_true", help="as CSV, for a spreadsheet")

    board = _action(actions, "board", _board, "print the link of the board")
    board.add_argument("--new", action="store_true", help="make a new link; the old one stops working")


def _action(actions: Any, name: str, work: Work, words: str, description: str | None = None) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        name, help=words, description=description or words.capitalize() + ".",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument(
        "--data", type=Path, help="the folder of the service (default: your user data folder, as for serve)"
    )
    parser.set_defaults(command=partial(_perform, work))
    return parser


def _add_choice(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="the accounts")
    parser.add_argument("--group", help="all accounts of this group")
    parser.add_argument("--all", action="store_true", help="all accounts of the class")


def _add_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--budget", metavar="CREDITS", help="what each may spend in total, or every week with --weekly")
    for name, option in OPTIONS.items():
        rest: dict[str, Any] = {"nargs": "?", "const": "mon"} if name == "weekly" else {}
        words = f"{option.words} (such as {option.example})"
        parser.add_argument(f"--{name.replace('_', '-')}", metavar=option.metavar, help=words, **rest)


def _add_sheet(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--sheet", type=Path, metavar="FILE.html", help="write the new keys there, to print and cut apart"
    )
    parser.add_argument("--address", help="the URL on the sheet (default: the one that the service printed)")


def _perform(work: Work, options: argparse.Namespace) -> int:
    with open_transaction(options.data or default_data()) as db:
        text = work(db, time.time(), options)
    print(printable(text))
    return 0


def _limits(options: argparse.Namespace) -> dict[str, str]:
    return {name: text for name in OPTIONS if (text := getattr(options, name)) is not None}


def _budget(options: argparse.Namespace) -> int | None:
    return None if options.budget is None else read_count(options.budget, "--budget ")


def _chosen(db: sqlite3.Connection, options: argparse.Namespace) -> list[str]:
    return class_admin.choose(db, options.names, options.group, everybody=options.all)


def _add(db: sqlite3.Connection, now: float, options: argparse.Namespace) -> str:
    students = class_admin.read_students(options.students, group=options.group, budget=_budget(options))
    keys, sentence = class_admin.add(db, now, students, _limits(options), reset=options.reset)
    return "\n".join(filter(None, [_show(db, options, keys), sentence]))


def _limit(db: sqlite3.Connection, now: float, options: argparse.Namespace) -> str:
    budget, limits, done = _budget(options), _limits(options), list[str]()
    if limits or budget is not None:
        names = _chosen(db, options)
        changed = {name: class_admin.change(db, now, Student(name, budget=budget), limits) for name in names}
        done.append(class_admin.describe_change(changed))
    if options.together is not None:
        done.append(class_admin.share_budget(db, options.together))
    if not done:
        words = "Say what to change, such as --budget 300, --at-once 1, or --together 5000 for all as a whole."
        raise BadAccounts(words)
    return "\n".join(done)


def _act(action: str, db: sqlite3.Connection, now: float, options: argparse.Namespace) -> str:
    amount = read_count(options.credits, ASK_CREDITS) if action == "topup" else 0
    names = _chosen(db, options)
    keys = class_admin.act(db, now, action, names, amount)
    sentence = class_admin.describe(action, format_names(names), amount)
    if action == "pause":
        sentence += " `reelbook class resume`, with a NAME, --group or --all, lets them start new ones."
    return f"{_show(db, options, keys)}\n{sentence}" if action == "replace" else sentence


def _report(db: sqlite3.Connection, now: float, options: argparse.Namespace) -> str:
    from .class_report import describe_class, format_csv, format_report, read_class

    rows = read_class(db, now, with_results=False)
    facts, problems = describe_class(db)
    return format_csv(rows) if options.csv else "\n".join([format_report(rows), *facts, *problems])


def _board(db: sqlite3.Connection, now: float, options: argparse.Namespace) -> str:
    from .key_sheet import board_link, reachable_address

    link = board_link(reachable_address(read_state(db)["address"]), read_board_token(db, new=options.new))
    return f"  board  {link}" + ("\n  Everyone who had the board open is logged out." if options.new else "")


def _show(db: sqlite3.Connection, options: argparse.Namespace, keys: Sequence[NewKey]) -> str:
    """Write new keys to the sheet, before they are committed, or list them; says what a teacher does with them."""
    from .key_sheet import connect_line, format_unreachable, reachable_address, render_key_sheet

    address = (options.address or reachable_address(read_state(db)["address"])).strip().rstrip("/")
    # A longer one has no place in a QR code.
    if not re.fullmatch(r"https?://[^\s\"'\\]{1,200}", address):
        words = f"{address[:100]!r} is not an address" if address else "The service of this folder has never run"
        raise BadAccounts(f"{words}: give one, such as --address http://192.168.1.20:8600.")
    if not keys:
        return ""
    keys = sorted(keys, key=lambda key: (sort_key(key.group), sort_key(key.name)))
    if options.sheet:
        _write_sheet(options.sheet, render_key_sheet(keys, address))
        print_it = "Print it, then delete it: keys are stored as hashes only, and nobody can read them again."
        lines = [f"{format_count(len(keys), 'new key')} in {options.sheet}, for {address}. {print_it}"]
    else:
        lines = [f"  key    {key.key}   (account {key.name}; shown only now)" for key in keys]
        lines += [f"  type   {connect_line(address, keys[0].key)}"] if len(keys) == 1 else []
    if unreachable := format_unreachable(address):
        lines.append(
            f"  {unreachable} For them: reelbook serve --host 0.0.0.0, or --address with the one by which they reach it"
            f"{'; then new keys: reelbook class replace --all --sheet new.html' if options.sheet else ''}."
        )
    return "\n".join(lines)


def _write_sheet(path: Path, page: str) -> None:
    """Write a new file that only its owner can read."""
    try:
        with open(path, "x", encoding="utf-8", opener=partial(os.open, mode=0o600)) as file:
            file.write(page)
    except FileExistsError:
        words = "exists already, perhaps with keys in it. Name another file, or delete it."
        raise BadAccounts(f"{path} {words}") from None
    except OSError as error:
        with contextlib.suppress(OSError):
            path.unlink()
        raise BadAccounts(f"{path} cannot be written ({error.strerror}).") from None
