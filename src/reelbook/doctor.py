"""Checks of an installation: packages, video encoder, embedded service, and one small run in a temporary library."""

from __future__ import annotations

import platform
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reelbook_service.hosted.paid_service import HostedService

    from .client import Client

PACKAGES = ("httpx", "pydantic", "ipython", "ipywidgets", "pandas", "av", "pillow", "numpy", "starlette", "uvicorn")
CALL_SECONDS = 60.0

Finding = tuple[bool, str]


def run_checks() -> Iterator[Finding]:
    """Run the checks and yield a (passed, sentence) pair for each."""
    yield sys.version_info >= (3, 11), f"Python {platform.python_version()} (3.11 or newer is needed)"
    for package in PACKAGES:
        yield _package(package)
    yield _encoder()
    yield from _first_run()


def check_models_file(path: Path, *, deep: bool = False) -> Iterator[Finding]:
    """Check a `models.toml`, and yield a (passed, sentence) pair for each model, service and weights; nothing is paid for."""
    from reelbook_service.hosted.models_file import read_models_file
    from reelbook_service.weights.doctor import check_rows

    from .errors import ReelbookError
    from .models.catalog import CATALOG

    try:
        file = read_models_file(path)
    except ReelbookError as error:
        yield False, str(error)
        return
    for row in CATALOG:
        name = file.hosted.get(row.id)
        weights = file.weights.get(row.id)
        here = "this machine" if weights is None else f"this machine, with the weights in {weights.folder}"
        where = here if name is None else f"the service {name!r} at {file.services[name].host}"
        yield True, f"{row.id} is run by {where}"
    for service in file.services.values():
        yield _service_elsewhere(service)
    if file.weights:
        yield from check_rows(tuple(file.weights.values()), deep=deep)


def _service_elsewhere(service: HostedService) -> Finding:
    """Whether a service elsewhere answers, speaks the API and does not refuse the key."""
    from .client import Client
    from .errors import Forbidden, NotFound, ReelbookError, Refused
    from .models.base import parse_count

    name, left = f"the service {service.name!r} at {service.host}", None
    with tempfile.TemporaryDirectory(prefix="reelbook-doctor-", ignore_cleanup_errors=True) as folder:
        try:
            with Client(service.address, service.key, Path(folder)) as client:
                features = ", ".join(sorted(client.features())) or "what the specification shows"
                with suppress(NotFound, Forbidden, Refused):  # The specification has no account.
                    left = parse_count(client.account().get("credits_available"))
                if left is None and not _speaks_api(client):
                    words = "nothing at this address speaks the API. Correct the address: it is what comes before /models/run"
                    return False, f"{name}: {words}"
        except ReelbookError as error:
            return False, f"{name}: {error}"
    silent = "it does not refuse the key, nor say how many credits are left"
    money = silent if left is None else f"{left:,} credits are left"
    return True, f"{name} answers and offers {features}; {money}"


def _speaks_api(client: Client) -> bool:
    """Whether a service describes a model where the specification has it; raises if it refuses the key."""
    from .errors import Forbidden, NotFound, ServiceError, Unauthorized
    from .models.catalog import CATALOG
    from .transport.service_calls import NO_REQUEST
    from .util.background_loop import background

    calls, model = client.context.calls, CATALOG[0].id
    try:
        with suppress(NotFound):  # As it should be, for a request that nobody made.
            background.wait(calls.status(model, NO_REQUEST), CALL_SECONDS)
        return "paths" in background.wait(calls.description(model), CALL_SECONDS)
    except (Forbidden, Unauthorized):
        raise
    except ServiceError:
        return False


def _package(name: str) -> Finding:
    try:
        return True, f"{name} {version(name)}"
    except PackageNotFoundError:
        return False, f"{name} is missing: pip install {name}"


def _encoder() -> Finding:
    from reelbook_service.engines.video_writer import has_x264

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
