"""The notebook around a kernel: what kind of page it has, the names of its variables, and what its connections need."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

_OUTPUT = re.compile(r"_\d+")


def is_page_attached() -> bool:
    """Whether the cell runs on a page. A notebook that is only executed would store a useless widget."""
    from ..util.notebook import get_kernel_shell

    shell = get_kernel_shell()
    if shell is None:
        return False
    try:
        request = shell.kernel.get_parent("shell")
    except (AttributeError, LookupError, TypeError):
        request = {}
    # Pages name the cell; programs that execute notebooks do not, save Voilà, which executes one for a page.
    return bool((request.get("metadata") or {}).get("cellId")) or "google.colab" in sys.modules or is_voila()


def is_voila() -> bool:
    """Whether Voilà executes the notebook, once and for one page. Outputs do not change there, but widgets do."""
    return os.environ.get("SERVER_SOFTWARE", "").startswith("voila/")


def is_jupyter_server() -> bool:
    """Whether the page belongs to a Jupyter server, and creates widgets from a message, without output in the cell."""
    return "JPY_SESSION_NAME" in os.environ


def find_variable_name(value: Any) -> str | None:
    """The name of a value in the notebook: its variable, else its numbered output; None if it has neither."""
    # Another thread may be importing it.
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = get_ipython() if get_ipython else None
    # A copy, because a cell may define a variable at this moment.
    names = {} if shell is None else dict(shell.user_ns)
    own = [name for name, other in names.items() if other is value]
    plain = [name for name in own if name.isidentifier() and not name.startswith("_")]
    return next(iter([*plain, *filter(_OUTPUT.fullmatch, own)]), None)


def keep_page_thread(widget: Any) -> None:
    """Handle the page's messages to a widget on the thread that the page asks for.

    ipykernel 7.4 would dispatch them to the thread that last sent on the comm, even after it has ended.
    """
    widget.comm._reply_subshell_for = None
