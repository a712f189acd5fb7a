"""The hosted service as its specification shows it, and nothing else; a table of faults has any address answer otherwise.

with StandIn([Fault("result", "410 page", times=3), Fault("status", "late", seed=7)]) as service:
    ...
    assert len(service.charges) == 1

Runs, estimates where wanted, status, result and cancellation of all four models are there; no account, no list, no uploads.
"""

from __future__ import annotations

import itertools
import json
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any
from urllib.parse import unquote

from reelbook.models.catalog import CATALOG
from tests.faults.bodies import film, picture
from tests.transport.variants import Answering, Hosted, Received, Reply, page

RUN, STATUS, RESULT, CANCEL, ESTIMATE, FILE = ("run", "status", "result", "cancel", "estimate", "file")
PRICES = {row.id: row.base_credits for row in CATALOG}
MODELS = "|".join(map(re.escape, PRICES))
ROUTES: Sequence[tuple[str, str, str]] = (
    ("POST", r"/models/run()()", RUN),
    ("POST", r"/models/pricing/estimate()()", ESTIMATE),
    ("GET", rf"/({MODELS})/requests/([^/]+)/status", STATUS),
    ("GET", rf"/({MODELS})/requests/([^/]+)", RESULT),
    ("PUT", rf"/({MODELS})/requests/([^/]+)/cancel", CANCEL),
    ("GET", r"/media/()([^/]+)", FILE),
)
HUGE = 3_000_000
"""Letters in an answer that is larger than anybody needs."""


@dataclass(frozen=True)
class Fault:
    """What one address answers otherwise: to some runs, so many times for each, and for so long."""

    at: str
    kind: str
    """`410 page`, `404 json`, or one of `KINDS`."""
    times: int | None = None
    """How many answers of each run suffer; None for all."""
    seconds: float | None = None
    """For how long after the first answer of each run; None for ever."""
    seed: int | None = None
    """Only the run with this seed."""
    share: float = 1.0
    """How many of the answers that could suffer do, by chance."""


@dataclass(frozen=True)
class Told:
    """What the service says of prices, whatever it charges; `...` where it says nothing."""

    estimate: Any = ...
    answer: Any = ...
    """With the id of a run."""
    finished: Any = ...
    """In the status of a run that has ended."""


FOREIGN: Mapping[str, Any] = {
    "message": {"message": "no Route matched with those values"},
    "detail": {"detail": "Not Found"},
    "text": {"error": "Gone"},
    "code": {"error": {"code": 503, "message": "upstream connect error"}},
    "gate": {"error": {"code": "BadRequest", "message": "The request is not understood."}},
    "gateway": {"detail": "bad gateway", "error_type": "gateway"},
    "call": {"detail": "There is no such method here.", "error_type": "method_not_allowed"},
    "problem": {"type": "about:blank", "title": "Gone", "status": 410, "detail": "It is not here."},
    "path": {"detail": [{"loc": ["path", "request_id"], "msg": "is no UUID", "type": "uuid_parsing"}]},
    "query": {
        "detail": [{"loc": ["query", "logs"], "msg": "Extra inputs are not permitted", "type": "extra_forbidden"}]
    },
    "cut": b'{"detail": "The engine has fai',
    "list": ["no"],
    "null": None,
    "empty": b"",
    "plain": b"404 page not found\n",
}
"""Bodies that do not tell how a run ended, by the words that follow a status in the name of a fault."""

REFUSED: Mapping[str, tuple[int, Any]] = {
    "no credits": (402, {"detail": "Not enough credits.", "error_type": "insufficient_credits", "needed": 53}),
    "no such model": (404, {"error": {"code": "not_found", "message": "There is no such model."}}),
    "in words": (403, {"detail": "This key may not run models."}),
    "no key": (401, {"detail": "The key is unknown.", "error_type": "unauthorized"}),
    "no input": (422, {"detail": [{"loc": ["body", "input", "seed"], "msg": "too large", "type": "less_than"}]}),
    "later": (429, {"detail": "Too many requests wait.", "error_type": "too_many_requests"}),
}
"""The service's own words for a run that it does not take: nothing is charged. Whatever else stands in the place of an
answer to a run, it was accepted."""


def _turned(value: Any) -> Any:
    """The same names with values of other types."""
    if isinstance(value, dict):
        return {name: [_turned(item)] if isinstance(item, dict) else {"is": item} for name, item in value.items()}
    return {"is": value}


def _stale(reply: Reply) -> Reply:
    """What was true before the run began."""
    if isinstance(reply.body, dict) and "status" in reply.body:
        return replace(reply, body={**reply.body, "status": "IN_QUEUE"})
    return Reply(400, {"detail": "Request is still in progress", "error_type": "not_ready"})


def _of_another(reply: Reply) -> Reply:
    """An old answer about another run, which has failed."""
    told = {"status": "COMPLETED", "request_id": "another", "error": "It broke.", "error_type": "engine_error"}
    return replace(reply, body=told) if isinstance(reply.body, dict) and "status" in reply.body else reply


KINDS: Mapping[str, Callable[[Reply], Reply]] = {
    "closed": lambda reply: replace(reply, fault="close"),
    "reset": lambda reply: replace(reply, fault="reset"),
    "cut off": lambda reply: replace(reply, fault="half"),
    "garbage": lambda reply: replace(reply, fault="garbage"),
    "late": lambda reply: replace(reply, delay=0.3),
    "empty": lambda reply: replace(reply, body=b""),
    "truncated": lambda reply: replace(reply, body=reply.content[: len(reply.content) // 2]),
    "not json": lambda reply: replace(reply, body=b"upstream connect error or disconnect/reset before headers"),
    "welcome": lambda _: page(200, "Sign in to the wireless network"),
    "nothing": lambda _: Reply(200, {}),
    "null": lambda _: Reply(200, None),
    "a list": lambda reply: replace(reply, body=[reply.body if not isinstance(reply.body, bytes) else "bytes"]),
    "another shape": lambda _: Reply(200, {"ok": True, "message": "it works"}),
    "wrong types": lambda reply: replace(reply, body=_turned(reply.body if isinstance(reply.body, dict) else {})),
    "stale": _stale,
    "of another": _of_another,
    "huge": lambda reply: (
        replace(reply, body={**reply.body, "padding": "x" * HUGE}) if isinstance(reply.body, dict) else reply
    ),
}
"""What can become of an answer, beside a status with a page or a foreign body."""


def damaged(kind: str, reply: Reply) -> Reply:
    """An answer after a fault of this kind."""
    if kind in KINDS:
        return KINDS[kind](reply)
    status, _, how = kind.partition(" ")
    return page(int(status), f"Error {status}") if how == "page" else Reply(int(status), FOREIGN[how])


@cache
def media() -> Mapping[str, bytes]:
    """What the service makes: the quickest film and the quickest picture."""
    return {".mp4": film(2, 16), ".png": picture("PNG", 16)}


@dataclass
class Job:
    """One request that the service has accepted."""

    id: str
    model: str
    input: Mapping[str, Any]
    at: float
    number: int = 0
    answers: Counter[Fault] = field(default_factory=Counter)
    first: dict[str, float] = field(default_factory=dict)
    """When each address was asked first."""
    cancelled: bool = False


class StandIn(Hosted):
    """The service. `charges` has a line for every request that was paid for: the oracle of all that it is used for."""

    def __init__(
        self,
        faults: Sequence[Fault] = (),
        *,
        seconds: float = 0.03,
        estimates: bool = False,
        ids: Callable[[int], Any] = lambda number: f"r-{number}",
        ends: Mapping[int, Reply | Mapping[str, Any]] | None = None,
        told: Told = Told(),
        chance: int = 1,
    ) -> None:
        super().__init__()
        self.faults, self.seconds, self.ids, self.told = list(faults), seconds, ids, told
        self.ends = dict(ends or {})
        """How the runs of some seeds fail: in the words of the result, or those of the final status."""
        self.charges: list[dict[str, Any]] = []
        self.jobs: dict[str, Job] = {}
        self._estimates, self._numbers = estimates, itertools.count()
        self._chance = random.Random(chance)
        self._unborn: dict[str, Job] = {}
        self._names: dict[str, str] = {}
        """The requests by the numbers in the names of their files."""

    @property
    def paid(self) -> Counter[str]:
        """How often each input was paid for."""
        return Counter(json.dumps(line["input"], sort_keys=True) for line in self.charges)

    def calm(self) -> None:
        """From now on everything is answered as it should be."""
        self.faults = []

    def _next(self, method: str, path: str) -> Answering:
        if (method, path) in self._scripts:
            return super()._next(method, path)
        for verb, pattern, at in ROUTES:
            found = re.fullmatch(pattern, path)
            if verb == method and found is not None and (at != ESTIMATE or self._estimates):
                return lambda received: self._answer(at, unquote(found[2]), received)
        return page(404, "Nothing here")

    def _answer(self, at: str, name: str, received: Received) -> Reply:
        if at == RUN:
            # What a service does not take it does not know, so each try of an input counts on.
            job = self._unborn.setdefault(received.body.decode(), Job("", "", received.json["input"], 0.0))
        else:
            name = self._names.get(name.rpartition(".")[0], "") if at == FILE else name
            job = self.jobs.get(name) or Job("", "", {}, 0.0)
        fault = next((fault for fault in self.faults if fault.at == at and self._strikes(fault, job)), None)
        if fault is not None and at == RUN and fault.kind in REFUSED:
            return Reply(*REFUSED[fault.kind])
        reply = self._sound(at, name, job, received)
        return reply if fault is None else damaged(fault.kind, reply)

    def _strikes(self, fault: Fault, job: Job) -> bool:
        if fault.seed is not None and job.input.get("seed") != fault.seed:
            return False
        since = time.monotonic() - job.first.setdefault(fault.at, time.monotonic())
        if (fault.seconds is not None and since > fault.seconds) or self._chance.random() > fault.share:
            return False
        job.answers[fault] += 1
        return fault.times is None or job.answers[fault] <= fault.times

    def _sound(self, at: str, name: str, job: Job, received: Received) -> Reply:
        if at == RUN:
            return self._accepted(received.json)
        if at == ESTIMATE:
            price = PRICES[received.json["endpointId"]]
            return Reply(200, {"credits": price if self.told.estimate is ... else self.told.estimate})
        if at == FILE:
            suffix = received.path[received.path.rindex(".") :]
            return Reply(200, media()[suffix], {"content-type": "video/mp4" if suffix == ".mp4" else "image/png"})
        if not job.id:
            return Reply(404, {"detail": "There is no such request.", "error_type": "not_found"})
        if at == CANCEL:
            job.cancelled = job.cancelled or self._state(job) != "COMPLETED"
            return Reply(200, {"success": job.cancelled})
        return self._status(job) if at == STATUS else self._result(job)

    def _accepted(self, told: Mapping[str, Any]) -> Reply:
        number = next(self._numbers)
        request_id = self.ids(number)
        job = Job(str(request_id), told["endpointId"], told["input"], time.monotonic(), number)
        self.jobs[job.id] = job
        self._names[str(number)] = job.id
        line = {"request_id": request_id, "input": told["input"], "credits": PRICES[job.model], "at": time.time()}
        self.charges.append(line)
        return Reply(200, {"requestId": request_id, **_credits(self.told.answer)})

    def _state(self, job: Job) -> str:
        age = time.monotonic() - job.at
        return (
            "COMPLETED"
            if job.cancelled or age >= self.seconds
            else "IN_PROGRESS"
            if age >= self.seconds / 2
            else "IN_QUEUE"
        )

    def _status(self, job: Job) -> Reply:
        told: dict[str, Any] = {"status": self._state(job), "request_id": job.id}
        end = self.ends.get(int(job.input.get("seed") or 0))
        if told["status"] == "COMPLETED":
            said = _credits(self.told.finished)
            told |= {**({"metrics": said} if said else {}), **(end if isinstance(end, Mapping) else {})}
        return Reply(200, told)

    def _result(self, job: Job) -> Reply:
        if job.cancelled:
            return Reply(499, {"detail": "The request was cancelled.", "error_type": "cancelled"})
        if self._state(job) != "COMPLETED":
            return Reply(400, {"detail": "Request is still in progress", "error_type": "not_ready"})
        end = self.ends.get(int(job.input.get("seed") or 0))
        return end if isinstance(end, Reply) else Reply(200, self._output(job))

    def _output(self, job: Job) -> Mapping[str, Any]:
        suffix = ".png" if job.model == "svc/smart-resize" else ".mp4"
        file = {"url": f"{self.base_url}/media/{job.number}{suffix}"}
        if suffix == ".png":
            return {"images": [file], "results": [{"width": 16, "height": 16}], "description": ""}
        more = {"seed": job.input.get("seed") or 1, "prompt": job.input["prompt"]} if "13b" in job.model else {}
        return {"video": file, **more}


def _credits(told: Any) -> dict[str, Any]:
    return {} if told is ... else {"credits": told}
