"""`%load_ext reelbook`: `%reel` shows the client with its account, and `%%sweep` runs a plan written as TOML."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from ..current import session
from ..sweeps.plan import sweep
from .runs import connect

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from ..client import Client


@magics_class
class ReelMagics(Magics):
    """The two magics of the extension."""

    @line_magic
    def reel(self, line: str) -> Client:
        """The client that `rb.run` would use, with what is left on its account."""
        return session.current or connect()

    @magic_arguments("%%sweep")
    @argument("--budget", type=int, help="most credits that its runs may cost together")
    @argument("--spend", type=int, help="most credits that may be paid now")
    @argument("name", nargs="?", help="the variable that gets the table, or the plan")
    @cell_magic
    def sweep(self, line: str, cell: str) -> Any:
        """Run the plan in this cell, written as `plan.to_toml()` writes it; without a limit, show only its price.

        `%%sweep --budget 212 table` runs it and names the table; `--spend` limits what this run of the cell may add.
        """
        options = parse_argstring(self.sweep, line)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "plan.toml"
            file.write_text(cell, encoding="utf-8")
            plan = sweep.read(file)
        is_only_priced = options.budget is None and options.spend is None
        result = plan if is_only_priced else plan.run(budget=options.budget, spend=options.spend)
        if options.name and self.shell is not None:
            self.shell.user_ns[options.name] = result
        return result


def register(ipython: InteractiveShell) -> None:
    """Add both magics to a notebook."""
    ipython.register_magics(ReelMagics)
