"""Error responses of the service: their class, status codes and body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from annotated_types import MaxLen
from pydantic import BaseModel, ValidationError

from reelbook.models.problems import problems_of
from reelbook.models.value_types import MAX_ENTRIES

MAX_LISTED_PROBLEMS = 10_000
"""How many problems are listed; a hostile list has more, and each takes time that delays other requests."""
MAX_CHECKED_ENTRIES = 1_000
"""Lists that are too long, and longer than this, are refused without checking their entries."""

Loc = Sequence[str | int]

CODES: Mapping[str, int] = {
    "bad_request": 400,
    "not_ready": 400,
    "unauthorized": 401,
    "insufficient_credits": 402,
    "forbidden": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "too_large": 413,
    "validation_error": 422,
    "content_policy_violation": 422,
    "file_download_error": 422,
    "image_load_error": 422,
    "lora_load_error": 422,
    "too_many_requests": 429,
    "cancelled": 499,
    "engine_error": 500,
    "answer_lost": 500,
    "unavailable": 503,
    "engine_timeout": 504,
}
"""The HTTP status of each `error_type`."""


class Refusal(Exception):
    """An error response, with a reason that the caller can act on."""

    def __init__(
        self,
        error_type: str,
        detail: str | Sequence[Mapping[str, Any]],
        *,
        facts: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(error_type, detail)
        self.error_type, self.detail = error_type, detail
        self.facts, self.headers = dict(facts or {}), dict(headers or {})

    @property
    def status(self) -> int:
        return CODES[self.error_type]

    def body(self) -> dict[str, Any]:
        """The JSON body of the response."""
        return {"detail": self.detail, "error_type": self.error_type, **self.facts}


def invalid(model: type[BaseModel], error: ValidationError, at: Loc = ("body",)) -> Refusal:
    """A 422 with one entry for each validation error, each with its location in the body."""
    if error.error_count() > MAX_LISTED_PROBLEMS:
        words = f"The input has {error.error_count():,} problems, too many to list. Send fewer entries to learn what is wrong with them."
        return invalid_at(at, words, "more")
    entries = [
        {
            # An unknown name can be a megabyte long.
            "loc": [*at, *(part[:100] if isinstance(part, str) else part for part in problem.loc)],
            "msg": problem.message,
            "type": problem.kind,
            "ctx": {} if problem.nearest is None else {"nearest": problem.nearest},
        }
        for problem in problems_of(model, error)
    ]
    return Refusal("validation_error", entries)


def invalid_at(loc: Loc, message: str, kind: str = "value_error") -> Refusal:
    """A 422 for one location."""
    return Refusal("validation_error", [{"loc": list(loc), "msg": message, "type": kind, "ctx": {}}])


def check_list_lengths(model: type[BaseModel], value: Any, at: Loc) -> None:
    """Raise a 422 where a list in an input is so long that checking its entries would delay other requests."""
    for name, field in model.model_fields.items():
        entries = value.get(name) if isinstance(value, dict) else None
        max_entries = next((limit.max_length for limit in field.metadata if isinstance(limit, MaxLen)), MAX_ENTRIES)
        if isinstance(entries, list) and len(entries) > max(max_entries, MAX_CHECKED_ENTRIES):
            words = f"`{name}` needs at most {max_entries:,} entries and has {len(entries):,}."
            raise invalid_at([*at, name], words, "too_long")
