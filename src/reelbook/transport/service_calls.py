"""The service's addresses as methods, content with what the specification shows and glad of the rest."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from ..errors import InsufficientCredits, NotFound, NotReady, Refused, ServiceError, Unauthorized, Unreachable
from ..models import pricing
from ..models.base import Input
from ..models.images import pictures_of, with_replaced
from ..models.pricing import Estimate, Rates
from ..models.queue_status import QueueStatus
from . import response_parsing
from .exchange import MAX_STATUS_BYTES
from .http import TOO_LARGE, Http, Upload
from .request_facts import Known
from .response_parsing import Accepted, Nature
from .responses import Answer, is_json, unreadable, value_of
from .service_address import Address, model_path, request_path

__all__ = ["Accepted", "Nature", "ServiceCalls"]

MAX_BATCH = 1_000
"""Ids in one batch status call."""
ANY_PICTURE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNgAAAAAgAB5Sfe/AAAAABJRU5ErkJggg=="
)
"""One black pixel."""
OURS = "reelbook"
"""What a service of ours says that it is. It keeps its id with its data, for as long as that is there."""
DOUBT_SECONDS = 60.0
"""A service that could not say what it is, is asked again after this."""


class ServiceCalls:
    """One service, as coroutines. `address` gives its base address, `renew` a new one when nobody answers."""

    def __init__(
        self, http: Http, address: str, renew: Callable[[], str] | None = None, rates: Rates | None = None
    ) -> None:
        self._http, self._address, self._rates = http, Address(address, renew), rates
        self._known = Known(self._address)
        self._logless: set[str] = set()
        """Requests whose log is too large to be asked for."""
        self._nature: Nature | None = None
        self._asked_nature, self._asking = float("-inf"), asyncio.Lock()

    @property
    def base_url(self) -> str:
        """Where the service answers now; an embedded one can move to another port."""
        return self._address.base_url

    @property
    def calls_made(self) -> int:
        """How many requests were sent to the service so far, repetitions included."""
        return self._http.calls_made

    async def nature(self) -> Nature:
        """What the service offers beyond the specification; asked once."""
        async with self._asking:
            if self._nature is not None:
                return self._nature
            if self._clock() - self._asked_nature < DOUBT_SECONDS:
                return Nature()
            try:
                self._nature = response_parsing.nature(self._value(await self._free("GET", "/")))
            except ServiceError as error:
                if error.status >= 500 or error.status == 429:
                    # It may have more to offer on a better day; until then nothing is taken for granted.
                    self._asked_nature = self._clock()
                    return Nature()
                self._nature = Nature()
            return self._nature

    async def keeps_its_id(self) -> bool:
        """Whether this is a service of ours that tells the same id when it is asked again."""
        first = await self.nature()
        if first.id is None or first.name != OURS:
            return False
        try:
            return response_parsing.nature(self._value(await self._free("GET", "/"))).id == first.id
        except (ServiceError, Unreachable):
            return False

    async def run(
        self,
        endpoint_id: str,
        input: Mapping[str, Any],
        *,
        credits: int | None = None,
        idempotency_key: str | None = None,
        sending: Callable[[], Awaitable[None]] | None = None,
    ) -> Accepted:
        """Submit a paid run: exactly one POST, repeated only where an idempotency key makes that safe.

        `sending` is awaited just before the first byte of each attempt leaves; what it raises keeps it from leaving.
        `Unreachable` means never sent, `UncertainRun` that nobody here knows, any other error that it was refused.
        """
        model_path(endpoint_id)  # What cannot be asked about later is not paid for.
        accepted = await self._http.paid(
            self._address,
            "/models/run",
            {"endpointId": endpoint_id, "input": input},
            read=response_parsing.accepted,
            credits=credits,
            idempotency_key=idempotency_key,
            sending=sending,
        )
        if accepted.request_id is not None:
            self._known.accepted(accepted.request_id, self._clock())
            self._known.remember(accepted.request_id, endpoint_id, accepted.told)
        return accepted

    def named(self, request_id: str) -> dict[str, str]:
        """The unusual addresses that the service named for a request, to be kept for another day."""
        return self._known.named(request_id)

    def restore(self, request_id: str, named: Mapping[str, Any]) -> None:
        """Find a request of another day where the service said that it is."""
        self._known.restore(request_id, named)

    async def status(self, endpoint_id: str, request_id: str) -> QueueStatus:
        """Where a request stands, with its log; without, where the log is larger than is read."""
        query = "" if request_id in self._logless else "?logs=1"
        try:
            answer = await self._queue("GET", endpoint_id, request_id, "status", query, most=MAX_STATUS_BYTES)
        except ServiceError as error:
            if error.error_type != TOO_LARGE or not query:
                raise
            self._logless.add(request_id)
            answer = await self._queue("GET", endpoint_id, request_id, "status", most=MAX_STATUS_BYTES)
        told = self._value(answer)
        status = response_parsing.status(told, request_id)
        if status is None:
            raise unreadable(answer, self._http.key)
        self._known.remember(request_id, endpoint_id, told)
        return status

    async def statuses(self, ids: Sequence[str]) -> dict[str, QueueStatus]:
        """Where many requests stand, for a service that advertises `batch-status`; finished ones carry their `output`."""
        found: dict[str, QueueStatus] = {}
        for first in range(0, len(ids), MAX_BATCH):
            some = list(ids[first : first + MAX_BATCH])
            answer = await self._free("POST", "/requests/status", {"ids": some})
            told = self._value(answer)
            if not isinstance(told, (dict, list)):
                raise unreadable(answer, self._http.key)
            found |= response_parsing.statuses(told, some)
        return found

    async def stream(self, endpoint_id: str, request_id: str) -> AsyncIterator[QueueStatus]:
        """Every status of a request as it changes, for a service that advertises `status-stream`.

        Ends after the final one. A stream that is cut before is `Unreachable`: ask for the status instead.
        """
        path = request_path(endpoint_id, request_id, "status", "stream")
        async for data in self._http.events(self._address, path):
            status = response_parsing.status(value_of(Answer(200, {}, data.encode()), self._http.key), request_id)
            if status is None:
                continue
            yield status
            if status.finished:
                return
        raise Unreachable(self._address.place, "the stream of the status ended before the run did")

    async def result(self, endpoint_id: str, request_id: str) -> Mapping[str, Any]:
        """The output of a finished request; `NotReady` while it is not finished."""
        try:
            answer = await self._queue("GET", endpoint_id, request_id, "response", is_large=True)
        except ServiceError as error:
            if not response_parsing.is_unfinished(error, is_new=self._known.is_new(request_id, self._clock())):
                raise
            raise _not_ready(request_id, error.status, error.message, error.foreign) from None
        if answer.status == 202 or not is_json(answer):
            if answer.status == 202:
                raise _not_ready(request_id, 202, "The result is not there yet.", answer.is_html)
            raise unreadable(answer, self._http.key)
        output = response_parsing.output(self._value(answer))
        if output is None:
            raise _not_ready(request_id, answer.status, "The result is not there yet.", False)
        return output

    async def cancel(self, endpoint_id: str, request_id: str) -> bool:
        """Ask for a cancellation; says whether the service agreed."""
        try:
            answer = await self._queue("PUT", endpoint_id, request_id, "cancel")
        except (Refused, NotFound) as error:
            if error.status not in (400, 404, 409):
                raise
            return response_parsing.was_cancelled(error.facts, otherwise=False)
        return response_parsing.was_cancelled(self._value(answer), otherwise=True)

    async def upload(self, content: bytes, name: str, content_type: str) -> str:
        """Send a source file, for a service that advertises `uploads`; what to name it by in an input."""
        upload = Upload(content, _plain_name(name), content_type)
        answer = await self._http.free("POST", self._address, "/files", upload=upload, is_large=True)
        named = response_parsing.file_name(self._value(answer))
        if named is None:
            raise unreadable(answer, self._http.key)
        return named

    async def estimate(self, request: Input) -> Estimate:
        """What the service says a run costs; our own catalog where it does not say, and then labelled so."""
        # Prices do not hang on what a picture shows: none is sent, let alone uploaded, to ask for one.
        places = {place: ANY_PICTURE for place, picture in pictures_of(request) if not picture.startswith("http")}
        body = {"endpointId": request.endpoint_id, "input": with_replaced(request.wire(), places)}
        try:
            told = self._value(await self._free("POST", "/models/pricing/estimate", body))
        except (Unauthorized, InsufficientCredits):
            raise
        except ServiceError as error:
            if error.status == 422 and _is_about_the_input(error):
                raise
            return pricing.estimate(request, self._rates)
        known = pricing.estimate(request, self._rates)
        found = response_parsing.estimate(told)
        return known if found is None else replace(found, catalog=known.credits)

    async def account(self) -> Mapping[str, Any]:
        """Credits and permissions, as the service tells them."""
        return await self._object("/account")

    async def models(self) -> Sequence[Mapping[str, Any]]:
        """The models that the service lists."""
        answer = await self._free("GET", "/models")
        models = response_parsing.models(self._value(answer))
        if models is None:
            raise unreadable(answer, self._http.key)
        return models

    async def description(self, endpoint_id: str) -> Mapping[str, Any]:
        """The machine-readable description of one model."""
        return await self._object(f"/models/openapi.json?endpoint_id={quote(endpoint_id, safe='/')}")

    async def _object(self, path: str) -> Mapping[str, Any]:
        answer = await self._free("GET", path)
        told = self._value(answer)
        if not isinstance(told, dict):
            raise unreadable(answer, self._http.key)
        return told

    async def _queue(
        self,
        method: str,
        endpoint_id: str,
        request_id: str,
        what: str,
        query: str = "",
        *,
        is_large: bool = False,
        most: int | None = None,
    ) -> Answer:
        """One call about a request: at the address that the service named for it, else at the usual one, else at the short one."""
        first: ServiceError | None = None
        for path in self._known.paths(request_id, endpoint_id, what):
            joined = f"{path}&{query[1:]}" if query and "?" in path else path + query
            try:
                answer = await self._http.free(
                    method, self._address, joined, from_root=True, is_large=is_large, most=most
                )
            except (NotFound, Refused) as error:
                if error.status not in (404, 405):
                    raise
                # It may be the wrong address, or the right one too early: only another that works shows which.
                first = first or error
                continue
            if first is not None:
                self._known.found(request_id, what, path)
            return answer
        assert first is not None
        raise first

    async def _free(self, method: str, path: str, body: Any = None, *, is_large: bool = False) -> Answer:
        return await self._http.free(method, self._address, path, body=body, is_large=is_large)

    def _value(self, answer: Answer) -> Any:
        return value_of(answer, self._http.key)

    def _clock(self) -> float:
        return self._http.patience.clock()


def _not_ready(request_id: str, status: int, message: str, foreign: bool) -> NotReady:
    return NotReady(message, status=status, error_type="not_ready", request_id=request_id, foreign=foreign)


def _is_about_the_input(error: ServiceError) -> bool:
    """Whether a 422 names a field of the input, and is no remark on the shape of a call that the spec does not show."""
    detail = error.facts.get("detail")
    if not isinstance(detail, list):
        return True
    places = [item.get("loc") for item in detail if isinstance(item, dict)]
    return any(isinstance(place, list) and "input" in place[:2] for place in places)


def _plain_name(name: str) -> str:
    """A file name without its folders and without letters that a header cannot hold."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(letter for letter in last if letter.isascii() and letter.isprintable() and letter != '"') or "file"
