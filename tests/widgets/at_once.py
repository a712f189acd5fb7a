"""In the place of the threads that send files: each is sent before the message that asks for it has been handled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class AtOnce:
    """What `ThreadPoolExecutor.submit` does, in the thread that asks."""

    def submit(self, function: Callable[..., None], *values: Any) -> None:
        function(*values)
