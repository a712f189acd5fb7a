"""`%load_ext reelbook`: `%reel` shows account and spending, and `%%sweep` runs a plan written as TOML."""

from __future__ import annotations

import argparse
import shlex
import tempfile
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from IPython.core.display import Pretty
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class

from ..current import session
from ..errors import ReelbookError
from ..storage.run_status import RunStatus
from ..sweeps.plan import sweep
from ..util.printable import format_count
from .library import library
from .runs import connect

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from ..client import Client

IN_PROGRESS = (RunStatus.WAITING, RunStatus.RUNNING)


class _Arguments(argparse.ArgumentParser):
    """The words after a magic; a wrong one is an error in the cell, and does not end the kernel."""

    def error(self, message: str) -> Any:
        raise ReelbookError(f"{message}. {self.format_usage().strip().replace('usage: ', 'It is used as: ')}")


@magics_class
class ReelMagics(Magics):
    """The two magics of the extension."""

    @line_magic
    def reel(self, line: str) -> Pretty:
        """The service, what is left on the account, what is in progress, and what was spent today."""
        return Pretty(format_spending(current_client()))  # type: ignore[no-untyped-call]  # IPython states no types here.

    @cell_magic
    def sweep(self, line: str, cell: str) -> Any:
        """Run the plan in this cell, written as `plan.to_toml()` writes it; without a limit, show only its price.

        `%%sweep --budget 212 table` runs it and names the table; `--spend` limits what this run of the cell may add.
        """
        parser = _Arguments(prog="%%sweep", add_help=False)
        parser.add_argument("--budget", type=int, help="most credits that its runs may cost together")
        parser.add_argument("--spend", type=int, help="most credits that may be paid now")
        parser.add_argument("name", nargs="?", help="the variable that gets the table, or the plan")
        options = parser.parse_args(shlex.split(line))
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "plan.toml"
            file.write_text(cell, encoding="utf-8")
            plan = sweep.read(file)
        is_only_priced = options.budget is None and options.spend is None
        result = plan if is_only_priced else plan.run(budget=options.budget, spend=options.spend)
        if options.name and self.shell is not None:
            self.shell.user_ns[options.name] = result
        return result


def current_client() -> Client:
    """The client that `rb.run` would use; the embedded service if none is connected."""
    return session.current or connect()


def format_spending(client: Client) -> str:
    """Four lines: service, account, runs in progress, and the spending of this day in the library."""
    account = client.account()
    frame = library().frame
    in_progress = frame[frame["status"].isin(IN_PROGRESS)] if len(frame) else frame
    facts = {
        "service": repr(client).strip("<>").removeprefix("Client of "),
        "account": f"{account['name']}: {account['credits_available']:,} credits left, {account['credits_spent']:,} spent",
        "in progress": f"{format_count(len(in_progress), 'run')}, {account['credits_reserved']:,} credits reserved",
        "today": format_today(frame),
    }
    return "\n".join(f"{name:14}{words}" for name, words in facts.items())


def format_today(frame: pd.DataFrame) -> str:
    """The number of runs in this library that began since midnight, and their credits."""
    if not len(frame):
        return format_count(0, "run")
    midnight = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    today = frame[frame["created"] >= midnight]
    return f"{format_count(len(today), 'run')}, {int(today['credits'].fillna(0).sum()):,} credits"


def register(ipython: InteractiveShell) -> None:
    """Add both magics to a notebook."""
    ipython.register_magics(ReelMagics)
