"""All exceptions that Reelbook raises.

Every module may import this one.
"""

from __future__ import annotations

import copyreg
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from .util.printable import as_sentence, format_count, printable, readable_id, shortened, suggest

MAX_PROBLEMS = 10
"""How many problems of an input are listed at once."""
WHO_HELPS = "Ask the people who run the service."
"""The end of a reason of the local service that says all that there is to do."""


class ReelbookError(Exception):
    """Base class of all errors of this package: what happened, why, and what to do now.

    The text may quote a service, and never contains control characters.
    """

    def __str__(self) -> str:
        return printable(super().__str__())

    def __reduce__(self) -> tuple[Any, ...]:
        # Restored without a call of the class, whose arguments are others.
        return copyreg.__newobj__, (type(self),), {"args": self.args, **vars(self)}  # type: ignore[attr-defined]


class Interrupted(KeyboardInterrupt):
    """The user interrupted a wait; the message says what continues, and how to resume or stop it."""

    def __str__(self) -> str:
        return printable(super().__str__())


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem with one value of an input."""

    loc: tuple[str | int, ...]
    """Path of the value: field names and list indexes from the outermost; empty for the entire input."""
    message: str
    """A sentence for the user."""
    kind: str
    """A short name for the kind of problem, such as `missing`."""
    value: Any = None
    """The rejected value."""
    nearest: Any = None
    """The closest acceptable value, if any."""

    @property
    def field(self) -> str:
        """The path as Python syntax: `loras[0].scale`."""
        return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.loc).removeprefix(".")


class InvalidInput(ReelbookError, ValueError):
    """A value that the model does not accept. Nothing was sent and nothing was charged."""

    def __init__(self, model: str, problems: Sequence[Problem]) -> None:
        self.model, self.problems = model, tuple(problems)
        lines = [problem.message for problem in self.problems[:MAX_PROBLEMS]]
        if (more := len(self.problems) - MAX_PROBLEMS) > 0:
            lines.insert(0, f"{more} more are not listed; fix these first:")
        text = f": {lines[0]}" if len(lines) == 1 else "\n  - ".join([f" has {len(self.problems)} problems:", *lines])
        super().__init__(shortened(model + text))


class UnknownModel(ReelbookError, LookupError):
    """No such model, in the catalog or at the service."""

    def __init__(self, endpoint_id: str, known: Sequence[str] = ()) -> None:
        self.endpoint_id, self.known = endpoint_id, tuple(known)
        name = str(endpoint_id)[:200]
        models = f" The models are: {', '.join(known)}." if known else " Compare it with the service's list."
        super().__init__(shortened(f"There is no model {name!r}.{suggest(name, known)}{models}"))


class BadRates(ReelbookError, ValueError):
    """A table of per-unit rates that cannot be used."""


class BadDescription(ReelbookError, ValueError):
    """A model's description that no input class can be built from."""


class ServiceError(ReelbookError):
    """The service answered with an error."""

    advice: ClassVar[str] = "Read the service's reason, change the request, and try again."
    """What to do about this kind of error."""

    def __init__(
        self,
        message: str,
        status: int,
        error_type: str | None = None,
        request_id: str | None = None,
        facts: Mapping[str, Any] | None = None,
        foreign: bool = False,
    ) -> None:
        self.message, self.status, self.error_type = printable(message), status, error_type
        self.request_id, self.facts = request_id, dict(facts or {})
        self.foreign = foreign
        """Whether the response lacks the service's error format, as from a gateway."""
        request = f" (Request {readable_id(request_id)}.)" if request_id else ""
        advice = "" if message.endswith(WHO_HELPS) else f" {self.advice}"
        super().__init__(f"{as_sentence(message)}{request}{advice}")


class Unauthorized(ServiceError):
    """401: the key is missing or unknown."""

    advice = "Check the key, and whether it belongs to this service."


class InsufficientCredits(ServiceError):
    """402: the account has too few credits."""

    advice = "Add credits to the account, or make the run cheaper: `rb.estimate` shows what it costs."


class Forbidden(ServiceError):
    """403: the account lacks the permission."""

    advice = "Ask the owner of the account for permission, or leave that out of the request."


class NotFound(ServiceError):
    """404: no such model, run or file."""

    advice = "Check the spelling, and whether the key belongs to the account that made it."


class NotReady(ServiceError):
    """The result of a run is not available yet."""

    advice = (
        "It is paid for: wait a little, then run the cell again, which asks once more at no cost. "
        "Only fresh=True pays for another run."
    )


class Refused(ServiceError):
    """409, 413 or 422: the request is not acceptable as written."""

    advice = "Change the input accordingly; unchanged, it would be refused again."


class TooManyRequests(ServiceError):
    """429: the service limits the rate of requests."""

    advice = (
        "Nothing was charged. The service limits how many requests it takes: wait a minute, then run it again; a sweep waits "
        "by itself."
    )


class ServiceBroken(ServiceError):
    """5xx, or an answer that cannot be parsed."""

    advice = (
        "The fault is on the service's side: try again later, and if that does not help, tell the people who run it."
    )


class FolderInUse(ReelbookError):
    """The folder is in use by another running service."""

    def __init__(self, folder: str) -> None:
        super().__init__(
            f"Another running service is using the folder {folder}. Stop it first, or choose another folder."
        )


class Unreachable(ReelbookError):
    """Nothing answers at the URL."""

    def __init__(self, address: str, reason: str) -> None:
        self.address, self.reason = address, reason
        super().__init__(
            f"Nothing answered at {address} ({reason}). "
            "Nothing was charged. Check the URL, and whether the service is running, then try again."
        )


class UncertainRun(ReelbookError):
    """A paid request was sent and its answer was lost, so it is unknown whether the run exists."""

    def __init__(
        self, address: str, reason: str, credits: int | None, repeatable: bool = False, status: int = 0, request_id: str = ""
    ) -> None:  # fmt: skip
        self.address, self.reason, self.credits, self.repeatable = address, reason, credits, repeatable
        self.status = status
        """HTTP status of the response received in place of the service's own answer; 0 if there was none."""
        self.request_id = request_id
        """The request's id at a gateway that lost the answer of the service behind it."""
        price = "" if credits is None else f" It may have cost up to {credits} credits."
        happened = f"A paid request was sent to {address} and its answer was lost ({reason}).{price}"
        advice = (
            "It is never sent again by itself. Look at the account's history on the service's website, then decide: "
            "rb.library().uncertain lists it, with attach(request_id) if it is there, and resubmit() or write_off() if not."
        )
        if repeatable:
            advice = "Run it again: this service recognises repeated requests and charges only once."
        if request_id:
            happened = f"Run {readable_id(request_id)} is uncertain: {as_sentence(reason)}"
            advice = (
                "rb.library().uncertain lists it, with resubmit() and write_off() for when you know what became of it."
            )
        super().__init__(f"{happened} {advice}")


class OverBudget(ReelbookError):
    """The run costs more than the budget, or this call's spending limit, has left. Nothing was sent."""

    def __init__(self, budget: int, committed: int, price: int | None, limit: str = "budget") -> None:
        self.budget, self.committed, self.price, self.limit = budget, committed, price, limit
        """`budget` for a limit on the total cost of the runs, `spend` for a limit on what this call pays."""
        how = "spent or reserved by this call" if limit == "spend" else "already spent or reserved"
        have = f"{format_count(committed, 'credit')} are {how}" if committed else "nothing is spent yet"
        left = f"{budget - committed:,}" if budget > committed else "nothing"
        super().__init__(
            f"The price of this run is unknown, so it cannot run under {limit}={budget}. Give the most that one run may cost: price=…"
            if price is None
            else f"With {limit}={budget}, {have}. The next run costs {price:,}, and {left} is left, so it was not sent. "
            f"Raise {limit} to go on."
        )


class LibraryError(ReelbookError, OSError):
    """The library's folder cannot be read or written."""

    def __init__(self, folder: str, reason: str, advice: str = "") -> None:
        self.folder, self.reason = folder, reason
        self.advice = (
            advice
            or "Free some space there or make it writable, or choose another folder with REELBOOK_LIBRARY, then try again."
        )
        super().__init__(
            f"The library in {folder} cannot be used ({reason}). Nothing was sent, and nothing was charged. {self.advice}"
        )


class RunFailed(ReelbookError):
    """The service accepted the run but could not finish it."""

    def __init__(self, request_id: str, message: str, error_type: str | None) -> None:
        self.request_id, self.message = request_id, printable(message)
        self.error_type = None if error_type is None else printable(error_type)
        kind = f" [{self.error_type}]" if error_type else ""
        advice = "Look at its logs, change the input if that is the cause, and run it again."
        if error_type == "content_policy_violation":
            advice = "Change the words or pictures of the input, then run it again."
        super().__init__(f"Run {readable_id(request_id)} failed{kind}: {as_sentence(message)} {advice}")


class RunCancelled(ReelbookError):
    """The run was cancelled before it finished."""

    def __init__(self, request_id: str) -> None:
        self.request_id = request_id
        super().__init__(
            f"Run {readable_id(request_id)} was cancelled before it finished, so there is no result. "
            "Run it again if you still want it; the account shows what was refunded."
        )


class RunTimeout(ReelbookError):
    """The run had not finished when the wait ended. The run itself continues."""

    def __init__(self, request_id: str, status: str, waited: float) -> None:
        self.request_id, self.status, self.waited = request_id, status, waited
        super().__init__(
            f"Run {readable_id(request_id)} was still {status} after {waited:g} s. "
            "The service is still working on it: call wait() again, or cancel()."
        )


class DownloadFailed(ReelbookError):
    """The run is finished and paid for, but its file could not be downloaded."""

    def __init__(self, request_id: str, url: str, reason: str) -> None:
        self.request_id, self.url, self.reason = request_id, url, reason
        super().__init__(
            f"Run {readable_id(request_id)} finished, but its file could not be downloaded from {shortened(url)} ({reason}). "
            f"The service still has the result: rb.attach({request_id!r}, model=…) downloads it again, at no cost."
        )


__all__ = [name for name, value in globals().items() if isinstance(value, type) and issubclass(value, BaseException)]


def __dir__() -> list[str]:
    """The exceptions alone, for completion."""
    return __all__
