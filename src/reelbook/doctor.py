"""Checks of an installation: packages, video encoder, embedded service, and one small run in a temporary library."""

from __future__ import annotations

import platform
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("httpx", "pydantic", "ipython", "ipywidgets", "pandas", "av", "pillow", "numpy", "starlette", "uvicorn")

Finding = tuple[bool, str]


def run_checks() -> Iterator[Finding]:
    """Run the checks and yield a (passed, sentence) pair for each."""
    yield sys.version_info >= (3, 11), f"Python {platform.python_version()} (3.11 or newer is needed)"
    for package in PACKAGES:
        yield _package(package)
    yield _encoder()
    yield from _first_run()


def _package(name: str) -> Finding:
    try:
        return True, f"{name} {version(name)}"
    except PackageNotFoundError:
        return False, f"{name} is missing: pip install {name}"


def _encoder() -> Finding:
    from .service.engines.video_writer import has_x264

    if has_x264():
        return True, "H.264 encoder: libx264"
    return False, "PyAV has no libx264 here: clips are made in another format, which some browsers do not play"


def _first_run() -> Iterator[Finding]:
    """A real run on an embedded service in a temporary folder."""
    from .client import Client
    from .errors import ReelbookError
    from .models.text_to_video import TextToVideo

    # Cleanup errors are ignored, because a virus scanner may briefly hold a file open.
    with tempfile.TemporaryDirectory(prefix="reelbook-doctor-", ignore_cleanup_errors=True) as folder:
        began = time.perf_counter()
        try:
            # Not `connect`, which would use REELBOOK_URL, a service where a run costs real credits.
            with Client(None, None, Path(folder)) as client:
                yield True, f"embedded service at {client.base_url}, ready after {time.perf_counter() - began:.2f} s"
                began = time.perf_counter()
                run = client.run(TextToVideo(prompt="a paper boat", num_frames=9, resolution="480p", seed=7))
                took = time.perf_counter() - began
                yield run.video.probe.frames == 9, f"a run of nine frames, from call to file in {took:.2f} s"
        except ReelbookError as error:
            yield False, str(error)
