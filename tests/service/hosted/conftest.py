"""A gateway in front of a stand-in of the paid service, on the key of a teacher."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from reelbook.transport import downloader
from reelbook_service.accounts import NewAccount
from reelbook_service.hosted import lane as hosted_lane
from reelbook_service.hosted import run as paid_run
from reelbook_service.hosted.models_file import make_lane_table, read_models_file
from tests.faults.standin import Fault, StandIn
from tests.support import Serve, Served

TEACHER = "the-key-of-the-teacher"
Open = Callable[..., Served]
Paid = Callable[..., tuple[StandIn, Served]]


def students(budget: int = 530) -> list[NewAccount]:
    """Three students, of whom one may turn the checker off."""
    names = {"ana": ("run", "upload"), "ben": ("run", "upload"), "una": ("run", "unchecked")}
    return [NewAccount(name, f"key-of-{name}", budget, permissions) for name, permissions in names.items()]


def write_models(folder: Path, address: str, local: str = "", **settings: Any) -> Path:
    """A file that has all models but `local` run by the paid service at this address."""
    more = "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
    exact = f'[models."{local}"]\nengine = "local"\n' if local else ""
    path = folder / "models.toml"
    path.write_text(
        f'[services.paid]\naddress = "{address}"\nkey = "env:TEACHER_KEY"\n{more}[models."*"]\nengine = "hosted"\n{exact}'
    )
    return path


@pytest.fixture(autouse=True)
def _teacher(monkeypatch: pytest.MonkeyPatch, impatient: None) -> None:
    monkeypatch.setenv("TEACHER_KEY", TEACHER)
    monkeypatch.setattr(paid_run, "PAUSE_SECONDS", 0.02)
    monkeypatch.setattr(downloader, "PAUSE_SECONDS", 0.02)
    monkeypatch.setattr(hosted_lane, "PRICE_SECONDS", 2.0)


@pytest.fixture
def elsewhere() -> Iterator[Callable[..., StandIn]]:
    """A service that shows only what the specification has, with faults."""
    with ExitStack() as stack:
        yield lambda *faults, **more: stack.enter_context(StandIn(faults, **more))


@pytest.fixture
def gateway(serve: Serve, tmp_path: Path) -> Open:
    """A gateway to this address, with three students; further settings are those of its file."""

    def opened(
        address: str, *, data: Path | None = None, local: str = "", budget: int = 530, **settings: Any
    ) -> Served:
        table = make_lane_table(read_models_file(write_models(tmp_path, address, local, **settings)))
        served = serve(accounts=students(budget), lanes=table, data=data or tmp_path / "gateway")
        return Served(served.server, served.http, "key-of-ana")

    return opened


@pytest.fixture
def paid(elsewhere: Callable[..., StandIn], gateway: Open) -> Paid:
    """A paid service with these faults, and a gateway in front of it; `settings` are those of the gateway."""

    def opened(*faults: Fault, settings: Mapping[str, Any] | None = None, **more: Any) -> tuple[StandIn, Served]:
        service = elsewhere(*faults, **more)
        return service, gateway(service.base_url, **(settings or {}))

    return opened
