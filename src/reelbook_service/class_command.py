"""The command `reelbook class`: the accounts of a service, for teachers."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from argparse import _SubParsersAction

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


def add_class_command(commands: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `class` and its own commands to those of `reelbook`."""
    teacher = commands.add_parser(
        "class",
        help="the students of a service: keys, budgets, limits, report",
        description="Manage the accounts of a service, also while it is running. Changes take effect at once.",
    )
    actions = teacher.add_subparsers(required=True, metavar="ACTION")

    add = _action(actions, "add", "add accounts with their keys, or change limits", ADD_HELP)
    add.add_argument("students", nargs="+", metavar="NAME|FILE", help="names, or a file of them: .csv or .txt")
    _add_limits(add)
    add.add_argument("--group", help="a name for these students as a group, to pause or top up together")
    add.add_argument("--reset", action="store_true", help="also change accounts that exist")
    _add_sheet(add)

    limit = _action(actions, "limit", "change budgets and limits, or what all may spend in total", LIMIT_HELP)
    _add_choice(limit)
    _add_limits(limit)
    limit.add_argument(
        "--together", metavar="CREDITS", help="the most that all accounts together may ever spend, or `none`"
    )

    top_up = _action(actions, "topup", "give accounts more credits")
    _add_choice(top_up)
    top_up.add_argument("credits", type=int, metavar="CREDITS", help="how many more each of them may spend")
    _add_choice(_action(actions, "pause", "stop accounts from starting runs; those in progress continue"))
    _add_choice(_action(actions, "resume", "let paused accounts start runs again"))

    replace = _action(actions, "replace", "replace keys, of one that leaked or of all; runs and budget stay")
    _add_choice(replace)
    _add_sheet(replace)

    _add_choice(_action(actions, "remove", "remove accounts: their keys stop at once, runs in progress continue"))

    report = _action(actions, "report", "show spending and budgets, runs, and errors by kind")
    report.add_argument("--csv", action="store_true", help="as CSV, for a spreadsheet")

    board = _action(actions, "board", "print the link of the board")
    board.add_argument("--new", action="store_true", help="make a new link; the old one stops working")


def _action(actions: Any, name: str, words: str, description: str | None = None) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        name, help=words, description=description or words.capitalize() + ".",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument(
        "--data", type=Path, help="the folder of the service (default: your user data folder, as for serve)"
    )
    parser.set_defaults(command=partial(_perform, name))
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


def _add_sheet(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--sheet", type=Path, metavar="FILE.html", help="write the new keys there, to print and cut apart"
    )
    parser.add_argument("--address", help="the URL on the sheet (default: the one that the service printed)")


def _perform(action: str, options: argparse.Namespace) -> int:
    from .class_actions import perform  # Not before it is needed: it imports the service.

    perform(action, options)
    return 0
