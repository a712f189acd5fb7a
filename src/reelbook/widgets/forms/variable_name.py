"""The name of a notebook's variable for a value, for code that the user copies into a cell."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Any

_OUTPUT = re.compile(r"_\d+")


def find_variable_name(value: Any, names: Mapping[str, Any] | None = None) -> str | None:
    """The name of a value in the notebook: its variable, else its numbered output; None if it has neither.

    >>> form = object()
    >>> find_variable_name(form, {"_": form, "_3": form, "paper": form}), find_variable_name(form, {"_3": form}), find_variable_name(form, {})
    ('paper', '_3', None)
    """
    # A copy, because a cell may define a variable at this moment.
    own = [name for name, one in dict(_user_names() if names is None else names).items() if one is value]
    plain = [name for name in own if name.isidentifier() and not name.startswith("_")]
    return next(iter([*plain, *filter(_OUTPUT.fullmatch, own)]), None)


def _user_names() -> Mapping[str, Any]:
    # Another thread may be importing it.
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = get_ipython() if get_ipython else None
    return {} if shell is None else shell.user_ns
