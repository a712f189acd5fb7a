"""The lane of a paid service: its runs are made there, on its key, and their files are served from here."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import shutil
import time
from functools import partial
from pathlib import Path
from typing import Any

from reelbook.errors import ReelbookError, Refused, Unreachable
from reelbook.models import catalog
from reelbook.models.base import WIRE, Input
from reelbook.models.catalog import Estimate, get_endpoint
from reelbook.models.file_kinds import HEAD_BYTES, sniff_kind
from reelbook.models.images import Image, pictures_of, replace_pictures
from reelbook.models.queue_status import ANSWER_LOST, IN_QUEUE
from reelbook.relay import Client, Once, forget_runs, is_lost, make_price_key
from reelbook.util.background_loop import background
from reelbook.util.data_address import is_data_address

from ..accounts import Account, may_be_unchecked
from ..core import Service
from ..lanes import Lane
from ..queue import Request
from ..refusals import Refusal
from .paid_service import HostedService
from .run import WHO_SETTLES, Ended, PaidRun

FOLDER = "hosted"
"""The folder of the gateway's library, in the data folder of the service."""
PRICE_SECONDS, PRICE_RETRY_SECONDS = 4.0, 30.0
"""How long the paid service is asked for a price, and how long the catalog's counts after no answer."""
ACCOUNT_SECONDS, FORGET_SECONDS = 30.0, 3600.0
"""How often the paid service is asked for the credits that are left, and how often expired runs are removed."""

log = logging.getLogger("reelbook_service")


class HostedLane(Lane):
    """Works on the runs of one paid service, `at_once` of them at a time."""

    def __init__(self, hosted: HostedService, service: Service) -> None:
        super().__init__(service, hosted.lane)
        self._hosted, library = hosted, service.settings.data / FOLDER
        self._client = Client(hosted.address, hosted.key, library, service.settings.rates, shelf=str(library / "media"))
        self._busy: dict[str, PaidRun] = {}
        self._no_prices_until = 0.0
        query = "SELECT kind, credits FROM dearer WHERE lane = ?"
        rows = service.store.submit(lambda db: db.execute(query, (self.name,)).fetchall()).result()
        self._dearer: dict[str, int] = {row["kind"]: row["credits"] for row in rows}
        """The least that is reserved for some kinds of runs, which have cost more than was reserved for them."""

    def start(self) -> None:
        """Start to take requests from the queue."""
        self._tasks = [asyncio.create_task(self._serve()) for _ in range(self._hosted.at_once)]
        self._tasks += [asyncio.create_task(self._forget_expired()), asyncio.create_task(self._watch_account())]

    async def stop(self) -> None:
        """Stop taking requests, and wait until the answers to the paid ones in flight are recorded."""
        await super().stop()
        await asyncio.wrap_future(self._client.begin_close())
        self._client.finish_close()

    async def cancel(self, request: Request) -> bool:
        """Cancel a run at the paid service; false where that refuses."""
        run = self._busy.get(request.id)
        # One that is in the queue, or taken from it just now, is cancelled by its mark.
        return run is None or await asyncio.wrap_future(background.submit(run.cancel()))

    async def estimate(self, request: Input, account: Account) -> Estimate:
        """The price that is reserved and never exceeded: the largest of the quote, the catalog's, and what such a run has cost."""
        prepared = await asyncio.to_thread(self._prepare, request, account.name)
        quote = catalog.estimate(request, self._service.settings.rates)
        if time.monotonic() >= self._no_prices_until:
            try:
                async with asyncio.timeout(PRICE_SECONDS):
                    quote = await asyncio.wrap_future(background.submit(self._client.context.estimate(prepared)))
            except Refused as error:
                raise Refusal("validation_error", f"The paid service refuses this input: {error.message}") from None
            except (ReelbookError, TimeoutError):
                self._no_prices_until = time.monotonic() + PRICE_RETRY_SECONDS
        if (price := quote.counted) is None:
            raise Refusal("unavailable", "The price of this run is not known, so no budget can pay for it.")
        return Estimate(max(price, self._dearer.get(_kind(request), 0)), quote.breakdown, quote.rate_card, "exact")

    def _prepare(self, request: Input, account: str) -> Input:
        """The input as it is sent to the paid service: pictures of this service as files, and checked unless that is allowed."""
        replaced: dict[tuple[str | int, ...], str] = {}
        files = self._service.files
        for loc, address in pictures_of(request):
            if path := files.find_local_path(address, account):
                replaced[loc] = Image(str(path), label="an upload")
            elif files.is_own(address) or not (is_data_address(address) or _is_web_address(address)):
                # Any other text would be read as a path on this machine, or as an upload of the paying account.
                words = "A picture is neither an http, https or data: address nor a file of this service that is still there."
                raise Refusal("file_download_error", words)
        values = replace_pictures(request.wire(), replaced)
        is_allowed = self._service.store.submit(partial(may_be_unchecked, name=account)).result()
        if values.get("enable_safety_checker") is False and not is_allowed:
            values["enable_safety_checker"] = True  # The paying account may turn it off; this one may not.
        return type(request)(**values)

    async def _forget_expired(self) -> None:
        """Keep the clips and prompts of students for no longer here than in the service itself."""
        settings, client = self._service.settings, self._client
        while True:
            try:
                await asyncio.to_thread(forget_runs, client.shelf, client.ledger, settings.clock() - settings.retention)
            except (ReelbookError, OSError):
                log.warning("Old runs of the gateway's library could not be removed yet.", exc_info=True)
            await asyncio.sleep(FORGET_SECONDS)

    async def _watch_account(self) -> None:
        """Keep whoever runs the service informed: since when the paid one is silent, and what is left on the key, if it says."""
        note = partial(self._service.note_paid, self.name)
        silent_since: float | None = None
        while True:
            try:
                account = await asyncio.wrap_future(background.submit(self._client.context.calls.account()))
                left = account.get("credits_available")
                note("left", left if isinstance(left, int) else None)
                silent_since = None
            except Unreachable:
                silent_since = silent_since or self._service.settings.clock()
            except (ReelbookError, OSError):  # The specification has no account.
                silent_since = None
            note("silent_since", silent_since)
            await asyncio.sleep(ACCOUNT_SECONDS)

    async def _serve(self) -> None:
        while True:
            request = await self._service.queue.pop_next(self.name)
            request.waits_elsewhere, request.engine = True, self._hosted.label
            folder = self._folder / request.id
            try:
                outcome = await self._run(request, folder)
            except Exception:
                log.exception("The run %s broke off in the gateway", request.id)
                words = "The gateway broke off, so nobody knows yet whether the run was made and paid for."
                outcome = _failed(ANSWER_LOST, f"{words} {WHO_SETTLES}", request.credits)
            if outcome is not None:
                request.waits_elsewhere = False
                try:
                    await self._service.results.end(request, outcome, folder)
                except Exception:
                    # The next start takes it up again; this place of the lane must survive it.
                    log.exception("The end of the run %s could not be stored", request.id)
            self._busy.pop(request.id, None)
            shutil.rmtree(folder, ignore_errors=True)

    async def _run(self, request: Request, folder: Path) -> dict[str, Any] | None:
        """The outcome of a request; None if the gateway stops before its end."""
        values = await self._service.queue.read_input(request)
        own_input = get_endpoint(request.endpoint_id).input.model_validate(values, context=WIRE)
        prepared: Input | None = None
        try:
            prepared = await asyncio.to_thread(self._prepare, own_input, request.account)
        except Refusal as refusal:
            if not request.may_be_sent:
                return _failed(refusal.error_type, refusal.detail)
        if prepared is not None and not request.may_be_sent:
            if await self._was_lost_before(request, prepared):
                return _failed(
                    ANSWER_LOST,
                    "A run of the same input, of this account, was sent to the paid service before and its answer was lost. This "
                    f"one was not sent and costs nothing. {WHO_SETTLES} To send it nevertheless: rb.run(…, fresh=True).",
                )
            if (price := self._dearer.get(_kind(own_input), 0)) > request.credits:
                return _failed(
                    "engine_error",
                    f"This run costs {price} credits by now, and {request.credits} when it was accepted. It was not sent, "
                    "and nothing was charged. Run it again if you want it at that price.",
                )
        loop = asyncio.get_running_loop()

        def report(run: Any, warning: str = "") -> None:
            with contextlib.suppress(RuntimeError):  # The loop is closed once the service has stopped.
                loop.call_soon_threadsafe(self._apply, request, own_input, run, warning)

        once = Once(self._client, request.id, request.endpoint_id)
        run = self._busy[request.id] = PaidRun(self._client, once, prepared, self._hosted.charges_failures, report)
        if request.cancelling:
            background.submit(run.cancel())
        # Shielded: a stop must not break off a paid request.
        ended = await asyncio.shield(asyncio.wrap_future(background.submit(run.perform())))
        if ended is None:
            return None
        charged = self._settle(request, own_input, ended)
        if ended.output is None:
            cost = f"{charged} credits were charged." if charged else "Nothing was charged."
            detail = ended.detail if cost in ended.detail else f"{ended.detail} {cost}"
            return _failed(ended.error_type, detail, charged)
        output = await asyncio.to_thread(_take_files, ended, folder)
        return {"done": output, "inline": values.get("sync_mode", False), "charged": charged}

    async def _was_lost_before(self, request: Request, prepared: Input) -> bool:
        """Whether the answer to an equal run of the same account was lost before this one came, and nobody has settled it."""
        # In the order of time: what waited together with the lost one is another run that somebody wanted, such as a second take.
        query = (
            "SELECT lost.id FROM requests AS lost, requests AS own WHERE own.id = ? AND NOT own.resubmits AND lost.account = own.account "
            "AND lost.endpoint = own.endpoint AND lost.error_type = ? AND lost.finished <= own.created"
        )
        rows = await self._service.store.run(lambda db: db.execute(query, (request.id, ANSWER_LOST)).fetchall())
        keys = [row["id"] for row in rows]
        return bool(keys) and await asyncio.wrap_future(background.submit(is_lost(self._client, prepared, keys)))

    def _settle(self, request: Request, own_input: Input, ended: Ended) -> int:
        """The credits to charge: the larger of what the paid service reports and the catalog's, at most those reserved."""
        if ended.charged is None or ended.error_type == ANSWER_LOST:
            return request.credits
        self._note_cost(request, own_input, ended.charged)
        least = 0 if ended.output is None else catalog.estimate(own_input, self._service.settings.rates).credits or 0
        return min(max(ended.charged, least), request.credits)

    def _note_cost(self, request: Request, own_input: Input, cost: int | None) -> None:
        """Reserve more for runs of this kind from now on, if this one costs more than was reserved for it."""
        kind = _kind(own_input)
        if cost is None or cost <= max(request.credits, self._dearer.get(kind, 0)):
            return
        log.warning(
            "Run %s of %s costs %s credits, and %s are reserved", request.id, request.account, cost, request.credits
        )
        self._dearer[kind] = cost
        save = "INSERT OR REPLACE INTO dearer VALUES (?, ?, ?)"
        self._service.store.submit(lambda db: db.execute(save, (self.name, kind, cost)))

    def _apply(self, request: Request, own_input: Input, run: Any, warning: str) -> None:
        """Pass on the state of the client's run, or why there is none at present."""
        if request.finished is not None:
            return
        now = self._service.settings.clock()
        request.waits_elsewhere, request.place_elsewhere = True, None
        if run is None:
            request.log(now, warning, "WARNING", "elsewhere")
            return
        self._note_cost(request, own_input, run.credits)
        request.waits_elsewhere, request.place_elsewhere = (
            run.queue_status.status == IN_QUEUE,
            run.queue_status.queue_position,
        )
        if not request.waits_elsewhere:
            fraction, stage = run.progress
            request.started = request.started if request.stage else now
            request.stage, request.progress = stage, max(request.progress, fraction)
        passed = sum(line["source"] == "elsewhere" and line["level"] == "INFO" for line in request.logs)
        for line in run.logs[passed:]:
            request.log(now, line, "INFO", "elsewhere")


def _kind(request: Input) -> str:
    """A short name for all runs that cost the same."""
    return hashlib.sha256(make_price_key(request).encode()).hexdigest()


def _failed(error_type: str, detail: Any, charged: int = 0) -> dict[str, Any]:
    return {"failed": {"error_type": error_type, "detail": detail}, "charged": charged}


def _take_files(ended: Ended, folder: Path) -> Any:
    """The output with the files of the library linked into a folder, as the result writer takes them; no other address."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    made: dict[str, dict[str, Any]] = {}
    for number, file in enumerate(ended.files):
        path = folder / f"{number}{file['path'].suffix}"
        try:
            os.link(file["path"], path)
        except OSError:  # This file system has no links.
            shutil.copyfile(file["path"], path)
        with path.open("rb") as opened:
            content_type = sniff_kind(opened.read(HEAD_BYTES)).content_type
        made[file["url"]] = {"$made": path.name, "content_type": content_type}

    def take(value: Any) -> Any:
        if isinstance(value, list):
            return [take(item) for item in value]
        if not isinstance(value, dict):
            return value
        if file := made.get(str(value.get("url"))):
            texts = (str, dict, list)
            facts = {name: fact for name, fact in value.items() if not isinstance(fact, texts) and name != "file_size"}
            return {**file, "facts": facts}
        return {
            name: take(item) for name, item in value.items() if not (isinstance(item, str) and _is_web_address(item))
        }

    return take(dict(ended.output or {}))


def _is_web_address(address: str) -> bool:
    return address.lower().startswith(("http://", "https://"))
