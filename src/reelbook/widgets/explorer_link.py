"""The connection of an explorer's viewer: sends its file, follows its frame and range, and saves what it asks for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from ..display.explorer_card import explorer_bundle
from ..display.formatting import format_size
from ..media.local_file import Explorer
from .link import Link, View
from .notebook import find_variable_name


class ExplorerLink(Link):
    """Answers the viewer of one explorer. The page never names a path."""

    thread_label = "explorer"

    def __init__(self, key: str, explorer: Explorer) -> None:
        super().__init__(key, [[str(explorer.file.path.absolute())]])
        self._explorer = explorer
        actions: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "still": lambda _: self._save(explorer.save_still),
            "clip": lambda _: self._save(explorer.save_clip),
            "gif": lambda _: self._save(explorer.save_gif),
            "use": self._format_use,
        }
        self.handlers = {
            "place": lambda content, _: self._follow(content),
            **{name: partial(self._act, action) for name, action in actions.items()},
        }
        # Code moves the page, too.
        explorer.on_change(lambda: self.send({"told": {"frame": explorer.frame, "range": explorer.range}}))

    def _act(self, action: Callable[[dict[str, Any]], dict[str, Any]], content: dict[str, Any], _: Any) -> None:
        self._follow(content)
        self.answer(content, lambda: action(content))

    def _follow(self, content: dict[str, Any]) -> None:
        """Take over the frame and the range of the page."""
        if "frame" in content:
            chosen = content.get("range")
            self._explorer.update(content["frame"], None if chosen is None else (int(chosen[0]), int(chosen[1])))

    def _save(self, save: Callable[[], Path]) -> dict[str, Any]:
        path = save()
        return {"path": _format_path(path), "size": format_size(path.stat().st_size)}

    def _format_use(self, _: dict[str, Any]) -> dict[str, Any]:
        """Code with the frame on the screen; `name` is empty where no variable has the explorer."""
        name = find_variable_name(self._explorer) or ""
        code = f'rb.ImageToVideo(image_url={name or "explorer"}.image, prompt="…")'
        return {"code": code, "name": name, "frame": self._explorer.frame}


def view_explorer(explorer: Explorer, key: str) -> View:
    """Stills that stay, and a viewer while there is a kernel."""
    return View(explorer_bundle(explorer, key=key), lambda: ExplorerLink(key, explorer))


def _format_path(path: Path) -> str:
    """The path from the notebook's folder, where it is inside."""
    folder = Path.cwd()
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)
