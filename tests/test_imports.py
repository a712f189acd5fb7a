"""The order of the house: imports point down, and the wing shares only the ground."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

import reelbook

ROOT = Path(reelbook.__file__).parent
GROUND = {"errors", "guesses", "_version", "models", "network", "printable", "settings"}

MAY_IMPORT = {
    "errors": {"printable"},
    "printable": set(),
    "_version": set(),
    "guesses": {"interrupts"},
    "models": {"errors", "guesses", "printable"},
    "network": set(),
    "settings": {"errors"},
    "loop": {"errors"},
    "interrupts": set(),
    "client": GROUND | {"loop", "media"},
    "libraries": GROUND | {"loop"},
    "media": GROUND,
    "runs": GROUND | {"loop", "interrupts", "client", "libraries", "media", "following"},
    "following": GROUND | {"loop", "client", "libraries", "media"},
    "submission": GROUND | {"loop", "client", "libraries"},
    "accepting": GROUND | {"loop", "interrupts"},
    "cancelling": GROUND | {"client", "libraries", "runs", "submission"},
    "sweeps": GROUND
    | {"cancelling", "loop", "interrupts", "client", "libraries", "media", "runs", "following", "submission"},
    "display": GROUND | {"loop", "media", "libraries", "runs", "sweeps"},
    "widgets": GROUND | {"loop", "media", "libraries", "runs", "sweeps", "display"},
    "service": GROUND,
}
"""Rooms that are not listed are doors: they may know everything."""

DOORS = {
    "__init__",
    "__main__",
    "clients",
    "commons",
    "connecting",
    "cli",
    "doctor",
    "forming",
    "looking",
    "records",
    "reopening",
    "shutdown",
    "subjects",
    "sweeping",
}


@cache
def imports() -> list[tuple[str, str, Path]]:
    """Every import of one room by another, also those inside functions; those for types alone do not count."""
    found = []
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for_types = {id(inner) for node in ast.walk(tree) if _is_for_types(node) for inner in ast.walk(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level and id(node) not in for_types:
                package = parts[: len(parts) - node.level]
                target = (*package, *(node.module or "").split(".")) if node.module else package
                names = [target[0]] if target and target[0] else [alias.name for alias in node.names]
                found += [(parts[0], name, path) for name in names if name != parts[0]]
    return found


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_a_room_imports_only_what_is_below_it(room: str) -> None:
    """No room reaches up or across."""
    reaching = {(target, str(path.relative_to(ROOT))) for here, target, path in imports() if here == room}

    assert {found for found in reaching if found[0] not in MAY_IMPORT[room]} == set()


def test_every_room_is_known() -> None:
    """A new room gets its place in the order before it gets its first import."""
    rooms = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}

    assert rooms == set(MAY_IMPORT) | DOORS


def test_engines_import_models_and_media_libraries_only() -> None:
    """An engine knows nothing of queues, credits or HTTP."""
    strangers = set()
    for path in (ROOT / "service" / "engines").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                strangers.add((node.module or "").partition(".")[0])
            elif isinstance(node, ast.Import):
                strangers |= {alias.name.partition(".")[0] for alias in node.names}

    assert (
        strangers & {"httpx", "fastapi", "starlette", "uvicorn", "sqlite3", "asyncio", "pandas", "ipywidgets"} == set()
    )
    assert {"numpy", "PIL", "av"} <= strangers
