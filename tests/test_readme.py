"""The README and the guides: every Python block runs as written, and every command that is named exists."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from reelbook.current import session
from tests.support import deep

ROOT = Path(__file__).resolve().parents[1]
SMALL = 'num_frames=9, resolution="480p", aspect_ratio="1:1"'
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDES = sorted((ROOT / "notebooks" / "guides").glob("*.md"))


@pytest.mark.parametrize("frames", [9, *deep((49,))])
def test_the_python_blocks_run_one_after_another(tmp_path: Path, frames: int) -> None:
    """As a newcomer would paste them, in an empty folder; its first clip is shorter and smaller here, and as written with `make deep`."""
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    code = "\n".join(blocks)
    assert code.count("num_frames=49") == 1
    environment = {**os.environ, "REELBOOK_LIBRARY": str(tmp_path / "library")}

    done = subprocess.run(
        [sys.executable, "-c", code if frames == 49 else code.replace("num_frames=49", SMALL)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert len(blocks) == 3
    assert done.returncode == 0, done.stderr
    assert "Estimate(53 credits, exact): base 53" in done.stdout
    assert (tmp_path / "boat.mp4").stat().st_size > 10_000


@pytest.mark.parametrize(
    "guide", [path for path in GUIDES if "```python" in path.read_text(encoding="utf-8")], ids=lambda path: path.stem
)
def test_the_python_blocks_of_a_guide_run_one_after_another(
    guide: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In an empty folder, as somebody would who copies the page."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REELBOOK_LIBRARY", str(tmp_path / "library"))
    code = "\n".join(re.findall(r"```python\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL))
    try:
        exec(compile(code.replace("num_frames=49", SMALL), str(guide), "exec"), {})
    finally:
        if session.current:
            session.current.close()


def test_what_the_readme_says_of_an_error_is_what_the_error_says(tmp_path: Path) -> None:
    """The quoted sentences are the real ones."""
    quoted = [
        line.removeprefix("# ").removeprefix("#   ").strip()
        for line in README.splitlines()
        if line.startswith(("# TextToVideo has", "#   - "))
    ]
    code = "import reelbook as rb\ntry:\n    rb.TextToVideo(prompt='x', num_frames=5000, resolution='1080p')\nexcept rb.InvalidInput as error:\n    print(error)"

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert len(quoted) == 3
    assert all(line in said for line in quoted)


def test_every_make_target_and_command_it_names_exists() -> None:
    """`make x` is a target, `reelbook x` a command, and every link a file."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    help_text = subprocess.run(
        [sys.executable, "-m", "reelbook", "--help"], capture_output=True, text=True, check=True
    ).stdout

    assert set(re.findall(r"(?:^|`)make ([a-z]+)", README, re.MULTILINE)) <= targets
    named = re.search(r"`reelbook ([a-z |]+)`", README)
    assert named
    assert all(command in help_text for command in named[1].split(" | "))
    assert all((ROOT / link).exists() for link in re.findall(r"\]\(([^)h][^)]*)\)", README))


def test_every_file_that_contributing_names_exists() -> None:
    """With its folder, or as any file of the name where the folder stands in the same line."""
    named = set(
        re.findall(r"`([\w./-]+\.(?:py|ts|css|toml|json|md))`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    )
    files = [f"/{path}" for folder in ("src", "tests", "notebooks") for path in (ROOT / folder).rglob("*.*")]
    files += [f"/{path}" for path in ROOT.glob("*.*")]

    assert {name for name in named if not any(file.endswith(f"/{name}") for file in files)} == set()
