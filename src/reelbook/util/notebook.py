"""The notebook that this process is the kernel of."""

from __future__ import annotations

import sys
from typing import Any


def get_kernel_shell() -> Any:
    """The shell of the notebook kernel; None in scripts and terminals."""
    # Another thread may be importing IPython at this moment.
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = get_ipython() if get_ipython else None
    return shell if shell is not None and hasattr(shell, "kernel") else None
