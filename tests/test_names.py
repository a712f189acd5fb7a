"""The vocabulary of the source: plain names, one bound prefix, and a docstring for everything that others use."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import reelbook
from tests.trees import parsed

ROOT = Path(reelbook.__file__).parent
PACKAGES: dict[str, list[Path]] = {}
"""The modules of each package."""
for _path in sorted(ROOT.rglob("*.py")):
    PACKAGES.setdefault(_path.relative_to(ROOT).parts[0].removesuffix(".py"), []).append(_path)
PRIVATE_WORDS = {
    *("told", "tell", "tells", "untold", "kept", "shown", "look", "looks", "looked", "looking", "kin", "desk", "shop"),
    *("till", "hire", "crew", "books", "mistake", "mistakes"),
}
"""Words that an earlier vocabulary used for a response, a cache, a poll and more; a reader had to learn them."""
METAPHORS = re.compile(r"\b(kin|desks?|shops?|houses?|till|crew|wings?|doors?|told|untold)\b", re.IGNORECASE)
DRAWN = ROOT / "service" / "engines"
"""What is drawn may be a house or a shop."""


def identifiers(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every name that a module defines or uses, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr="tell"):
                pass  # The method of a file.
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name, node.lineno
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno
            case ast.keyword(arg=str(name)):
                yield name, node.value.lineno
            case ast.alias():
                yield node.asname or node.name, node.lineno


@cache
def is_private(name: str) -> bool:
    """Whether one of the words that an earlier vocabulary used is in a name."""
    words = {word.lower() for word in re.split(r"_+|(?<=[a-z0-9])(?=[A-Z])", name) if word}
    return bool(words & PRIVATE_WORDS) or name.startswith("MOST_")


def functions_in(node: ast.stmt) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions among the statements of a block and of the blocks inside it."""
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(node, block, ()):
            if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield inner
            yield from functions_in(inner)


def docstrings(tree: ast.Module) -> Iterator[tuple[str, str | None]]:
    """Those of the module, of its public classes and functions, and of the methods that have one."""
    yield "the module", ast.get_docstring(tree)
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            yield node.name, ast.get_docstring(node)
            for inner in functions_in(node) if isinstance(node, ast.ClassDef) else ():
                if ast.get_docstring(inner):
                    yield f"{node.name}.{inner.name}", ast.get_docstring(inner)


@pytest.mark.parametrize("package", PACKAGES)
def test_names_and_docstrings_are_plain(package: str) -> None:
    """No private word in an identifier, no metaphor in a docstring, and a statement first in each."""
    wrong: dict[str, object] = {}
    for path in PACKAGES[package]:
        tree = parsed(path)
        documented = dict(docstrings(tree))
        first = {name: text.splitlines()[0] for name, text in documented.items() if text}
        is_drawn = DRAWN in path.parents
        found: dict[str, object] = {
            "words": [(name, n) for name, n in identifiers(tree) if is_private(name)],
            "no docstring": [name for name, text in documented.items() if not text],
            "no statement": [one for one in first.items() if not re.search(r"[.:!]$", one[1]) or len(one[1]) > 140],
            "metaphors": [one for one in first.items() if METAPHORS.search(one[1]) and not is_drawn],
        }
        wrong |= {f"{path.relative_to(ROOT)}: {what}": those for what, those in found.items() if those}

    assert wrong == {}


def test_the_words_are_found() -> None:
    """The control: names as they once were."""
    tree = ast.parse("def looks_out(kept): return said.told\nMOST_BYTES = client(shown=1)")

    found = {name for name, _ in identifiers(tree) if is_private(name)}

    assert found == {"looks_out", "kept", "told", "MOST_BYTES", "shown"}
