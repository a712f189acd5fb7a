"""What the commands of `reelbook class` do, each in one transaction on the database of the service."""

from __future__ import annotations

import argparse
import os
import re
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from reelbook.errors import ReelbookError
from reelbook.util.printable import format_count, printable

from . import class_admin
from .class_admin import SENTENCES, NewKey, format_names, read_board_token, read_state, sort_key
from .class_report import describe_class, format_csv, format_report, read_class
from .key_sheet import board_link, connect_line, format_unreachable, reachable_address, render_key_sheet
from .limits import READERS
from .service_settings import default_data
from .store import open_transaction


class BadSheet(ReelbookError):
    """A sheet of keys that cannot be written."""


def perform(action: str, options: argparse.Namespace) -> None:
    """Carry out an action and print what was done."""
    now = time.time()
    with open_transaction(options.data or default_data()) as db:
        names = list[str]()
        if "all" in options and not (action == "limit" and _is_for_all_together(options)):
            names = class_admin.choose(db, options.names, options.group, everybody=options.all)
        if action == "add":
            students = class_admin.read_students(options.students, group=options.group, budget=options.budget)
            keys, sentence = class_admin.add(
                db, now, students, weekly=options.weekly, limits=_limits(options), reset=options.reset
            )
            text = "\n".join(filter(None, [_show(db, options, keys), sentence]))
        elif action == "limit":
            text = _limit(db, now, options, names)
        elif action == "report":
            rows = read_class(db, now, with_results=False)
            facts, problems = describe_class(db)
            text = format_csv(rows) if options.csv else "\n".join([format_report(rows), *facts, *problems])
        elif action == "board":
            token = read_board_token(db, new=options.new)
            text = f"  board  {board_link(reachable_address(read_state(db)['address']), token)}"
            text += "\n  Everyone who had the board open is logged out." if options.new else ""
        else:
            amount = options.credits if action == "topup" else 0
            keys = class_admin.act(db, now, action, names, amount)
            text = SENTENCES[action].format(whom=format_names(names), credits=format_count(amount, "credit"))
            if action == "pause":
                text += " `reelbook class resume` lets them start new ones."
            if action == "replace":
                text = f"{_show(db, options, keys)}\n{text}"
    print(printable(text))


def _limits(options: argparse.Namespace) -> dict[str, str]:
    return {name: text for name in READERS if (text := getattr(options, name)) is not None}


def _is_for_all_together(options: argparse.Namespace) -> bool:
    """Whether nothing is to change but what all accounts may spend in total."""
    return options.together is not None and options.budget is None and options.weekly is None and not _limits(options)


def _limit(db: sqlite3.Connection, now: float, options: argparse.Namespace, names: Sequence[str]) -> str:
    budget, weekly, limits, together = options.budget, options.weekly, _limits(options), options.together
    done = []
    if limits or budget is not None or weekly is not None:
        for name in names:
            class_admin.change(db, now, class_admin.Student(name, budget=budget), weekly, limits)
        done.append(f"Changed: {format_names(names)}. Their runs and spending stay.")
    if together is not None:
        class_admin.share_budget(db, together)
        done.append(
            "Each account may spend its own budget; there is no common limit."
            if together == "none"
            else f"All accounts together may spend {format_count(int(together), 'credit')}, including what is already spent."
        )
    if not done:
        raise ReelbookError(
            "Say what to change, such as --budget 300, --at-once 1, or --together 5000 for all as a whole."
        )
    return "\n".join(done)


def _show(db: sqlite3.Connection, options: argparse.Namespace, keys: Sequence[NewKey]) -> str:
    """Write new keys to the sheet, before they are committed, or list them; says what a teacher does with them."""
    address = (options.address or reachable_address(read_state(db)["address"])).strip().rstrip("/")
    # A longer one has no place in a QR code.
    if not re.fullmatch(r"https?://[^\s\"'\\]{1,200}", address):
        words = f"{address[:100]!r} is not an address" if address else "The service of this folder has never run"
        raise BadSheet(f"{words}: give one, such as --address http://192.168.1.20:8600. No key was made.")
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
            f"{'; then make the sheet once more' if options.sheet else ''}."
        )
    return "\n".join(lines)


def _write_sheet(path: Path, page: str) -> None:
    """Write a new file that only its owner can read."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise BadSheet(
            f"{path} exists already, perhaps with keys in it. Name another file, or delete it. No key was made."
        ) from None
    except OSError as error:
        raise BadSheet(f"{path} cannot be written ({error.strerror}). No key was made.") from None
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(page)
    except OSError as error:
        path.unlink()
        raise BadSheet(f"The sheet could not be written ({error.strerror}). No key was made.") from None
