"""A path that a notebook displays as a link."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup

LINK = Markup('<a href="{}" target="_blank" rel="noopener">{}</a>')


class LinkedPath(type(Path())):  # type: ignore[misc]  # The class of paths on this system, which mypy does not know.
    """A path that is displayed as a link, where the notebook's server can reach it."""

    def _repr_html_(self) -> str | None:
        """The link; None for a path outside of the notebook's folder, which no link of the page can reach."""
        try:
            place = self.absolute().relative_to(Path.cwd())
        except (ValueError, OSError):
            return None
        page = place / "index.html" if self.is_dir() else place
        return str(LINK.format(quote(f"./{page.as_posix()}"), str(self)))
