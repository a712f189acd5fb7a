"""What a run elsewhere has come to, in the terms of the gateway: its progress, its end, its error and its cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reelbook.errors import (
    Forbidden,
    InsufficientCredits,
    InvalidInput,
    LibraryError,
    NotFound,
    ReelbookError,
    Refused,
    ServiceError,
    TooManyRequests,
    Unauthorized,
    UncertainRun,
    Unreachable,
)
from reelbook.storage.ledger.transitions import Entry, State

INPUT_ERRORS = frozenset(
    {"content_policy_violation", "validation_error", "file_download_error", "image_load_error", "lora_load_error"}
)
"""Error types about the input; all others become `engine_error`."""
WHO_SETTLES = "It is not sent again by itself. Whoever runs this service can look into the account there."


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a run at the service elsewhere."""

    is_waiting: bool
    place: int | None
    """Its place in the queue there, if that is known."""
    fraction: float
    stage: str
    lines: tuple[tuple[str, str], ...] = ()
    """New lines of the log, each with its level."""
    is_silent: bool = False
    """Whether the service does not answer, or takes nothing."""
    cost: int | None = None
    """What it costs there, as far as that is known by now."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a run: its output and files, or an error, and its cost."""

    charged: int | None
    """Credits to charge; None for the whole price, where the cost is unknown."""
    output: Mapping[str, Any] | None = None
    files: tuple[Mapping[str, Any], ...] = ()
    """Its files, with the `path` of each."""
    error_type: str = ""
    detail: str = ""


def get_cost(entry: Entry, *, charges_failures: bool) -> int | None:
    """What a run costs according to the ledger: what the service has charged, else its price if it may be charged.

    None where that is not known. `charges_failures`: whether a failure without a reported charge counts.
    """
    if entry.state in (State.PLANNED, State.REJECTED):
        return entry.spent + ((entry.price or 0) if may_be_charged(entry) else 0)
    is_failure = entry.state in (State.FAILED, State.CANCELLED) and entry.error_type != "written_off"
    if is_failure and entry.charged is None and not charges_failures:
        return entry.spent
    return entry.credits


def format_refusal(error: ReelbookError) -> tuple[str, str]:
    """The error type and the sentence for a student whose run the service elsewhere does not take."""
    match error:
        case InvalidInput():
            return "image_load_error", "A picture of this run cannot be read as a picture."
        case Refused() if not error.foreign:
            kind = error.error_type if error.error_type in INPUT_ERRORS else None
            return kind or "validation_error", f"The service elsewhere refuses this input: {error.message}"
        case InsufficientCredits():
            why = "the account that pays for the runs of all has not enough credits left there"
        case Unauthorized() | Forbidden():
            why = "the key that pays for the runs of all is not accepted there"
        case NotFound():
            why = "it does not know this model"
        case _:
            why = "a gateway in front of it refuses the call"
    words = (
        f"The service elsewhere does not take this run: {why}. It is not your fault; tell whoever runs this service."
    )
    return "engine_error", words


def may_be_charged(entry: Entry) -> bool:
    """Whether an unpaid run has been sent with a key, and may have arrived."""
    if entry.state == State.PLANNED:
        return entry.attempt_key is not None and entry.body is not None
    return entry.state in (State.SENDING, State.UNCERTAIN)


def format_reason(error: ReelbookError) -> str:
    """Why a call to the service elsewhere failed, without its address."""
    match error:
        case TooManyRequests():
            return "it limits how much it takes at a time"
        case Unreachable() | UncertainRun():
            return "it does not answer"
        case LibraryError():
            return "its record here cannot be written"
        case ServiceError():
            return f"it answers {error.status}"
    return type(error).__name__
