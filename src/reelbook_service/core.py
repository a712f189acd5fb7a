"""The service without HTTP: its store, accounts, files, queue and workers, and the operations on them."""

from __future__ import annotations

import asyncio
import base64
import json
import sqlite3
import uuid
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from reelbook._version import __version__
from reelbook.errors import UnknownModel
from reelbook.models.base import WIRE, Input
from reelbook.models.catalog import CATALOG, Endpoint, Estimate, get_endpoint
from reelbook.models.images import pictures_of
from reelbook.models.queue_status import COMPLETED, IN_PROGRESS, IN_QUEUE
from reelbook.util.data_address import is_data_address

from . import spec_decisions
from .accounts import Account, Accounts
from .engines.protocol import SourceError, decode_data_uri
from .lanes import LOCAL, Lane
from .queue import Queue, Request
from .refusals import Refusal, check_list_lengths, invalid, invalid_at
from .service_files import Files, ResultWriter
from .service_settings import Settings
from .store import DATABASE, Store, lock_folder, read_fact, write_fact
from .workers import WorkerLane

CLEANUP_INTERVAL_SECONDS = 3600.0
MAX_LOG_BYTES = 2_000_000


class Service:
    """A running service, without HTTP."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.base_url = settings, ""
        self.paid: dict[str, dict[str, float]] = {}
        """What is known of the service that a lane pays, by the names of the lane and of the fact."""
        data = settings.data
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = lock_folder(data)
        with ExitStack() as undo:
            undo.callback(self._lock.close)
            self.store = Store(data / DATABASE)
            undo.callback(self.store.close)
            self._open(data)
            undo.pop_all()

    def _open(self, data: Path) -> None:
        settings, log = self.settings, data / "workers.log"
        if log.exists() and log.stat().st_size > MAX_LOG_BYTES:
            log.unlink()
        self.id: str = self.store.submit(_service_id).result()
        self.accounts = Accounts(self.store, settings.clock)
        self.files = Files(self.store, data / "files", settings.clock, settings.retention)
        self.queue = Queue(self.store, self.accounts, settings.clock, settings.max_waiting, settings.lanes)
        self.results = ResultWriter(self.queue, self.files, settings.clock)
        self.workers = WorkerLane(self)
        self.lanes: dict[str, Lane] = {LOCAL: self.workers}
        self.lanes |= {name: make(self) for name, make in settings.lanes.makers.items()}
        self._cleanup: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Resume unfinished requests and start the workers."""
        await self.files.remove_expired()
        self.queue.resume()
        for lane in self.lanes.values():
            lane.start()
        self._cleanup = asyncio.create_task(self._remove_expired_files())

    async def stop(self) -> None:
        """Stop the workers and close the store; accepted requests resume at the next start."""
        if self._cleanup is not None:
            self._cleanup.cancel()
        for lane in self.lanes.values():
            await lane.stop()
        # In this thread: at interpreter exit no others can be started.
        self.store.close()
        self._lock.close()

    def publish_address(self, base_url: str) -> None:
        """Write down the address of this service, for the command `reelbook class`."""
        self.base_url = base_url
        self._write_state().result()

    def note_paid(self, lane: str, name: str, value: float | None) -> None:
        """Write down what is known of the service that a lane pays; None for no longer."""
        facts = self.paid.get(lane, {})
        if facts.get(name) != value:
            changed = {**facts, name: value}
            self.paid[lane] = {key: fact for key, fact in changed.items() if fact is not None}
            self._write_state()

    def _write_state(self) -> Future[None]:
        state = {"address": self.base_url, "pays": self.settings.lanes.has_elsewhere, "paid": self.paid}
        text = json.dumps(state)
        return self.store.submit(lambda db: write_fact(db, "state", text))

    def read_input(self, row: Endpoint, value: Any, at: tuple[str, ...]) -> Input:
        """The validated input of a model; raises a 422 that lists each problem."""
        check_list_lengths(row.input, value, at)
        try:
            request = row.input.model_validate(value, context=WIRE)
        except ValidationError as error:
            raise invalid(row.input, error, at) from None
        for loc, address in pictures_of(request):
            if is_data_address(address):
                try:
                    decode_data_uri(address)
                except SourceError as error:
                    raise invalid_at([*at, *loc], str(error), "data_uri") from None
        return request

    async def estimate(self, request: Input, account: Account) -> Estimate:
        """The price of a run: the most that will be charged for it."""
        return await self.lanes[self.settings.lanes.lane_of(request.endpoint_id)].estimate(request, account)

    async def submit(
        self, account: Account, request: Input, idempotency: tuple[str, str] | None, *, resubmits: bool = False
    ) -> Request:
        """Reserve a run's credits and add it to the queue."""
        account.require_permission("run")
        price = (await self.estimate(request, account)).credits or 0
        return await self.queue.submit(account, request.endpoint_id, request.wire(), price, idempotency, resubmits)

    async def cancel(self, request: Request) -> str:
        """Cancel a request, and return the outcome as in the API; one that takes long is carried on after the answer."""
        lane = self.lanes.get(request.lane)
        if lane is None and request.status != COMPLETED:
            words = "The engine of this run is not set up at present, so that it cannot be cancelled. Try again later."
            raise Refusal("unavailable", words)
        answer = await self.queue.cancel(request)
        if answer == "CANCELLATION_REQUESTED" and lane is not None:
            # It is on disk by now; a paid service may take long to answer.
            cancelling = asyncio.create_task(lane.cancel(request))
            cancelling.add_done_callback(lambda done: done.cancelled() or done.exception())
            await asyncio.wait([cancelling], timeout=spec_decisions.CANCEL_SECONDS)
            if cancelling.done() and not cancelling.result():
                return "ALREADY_COMPLETED"
        return answer

    def status(self, request: Request, base_url: str, *, logs: bool = False) -> dict[str, Any]:
        """The queue status object."""
        status: dict[str, Any] = {"status": request.status, "request_id": request.id}
        if request.status == IN_QUEUE:
            status["queue_position"] = self.queue.waiting[request.lane].position(request)
        elif request.status == IN_PROGRESS and request.waits_elsewhere:
            status["status"] = IN_QUEUE
            # Always there: other clients of this API, such as fal-client, read it without asking whether it is.
            status["queue_position"] = request.place_elsewhere or 0
        status["logs"] = {"entries": list(request.logs)} if logs else {}
        status["metrics"] = request.metrics()
        url = request_url(request, base_url)
        status |= {"status_url": f"{url}/status", "response_url": url, "cancel_url": f"{url}/cancel"}
        if request.error:
            status |= {"error": request.error["detail"], "error_type": request.error["error_type"]}
        return status

    def result(self, request: Request, base_url: str) -> dict[str, Any]:
        """The output of a request; raises a refusal where there is none."""
        if request.status != COMPLETED:
            words = "Request is still in progress. Ask its status, or wait a little and ask again."
            raise Refusal("not_ready", words, headers={"x-request-id": request.id})
        if request.error is not None:
            raise Refusal(request.error["error_type"], request.error["detail"], headers={"x-request-id": request.id})
        output = request.output or {}
        return dict(self._add_file_objects(output, base_url, inline=bool(output.get("$inline"))))

    def _add_file_objects(self, value: Any, base_url: str, inline: bool) -> Any:
        """An output with its files as File objects, at the caller's base URL."""
        if isinstance(value, list):
            return [self._add_file_objects(item, base_url, inline) for item in value]
        if not isinstance(value, dict):
            return value
        if "$file" not in value:
            items = ((name, item) for name, item in value.items() if name != "$inline")
            return {name: self._add_file_objects(item, base_url, inline) for name, item in items}
        try:
            stored = self.files.get(value["$file"])
        except Refusal:
            raise Refusal(
                "not_found", "The files of this request were kept as long as files are kept here, and are gone."
            ) from None
        file_object = stored.to_file_object(base_url)
        if inline:
            content = base64.b64encode(self.files.path(stored).read_bytes()).decode()
            file_object["url"] = f"data:{stored.content_type};base64,{content}"
        return {**file_object, **value["facts"]}

    async def _remove_expired_files(self) -> None:
        while True:
            await asyncio.sleep(CLEANUP_INTERVAL_SECONDS)
            await self.files.remove_expired()


def require_endpoint(endpoint_id: Any, at: tuple[str, ...] = ("body", "endpointId")) -> Endpoint:
    """The catalog row of the model that a caller named; raises a refusal for any other value."""
    if not isinstance(endpoint_id, str):
        raise invalid_at(at, "`endpointId` must be text: the id of a model.", "string_type")
    try:
        return get_endpoint(endpoint_id)
    except UnknownModel:
        models = ", ".join(row.id for row in CATALOG)
        raise Refusal("not_found", f"There is no model {endpoint_id[:100]!r} here. The models are: {models}.") from None


def request_url(request: Request, base_url: str) -> str:
    """The URL of a request's result, below which its others are."""
    return f"{base_url}/{request.endpoint_id}/requests/{request.id}"


def service_info(service: Service) -> dict[str, Any]:
    """Name, version, features and id of the service, and which engine answers for each model."""
    return {
        "service": "reelbook",
        "version": __version__,
        "features": list(spec_decisions.FEATURES),
        "engines": {row.id: service.settings.lanes.label_of(row.id) for row in CATALOG},
        "id": service.id,
    }


def _service_id(db: sqlite3.Connection) -> str:
    """The id stored in the data folder, which is independent of the port."""
    service_id = read_fact(db, "id")
    if service_id is None:
        write_fact(db, "id", service_id := str(uuid.uuid4()))
    return service_id
