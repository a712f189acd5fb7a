"""What kind of page shows the outputs of this kernel."""

from __future__ import annotations

import os
import sys


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
