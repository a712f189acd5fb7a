"""The calls of a service as methods; only those of the specification are required."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from .. import errors
from ..errors import NotFound, NotReady, ReelbookError, ServiceError
from ..models import catalog
from ..models.base import Input
from ..models.catalog import CATALOG, Estimate, Rates
from ..models.images import pictures_of, replace_pictures
from ..models.queue_status import COMPLETED, IN_PROGRESS, QueueStatus
from . import answers
from .answers import Accepted, ServiceAnswer, ServiceInfo, unreadable_error
from .http import Http

PLACEHOLDER_PICTURE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNgAAAAAgAB5Sfe/AAAAABJRU5ErkJggg=="
)
"""One black pixel."""
NO_REQUEST = "00000000-0000-0000-0000-000000000000"
"""An id that no request has, to learn whether a service without accounts knows the key."""
KEY_SECONDS, INFO_RETRY_SECONDS = 3.0, 60.0
"""How long a key is checked, and the pause before a service that could not describe itself is queried again."""


class ServiceCalls:
    """The calls of one service."""

    def __init__(self, http: Http, rates: Rates | None = None) -> None:
        self._http, self._rates = http, rates
        self._uploads: dict[str, str] = {}
        """The address of each uploaded file, by its name."""
        self._upload_locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._info: ServiceInfo | None = None
        self._info_failed_at, self._info_lock = float("-inf"), asyncio.Lock()

    @property
    def base_url(self) -> str:
        """The current address of the service; an embedded one can move to another port."""
        return self._http.base_url

    async def service_info(self, *, required: bool = False) -> ServiceInfo:
        """The service's description of itself and its extra features; requested once.

        While the service is in trouble it has none, or the error is raised if they are `required`.
        """
        clock = self._http.policy.clock
        async with self._info_lock:
            if self._info is None and (required or clock() - self._info_failed_at >= INFO_RETRY_SECONDS):
                try:
                    value = (await self._http.free("GET", "/")).value
                except ServiceError as error:
                    is_settled = 400 <= error.status < 500 and error.status not in (408, 425, 429)
                    if required and not is_settled:
                        raise
                    value = {} if is_settled else None
                # A page may come from a network that wants a login: until another answer no feature is assumed.
                self._info, self._info_failed_at = answers.parse_service_info(value), clock()
            return self._info or ServiceInfo()

    async def run(self, endpoint_id: str, input: Mapping[str, Any], **options: Any) -> Accepted:
        """Submit a paid run, with the options of `Http.paid`: one POST, repeated only with an idempotency key."""
        return await self._http.paid("/models/run", {"endpointId": endpoint_id, "input": input}, **options)

    async def status(self, endpoint_id: str, request_id: str, *, retry: bool = True) -> QueueStatus:
        """The status of a request, with its log."""
        answer = await self._queue("GET", endpoint_id, request_id, "/status?logs=1", retry=retry)
        body = _require_object(answer)
        is_of_another = body.get("error") and str(body.get("request_id") or request_id) != request_id
        if is_of_another or not isinstance(body.get("status"), str):
            raise unreadable_error(answer)  # The failure of another run is a stale response from a cache.
        return QueueStatus.model_validate({**body, "request_id": request_id})

    async def poll(self, endpoint_id: str, request_id: str) -> QueueStatus:
        """The status of a request, asked once; where that call is refused, what its result says about it."""
        try:
            return await self.status(endpoint_id, request_id, retry=False)
        except ServiceError as error:
            refused = error
        if answers.is_about_the_account(refused) or isinstance(refused, errors.TooManyRequests):
            raise refused
        try:
            output = await self.result(endpoint_id, request_id)
        except NotReady as early:
            if early.foreign:
                raise refused from None
            return QueueStatus(status=IN_PROGRESS, request_id=request_id)
        except ReelbookError:
            raise refused from None
        if not answers.has_files(output.values()):
            raise refused
        return QueueStatus.model_validate({"status": COMPLETED, "request_id": request_id, "output": output})

    async def result(self, endpoint_id: str, request_id: str) -> Mapping[str, Any]:
        """The output of a finished request; raises `NotReady` while it is not finished."""
        try:
            answer = await self._queue("GET", endpoint_id, request_id, "", is_large=True)
        except ServiceError as error:
            if not answers.is_unfinished(error):
                raise
            raise NotReady(error.message, error.status, "not_ready", request_id, foreign=error.foreign) from None
        if answer.status != 202 and answer.value is None:
            raise unreadable_error(answer)
        output = None if answer.status == 202 else answers.parse_output(answer.value)
        if output is None:
            words = "The result is not there yet."
            raise NotReady(words, answer.status, "not_ready", request_id, foreign=answer.is_html)
        return output

    async def cancel(self, endpoint_id: str, request_id: str) -> bool:
        """Request a cancellation; true if the service agreed."""
        try:
            answer = await self._queue("PUT", endpoint_id, request_id, "/cancel")
        except ServiceError as error:
            if error.status not in (400, 404, 409):
                raise
            return answers.parse_cancelled(error.facts, default=False)
        return answers.parse_cancelled(answer.value, default=True)

    async def upload(self, content: bytes, name: str, content_type: str) -> str | None:
        """The address of a source file at the service, where it is uploaded once; None for a service without uploads.

        `name` has the hash of the content, so that no two files share one.
        """
        async with self._upload_locks[name]:
            if name not in self._uploads and "uploads" in (await self.service_info()).features:
                answer = await self._http.free("POST", "/files", upload=(name, content, content_type), is_large=True)
                body = _require_object(answer)
                if not isinstance(address := body.get("file_id") or body.get("url"), str):
                    raise unreadable_error(answer)
                self._uploads[name] = address
            return self._uploads.get(name)

    def forget_uploads(self, message: str) -> None:
        """Forget the uploads that an error message of the service mentions, because it no longer has them.

        The same run, sent again, then uploads its pictures again.
        """
        self._uploads = {name: address for name, address in self._uploads.items() if address not in message}

    async def estimate(self, request: Input) -> Estimate:
        """The service's price of a run; where it gives none, that of the built-in catalog, labelled accordingly."""
        # Prices do not depend on the content of pictures, so none is sent or uploaded for an estimate.
        pictures = {loc: PLACEHOLDER_PICTURE for loc, url in pictures_of(request) if not url.startswith("http")}
        body = {"endpointId": request.endpoint_id, "input": replace_pictures(request.wire(), pictures)}
        known = catalog.estimate(request, self._rates)
        try:
            answer = await self._http.free("POST", "/models/pricing/estimate", body=body)
        except (errors.Unauthorized, errors.InsufficientCredits):
            raise
        except ServiceError:
            return known  # What the service has against the input, it says of the run, before it charges anything.
        price = answers.parse_price(answer.value)
        if price is None:
            return known
        # How a price came about is only known where it is the catalog's own.
        breakdown = known.breakdown if price == known.credits else ()
        return Estimate(price, breakdown, known.rate_card, "exact", known.credits)

    async def account(self) -> Mapping[str, Any]:
        """Credits and permissions, as the service reports them."""
        return _require_object(await self._http.free("GET", "/account"))

    async def check_key(self) -> None:
        """Raise `Unauthorized` if the service says that it does not know the key; whatever else it answers proves nothing."""
        try:
            async with asyncio.timeout(KEY_SECONDS):
                try:
                    await self._http.free("GET", "/account", retry=False)
                except NotFound:
                    await self.status(CATALOG[0].id, NO_REQUEST, retry=False)  # The specification has no account.
        except errors.Unauthorized:
            raise
        except (ReelbookError, TimeoutError):
            pass

    async def models(self) -> Sequence[Mapping[str, Any]]:
        """The models that the service lists."""
        answer = await self._http.free("GET", "/models")
        listed = answer.value.get("models") if isinstance(answer.value, dict) else answer.value
        if not isinstance(listed, list):
            raise unreadable_error(answer)
        models = [row if isinstance(row, dict) else {"id": row} for row in listed]
        return [model for model in models if isinstance(model.get("id"), str)]

    async def description(self, endpoint_id: str) -> Mapping[str, Any]:
        """The machine-readable description of one model."""
        path = f"/models/openapi.json?endpoint_id={quote(endpoint_id, safe='/')}"
        return _require_object(await self._http.free("GET", path))

    async def _queue(self, method: str, endpoint_id: str, request_id: str, what: str, **options: Any) -> ServiceAnswer:
        """Call an address of a request in the queue of its model."""
        # Some services use only the first two parts of the model's id in the path of the queue.
        short = "/".join(endpoint_id.split("/")[:2])
        for root in (endpoint_id, short):
            path = "".join(f"/{quote_segment(part)}" for part in (*root.split("/"), "requests", request_id))
            try:
                return await self._http.free(method, path + what, **options)
            except ServiceError as error:
                # The address may be wrong, or right but too early.
                if error.status not in (404, 405) or root == short:
                    raise
        raise AssertionError


def _require_object(answer: ServiceAnswer) -> dict[str, Any]:
    """The JSON of a response, which must be an object."""
    if not isinstance(answer.value, dict):
        raise unreadable_error(answer)
    return answer.value


def quote_segment(text: str) -> str:
    """A text as one part of a path, whatever it contains."""
    quoted = quote(text, safe="", errors="surrogatepass")
    # Between two slashes, dots alone would mean another folder, and some proxies read %2F as a slash.
    return quoted.replace(".", "%2E") if not text.strip(".") or "/" in text or "\\" in text else quoted
