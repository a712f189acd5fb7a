"""The layout of the package: imports point down, and a file name means one thing."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import reelbook
from tests.trees import parsed

ROOT = Path(reelbook.__file__).parent
BASE = {"_version", "errors", "models", "settings", "util"}

MAY_IMPORT = {
    "_version": set(),
    "util": set(),
    "errors": {"util"},
    "settings": {"errors"},
    "models": {"errors", "util"},
    "service": BASE - {"settings"},
    "media": BASE,
    "transport": BASE | {"media"},
    "storage": BASE,
    "runs": BASE | {"media", "transport", "storage"},
    "sweeps": BASE | {"media", "transport", "storage", "runs"},
    "decide": BASE | {"media", "storage", "runs", "sweeps"},
    "display": BASE | {"media", "storage", "runs", "sweeps", "decide"},
    "widgets": BASE | {"media", "storage", "runs", "sweeps", "decide", "display"},
    "gateway": BASE - {"settings"} | {"transport", "storage", "runs", "service", "client", "process_shared"},
}
"""What each package may import, from the bottom up."""

TOP = {
    "__init__",
    "__main__",
    "api",
    "class_command",
    "cli",
    "client",
    "doctor",
    "doctor_weights",
    "process_shared",
    "session",
    "shutdown",
    "weights_command",
}
"""What puts the packages together, and may import all of them."""

SAME_MEANING = {
    "__init__",
    "engine",  # The class that the service calls, one in each engine's folder.
    "library",  # The function `rb.library`, and the class of what it returns.
}
MAX_LINES = 400
OF_WEIGHTS = {"torch", "diffusers", "transformers", "safetensors", "accelerate", "peft", "sentencepiece"}
"""Libraries of the extra `weights`, which take seconds and hundreds of megabytes to import."""


@cache
def imports() -> list[tuple[str, str, Path]]:
    """Every import of one package by another, also those inside functions; those for types alone do not count."""
    found = []
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        for node in _imports_below(parsed(path)):
            if node.level:
                package = parts[: len(parts) - node.level]
                target = (*package, *(node.module or "").split(".")) if node.module else package
                names = [target[0]] if target and target[0] else [alias.name for alias in node.names]
                found += [(parts[0], name, path) for name in names if name != parts[0]]
    return found


def _imports_below(node: ast.AST) -> Iterator[ast.ImportFrom]:
    """Those among the statements of a block and of the blocks inside it; no expression has any."""
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        for one in getattr(node, block, ()):
            if isinstance(one, ast.ImportFrom):
                yield one
            elif not _is_for_types(one):
                yield from _imports_below(one)


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_a_package_imports_only_what_is_below_it(room: str) -> None:
    """Nothing imports from above or from beside it."""
    reaching = {(target, str(path.relative_to(ROOT))) for here, target, path in imports() if here == room}

    assert {found for found in reaching if found[0] not in MAY_IMPORT[room]} == set()


def test_every_package_has_its_place() -> None:
    """A new one gets its place in the order before its first import."""
    rooms = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}

    assert rooms == set(MAY_IMPORT) | TOP


def test_a_file_name_means_one_thing() -> None:
    """In whatever folder it stands; where two have the same name, the reason is given above."""
    names = Counter(path.stem for path in ROOT.rglob("*.py"))

    assert {name for name, count in names.items() if count > 1} == SAME_MEANING


def test_no_module_is_long() -> None:
    """So that each can be read in one go."""
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in ROOT.rglob("*.py")}

    assert {name: count for name, count in lengths.items() if count > MAX_LINES} == {}


def test_engines_import_models_and_media_libraries_only() -> None:
    """An engine knows nothing of queues, credits or HTTP."""
    strangers = set()
    for path in (ROOT / "service" / "engines").rglob("*.py"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                strangers.add((node.module or "").partition(".")[0])
            elif isinstance(node, ast.Import):
                strangers |= {alias.name.partition(".")[0] for alias in node.names}

    assert strangers & {"httpx", "starlette", "uvicorn", "sqlite3", "asyncio", "pandas", "ipywidgets"} == set()
    assert {"numpy", "PIL", "av"} <= strangers


def test_only_the_pipelines_import_torch() -> None:
    """Neither at the top of a module nor in a function does anything else import it, or what it brings along."""
    inside, outside = set[str](), set[str]()
    pipelines = ROOT / "service" / "weights" / "pipelines"
    for path in ROOT.rglob("*.py"):
        found = inside if path.is_relative_to(pipelines) else outside
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add((node.module or "").partition(".")[0])
            elif isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}

    assert outside & OF_WEIGHTS == set()
    assert {"torch", "diffusers", "transformers", "safetensors"} <= inside
