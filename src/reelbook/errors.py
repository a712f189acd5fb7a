"""All exceptions that Reelbook raises.

Every module may import this one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from .util.printable import MAX_SENTENCE_LENGTH, as_sentence, format_count, printable, readable_id, shortened, suggest

WHO_HELPS = "Ask the people who run the service."
"""The end of a reason of the local service that says all that there is to do."""


class ReelbookError(Exception):
    """Base class of all errors of this package. Its text may quote a service, and never contains control characters."""

    def __str__(self) -> str:
        return printable(self.sentence())

    def sentence(self) -> str:
        """The message: what happened, why, and what to do now."""
        return super().__str__()


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
        text = ""
        for part in self.loc:
            text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
        return text


class InvalidInput(ReelbookError, ValueError):
    """A value that the model does not accept. Nothing was sent and nothing was charged."""

    def __init__(self, model: str, problems: Sequence[Problem]) -> None:
        super().__init__(model, tuple(problems))
        self.model, self.problems = model, tuple(problems)

    def sentence(self) -> str:
        if len(self.problems) == 1:
            return shortened(f"{self.model}: {self.problems[0].message}")
        lines = [f"{self.model} has {len(self.problems)} problems:"]
        room = MAX_SENTENCE_LENGTH
        for index, problem in enumerate(self.problems):
            room -= len(problem.message)
            if room < 0 and index:
                return "\n".join([*lines, f"  - and {len(self.problems) - index} more; fix these first."])
            lines.append(f"  - {shortened(problem.message)}")
        return "\n".join(lines)


class UnknownModel(ReelbookError, LookupError):
    """No such model, in the catalog or at the service."""

    def __init__(self, endpoint_id: str, known: Sequence[str] = ()) -> None:
        super().__init__(endpoint_id, tuple(known))
        self.endpoint_id, self.known = endpoint_id, tuple(known)

    def sentence(self) -> str:
        name = str(self.endpoint_id)[:200]
        known = f" The models are: {', '.join(self.known)}." if self.known else " Compare it with the service's list."
        return shortened(f"There is no model {name!r}.{suggest(name, self.known)}{known}")


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
        # All of it, so that an error survives pickling.
        super().__init__(message, status, error_type, request_id, facts, foreign)
        self.message, self.status, self.error_type = printable(message), status, error_type
        self.request_id, self.facts = request_id, dict(facts or {})
        self.foreign = foreign
        """Whether the response lacks the service's error format, as from a gateway."""

    def sentence(self) -> str:
        of = f" (Request {readable_id(self.request_id)}.)" if self.request_id else ""
        advice = "" if self.message.endswith(WHO_HELPS) else f" {self.advice}"
        return f"{as_sentence(self.message)}{of}{advice}"


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
        "Nothing was charged. The service limits how many requests it takes: wait a minute, then run it again; a sweep slows down "
        'with rate="10/min".'
    )


class ServiceBroken(ServiceError):
    """5xx, or an answer that cannot be parsed."""

    advice = (
        "The fault is on the service's side: try again later, and if that does not help, tell the people who run it."
    )


class FolderInUse(ReelbookError):
    """The folder is in use by another running service."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        self.folder = folder

    def sentence(self) -> str:
        return f"Another running service is using the folder {self.folder}. Stop it first, or choose another folder."


class Unreachable(ReelbookError):
    """Nothing answers at the URL."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(address, reason)
        self.address, self.reason = address, reason

    def sentence(self) -> str:
        return (
            f"Nothing answered at {self.address} ({self.reason}). "
            "Nothing was charged. Check the URL, and whether the service is running, then try again."
        )


class UncertainRun(ReelbookError):
    """A paid request was sent and its answer was lost, so it is unknown whether the run exists."""

    def __init__(
        self, address: str, reason: str, credits: int | None, repeatable: bool = False, status: int = 0, request_id: str = ""
    ) -> None:  # fmt: skip
        super().__init__(address, reason, credits, repeatable, status, request_id)
        self.address, self.reason, self.credits, self.repeatable = address, reason, credits, repeatable
        self.status = status
        """HTTP status of the response received in place of the service's own answer; 0 if there was none."""
        self.request_id = request_id
        """The request's id at a gateway that lost the answer of the service behind it."""

    def sentence(self) -> str:
        if self.request_id:
            return (
                f"Run {readable_id(self.request_id)} is uncertain: {as_sentence(printable(self.reason))} "
                "rb.library().uncertain lists it, with resubmit() and write_off() for when you know what became of it."
            )
        price = "" if self.credits is None else f" It may have cost up to {self.credits} credits."
        happened = f"A paid request was sent to {self.address} and its answer was lost ({self.reason}).{price} "
        if self.repeatable:
            return f"{happened}Run it again: this service recognises repeated requests and charges only once."
        return (
            f"{happened}It is never sent again by itself. Look at the account's history on the service's website, then decide: "
            "rb.library().uncertain lists it, with attach(request_id) if it is there, and resubmit() or write_off() if not."
        )


class OverBudget(ReelbookError):
    """The run costs more than the budget, or this call's spending limit, has left. Nothing was sent."""

    def __init__(
        self, budget: int, committed: int, price: int | None, limit: str = "budget", advice: str = ""
    ) -> None:  # fmt: skip
        super().__init__(budget, committed, price, limit, advice)
        self.budget, self.committed, self.price = budget, committed, price
        self.limit = limit
        """`budget` for a limit on the total cost of the runs, `spend` for a limit on what this call pays."""
        self.advice = advice

    def __str__(self) -> str:
        if self.price is None:
            return (
                f"The price of this run is unknown, so it cannot run under {self.limit}={self.budget}. "
                "Give the most that one run may cost: price=…"
            )
        paid = format_count(self.committed, "credit")
        if self.limit == "spend":
            have = f"{paid} are spent or reserved by this call" if self.committed else "nothing is spent yet"
        else:
            have = f"{paid} are already spent or reserved" if self.committed else "nothing is spent yet"
        left = f"{self.budget - self.committed:,}" if self.budget > self.committed else "nothing"
        return (
            f"With {self.limit}={self.budget}, {have}. The next run costs {self.price:,}, and {left} is left, "
            f"so it was not sent. {self.advice or f'Raise {self.limit} to go on.'}"
        )


class LibraryError(ReelbookError, OSError):
    """The library's folder cannot be read or written."""

    def __init__(self, folder: str, reason: str, advice: str = "") -> None:
        super().__init__(folder, reason, advice)
        self.folder, self.reason, self.advice = folder, reason, advice

    def sentence(self) -> str:
        usual = (
            "Free some space there or make it writable, or choose another folder with REELBOOK_LIBRARY, then try again."
        )
        return (
            f"The library in {self.folder} cannot be used ({self.reason}). Nothing was sent, and nothing was charged. "
            f"{self.advice or usual}"
        )


class RunFailed(ReelbookError):
    """The service accepted the run but could not finish it."""

    def __init__(self, request_id: str, message: str, error_type: str | None) -> None:
        super().__init__(request_id, message, error_type)
        self.request_id, self.message = request_id, printable(message)
        self.error_type = None if error_type is None else printable(error_type)

    def sentence(self) -> str:
        kind = f" [{self.error_type}]" if self.error_type else ""
        advice = "Look at its logs, change the input if that is the cause, and run it again."
        if self.error_type == "content_policy_violation":
            advice = "Change the words or pictures of the input, then run it again."
        return f"Run {readable_id(self.request_id)} failed{kind}: {as_sentence(self.message)} {advice}"


class RunCancelled(ReelbookError):
    """The run was cancelled before it finished."""

    def __init__(self, request_id: str) -> None:
        super().__init__(request_id)
        self.request_id = request_id

    def sentence(self) -> str:
        return (
            f"Run {readable_id(self.request_id)} was cancelled before it finished, so there is no result. "
            "Run it again if you still want it; the account shows what was refunded."
        )


class RunTimeout(ReelbookError):
    """The run had not finished when the wait ended. The run itself continues."""

    def __init__(self, request_id: str, status: str, waited: float) -> None:
        super().__init__(request_id, status, waited)
        self.request_id, self.status, self.waited = request_id, status, waited

    def sentence(self) -> str:
        return (
            f"Run {readable_id(self.request_id)} was still {self.status} after {self.waited:g} s. "
            "The service is still working on it: call wait() again, or cancel()."
        )


class DownloadFailed(ReelbookError):
    """The run is finished and paid for, but its file could not be downloaded."""

    def __init__(self, request_id: str, url: str, reason: str) -> None:
        super().__init__(request_id, url, reason)
        self.request_id, self.url, self.reason = request_id, url, reason

    def sentence(self) -> str:
        return (
            f"Run {readable_id(self.request_id)} finished, but its file could not be downloaded from {shortened(self.url)} ({self.reason}). "
            f"The service still has the result: rb.attach({self.request_id!r}, model=…) downloads it again, at no cost."
        )


__all__ = [name for name, value in globals().items() if isinstance(value, type) and issubclass(value, BaseException)]


def __dir__() -> list[str]:
    """The exceptions alone, for completion."""
    return __all__
