"""The progress bars that the hub's library makes, added up into one number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .fetch_weights import FetchProgress


def bar_class(progress: FetchProgress) -> Any:
    """A class of bars that draw nothing and add their bytes to `progress`."""
    from tqdm.std import tqdm

    class Bar(tqdm):  # type: ignore[misc]  # Without types here.
        """One bar of the hub's library."""

        def __init__(self, *arguments: Any, **options: Any) -> None:
            # With Xet there are two for each file: the bytes on the wire, and the file as it is put together.
            self._counts = not str(options.get("desc", "")).endswith("downloading bytes")
            super().__init__(*arguments, **{**options, "disable": True})

        def update(self, n: float | None = 1) -> None:
            if self._counts:
                progress.done += int(n or 0)

    return Bar
