"""Scripts for pages of tests that need parts of src/frontend by themselves."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

FRONTEND = Path(__file__).parents[2] / "src" / "frontend"


@cache
def bundle(source: str) -> str:
    """This module with all that it imports, `./media/clock.ts` for instance, and with its names as they are."""
    (esbuild,) = FRONTEND.glob("node_modules/@esbuild/*/bin/esbuild")
    return subprocess.run(
        [esbuild, "--bundle", "--format=esm", "--charset=utf8", "--log-level=warning"],
        cwd=FRONTEND, input=source, capture_output=True, text=True, encoding="utf-8", check=True,
    ).stdout  # fmt: skip


def read_styles(*names: str) -> str:
    """These style sheets of src/frontend, one after the other."""
    return "".join((FRONTEND / name).read_text(encoding="utf-8") for name in names)


def split_module(text: str) -> tuple[str, str]:
    """A built script without its export, to go on within the same module; and the name of what it exports."""
    script, _, export = text.rpartition("export{")
    return script, export.partition(" as default")[0]
