"""A proxy between a client and a real service that damages a share of what passes, by a seed, and writes all of it down.

with Proxy(served.base_url, Deck(3, ONCE)) as proxy:
    rb.connect(proxy.base_url, api_key=…)
    ...
    proxy.journal      # every request: what was done to it, and what the service answered, if it saw it
    proxy.elsewhere    # what arrived at the other host to which redirects lead

with Proxy(served.base_url) as proxy:
    held = proxy.hold("POST /models/run", after=True)     # an interrupt comes at a chosen moment
    held.arrived()
    held.let_go()
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, repeat
from types import TracebackType
from typing import Any, Self

import httpx

from tests.faults.kernels import PATIENCE
from tests.transport.variants import Answering, Hosted, Received, Reply, chunked, page

SOUND, TWICE = "sound", "twice"
"""As it is; by a middlebox that repeats what it sends, and passes the second answer on."""
SHARE = 4
"""One request in so many suffers."""
OUTAGE_SECONDS = 0.15
LATE_SECONDS = 4.0

WELCOME = page(200, "Sign in to the wireless network")
BODIES: Sequence[tuple[str, str]] = (
    ("text/html", "<html>\r\n<head><title>Trouble at the gate</title></head><body>nginx</body></html>\r\n"),
    ("text/plain", "upstream connect error or disconnect/reset before headers"),
    ("application/json", '{"detail": "The upstream server is not there."}'),
    ("application/json", '{"message": "no healthy upstream"}'),
    ("application/json", ""),
)
"""How gateways put it when they have no good answer."""
UNSEEN = (
    *("refused", "unread", "deaf", "moved"),
    *("500 unseen", "502 unseen", "503 unseen", "504 unseen", "429 unseen"),
)
"""The service never sees the request."""


def _told(reply: Reply, share: float, *more: str) -> Reply:
    """The same with a length that is not its own."""
    return reply.with_headers(content_length=str(int(len(reply.content) * share) + sum(map(len, more))))


DAMAGE: Mapping[str, Callable[[Reply], Reply]] = {
    "closed": lambda reply: replace(reply, fault="close"),
    "reset": lambda reply: replace(reply, fault="reset"),
    "cut body": lambda reply: replace(reply, fault="half"),
    "cut chunked": lambda reply: replace(chunked(replace(reply, body=reply.content[:-1]), ended=False), fault="cut"),
    "late": lambda reply: replace(reply, delay=LATE_SECONDS, fault="cut"),
    "dripped": lambda reply: replace(reply, fault="drip"),
    "garbage": lambda reply: replace(reply, fault="garbage"),
    "told more": lambda reply: replace(_told(reply, 1, " " * 40), fault="cut"),
    # The rest stays in the connection, where it must not be taken for the next answer.
    "told less": lambda reply: _told(reply, 0.5),
    "unzippable": lambda reply: replace(reply, body=b"\x1f\x8b" + reply.content).with_headers(content_encoding="gzip"),
    "page": lambda _: WELCOME,
    "truncated": lambda reply: replace(reply, body=reply.content[: len(reply.content) // 2]),
    "empty": lambda reply: replace(reply, body=b""),
}
DESTROYED = (*DAMAGE, "500", "502", "503", "504")
"""The service has done what it was asked, and its answer does not arrive, or nobody could read it."""
ODD = ("stale", "marked", "wide")
"""Unusual, and can be read: an answer from an old moment, one that begins with a byte order mark, one in UTF-16."""
ONCE = (*UNSEEN, *DESTROYED, *ODD)
EVERY = (*ONCE, TWICE)

ROUTES: Sequence[tuple[str, str, str]] = (
    ("GET", r"/", "nature"),
    ("POST", r"/models/run", "run"),
    ("POST", r"/models/pricing/estimate", "estimate"),
    ("POST", r"/files", "upload"),
    ("GET", r".+/requests/[^/]+/status", "status"),
    ("GET", r".+/requests/[^/]+", "result"),
    ("GET", r"/files/.+", "file"),
)


class Deck:
    """What happens to whom: for each kind of call a deck of its own, shuffled by the seed, with every fault in it once."""

    def __init__(self, seed: int, faults: Sequence[str], *, spared: Sequence[str] = (), share: int = SHARE) -> None:
        self._seed, self._faults, self._spared, self._share = seed, faults, spared, share
        self._cards: dict[str, Iterator[str]] = {}

    def draw(self, route: str) -> str:
        """What happens to the next call of this kind."""
        if not self._faults or route in self._spared:
            return SOUND
        if route not in self._cards:
            self._cards[route] = self._shuffled(random.Random(f"{self._seed} {route}"))
        return next(self._cards[route])

    def _shuffled(self, chance: random.Random) -> Iterator[str]:
        """Each fault once, among so many sound ones that it has its share, at a place that cannot be foreseen."""
        while True:
            for fault in chance.sample(self._faults, len(self._faults)):
                yield from chance.sample([fault, *repeat(SOUND, self._share - 1)], self._share)


class Only(Deck):
    """The same fault for every call of one kind, and nothing else."""

    def __init__(self, route: str, fault: str) -> None:
        super().__init__(0, ())
        self._route, self._fault = route, fault

    def draw(self, route: str) -> str:
        return self._fault if route == self._route else SOUND


@dataclass
class Passed:
    """One request, and what became of it."""

    route: str
    fault: str
    at: float
    """When it arrived, as `time.time()` tells it."""
    body: bytes = field(default=b"", repr=False)
    """Empty where somebody hung up before it was read."""
    answers: list[Reply] = field(default_factory=list, repr=False)
    """What the service answered: nothing where it never saw the request, two answers where it saw it twice."""

    @property
    def arrived(self) -> bool:
        """Whether an answer of the service came out at the other side, and could be read."""
        return bool(self.answers) and self.fault not in DESTROYED

    @property
    def request_ids(self) -> list[str]:
        """The requests that the service told of in its answers, also in those that were destroyed."""
        told = [json.loads(answer.content) for answer in self.answers if answer.status == 200]
        return [one["requestId"] for one in told if isinstance(one, dict) and "requestId" in one]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Held:
    """Answers that are held back."""

    def __init__(self, calls: str, skip: int, after: bool) -> None:
        self._calls, self._skip, self.after = re.compile(calls), skip, after
        self._came = threading.Event()
        self._open: Future[None] = Future()

    def holds(self, call: str) -> bool:
        """Whether this call is one of them; the first few may be let through."""
        if self._calls.search(call) is None:
            return False
        self._skip -= 1
        return self._skip < 0

    async def let_through(self) -> None:
        """Wait until they are let go."""
        self._came.set()
        await asyncio.shield(asyncio.wrap_future(self._open))

    def arrived(self) -> None:
        """Wait for the first of them."""
        assert self._came.wait(PATIENCE), f"no {self._calls.pattern} came"

    def let_go(self) -> None:
        """Answer, these and all that come later."""
        if not self._open.done():
            self._open.set_result(None)


class Proxy(Hosted):
    """The proxy, its journal, and the other host to which its redirects lead."""

    def __init__(self, upstream: str, deck: Deck | None = None) -> None:
        super().__init__()
        self.journal: list[Passed] = []
        self.outages: list[tuple[float, float]] = []
        """From when to when connections were refused."""
        self.held: list[Held] = []
        self._deck, self._upstream = deck or Deck(0, ()), httpx.URL(upstream)
        self._other = Hosted()
        self._replies = chain.from_iterable(repeat(BODIES))

    @property
    def elsewhere(self) -> list[Received]:
        """Every request that came to the other host, which gives everybody the same page."""
        return self._other.received

    def calm(self) -> None:
        """From now on everything passes as it is."""
        self.deal(Deck(0, ()))

    def deal(self, deck: Deck) -> None:
        """From now on this deck says what happens."""
        self._deck = deck

    def of(self, route: str) -> list[Passed]:
        """The calls of one kind, in the order in which they came."""
        return [one for one in list(self.journal) if one.route == route]

    def hold(self, calls: str, *, skip: int = 0, after: bool = False) -> Held:
        """Hold calls such as `POST /models/run`; `after`: they take their effect, and only the answer is held."""
        self.held.append(Held(calls, skip, after))
        return self.held[-1]

    def __enter__(self) -> Self:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        self._http = httpx.AsyncClient(base_url=self._upstream, trust_env=False, limits=limits, timeout=PATIENCE)
        self._other.__enter__()
        self._other.on("GET", "/sign-in", WELCOME)
        return super().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for held in self.held:
            held.let_go()
        self._wait_for(self._http.aclose())
        super().__exit__(kind, error, trace)
        self._other.__exit__(kind, error, trace)

    def _next(self, method: str, path: str) -> Answering:
        route = next(
            (name for verb, like, name in ROUTES if verb == method and re.fullmatch(like, path)), "something else"
        )
        fault = self._deck.draw(route)
        # Nobody keeps old answers to calls that change something.
        fault = "marked" if fault == "stale" and route not in ("status", "result") else fault
        passed = Passed(route, fault, time.time())
        self.journal.append(passed)
        if fault == "refused" and self._listener.fileno() >= 0:
            self._refuse()
            self._begin(self._listen_later(time.time()))
        return Reply(fault="deaf") if fault in ("unread", "refused") else partial(self._treated, passed)

    async def _listen_later(self, began: float) -> None:
        """Nobody listens for a moment: whoever connects now is refused."""
        await asyncio.sleep(OUTAGE_SECONDS)
        await self._listen()
        self.outages.append((began, time.time()))

    async def _treated(self, passed: Passed, received: Received) -> Reply:
        passed.body, fault = received.body, passed.fault
        held = next((one for one in self.held if one.holds(f"{received.method} {received.path}")), None)
        if held is not None and not held.after:
            await held.let_through()
        if fault in UNSEEN:
            return self._unseen(fault)
        reply = await self._forwarded(passed, received)
        if fault == TWICE:
            reply = await self._forwarded(passed, received)
        if held is not None and held.after:
            await held.let_through()
        if fault in DAMAGE:
            return DAMAGE[fault](reply)
        if fault in DESTROYED:
            return replace(self._in_place(int(fault)), fault="cut")
        return _odd(fault, passed.route, reply) if fault in ODD else reply

    def _unseen(self, fault: str) -> Reply:
        if fault == "deaf":
            return Reply(fault="hang")
        if fault == "moved":
            return Reply(302, b"", {"location": f"http://localhost:{self._other.port}/sign-in"})
        reply = self._in_place(int(fault[:3]))
        return reply.with_headers(retry_after="1") if fault.startswith("429") else reply

    def _in_place(self, status: int) -> Reply:
        """What a gateway says in place of the service."""
        content_type, body = next(self._replies)
        return Reply(status, body, {"content-type": content_type})

    async def _forwarded(self, passed: Passed, received: Received) -> Reply:
        """What the service answers, with its addresses turned into ours."""
        address = received.path + (f"?{received.query}" if received.query else "")
        headers = {name: value for name, value in received.headers.items() if name not in ("host", "connection")}
        response = await self._http.request(received.method, address, content=received.body, headers=headers)
        body = response.content
        if "json" in response.headers.get("content-type", ""):
            body = body.replace(self._upstream.netloc, f"127.0.0.1:{self.port}".encode())
        drop = ("connection", "content-length", "transfer-encoding", "content-encoding")
        kept = {name: value for name, value in response.headers.items() if name not in drop}
        passed.answers.append(Reply(response.status_code, body, kept))
        return passed.answers[-1]


def _odd(fault: str, route: str, reply: Reply) -> Reply:
    """An answer that is unusual, and can be read."""
    told = json.loads(reply.content) if "json" in reply.headers.get("content-type", "") else None
    if fault == "stale" and route == "result":
        return Reply(400, {"detail": "Request is still in progress", "error_type": "not_ready"})
    if fault == "stale" and isinstance(told, dict) and "status" in told:
        waits = {"status": "IN_QUEUE", "request_id": told.get("request_id"), "queue_position": 1}
        return Reply(reply.status, waits)
    if told is None or fault == "stale":
        return reply
    if fault == "marked":
        return replace(reply, body=b"\xef\xbb\xbf" + reply.content)
    wide = reply.content.decode().encode("utf-16")
    return replace(reply, body=wide).with_headers(content_type="application/json; charset=utf-16")
