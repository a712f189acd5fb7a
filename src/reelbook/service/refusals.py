"""How the service says no: one class, one table of codes, one shape of body."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from annotated_types import MaxLen
from pydantic import BaseModel, ValidationError

from ..models.problems import problems_of
from ..models.value_types import MAX_ENTRIES

MAX_WORDED = 10_000
"""How many problems are looked at one by one; a hostile list has more, and each takes time that others wait."""
MAX_JUDGED = 1_000
"""Lists that are too long, and longer than this, are refused without a look at their entries."""

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
    "too_many_requests": 429,
    "cancelled": 499,
    "engine_error": 500,
    "unavailable": 503,
    "engine_timeout": 504,
}
"""The HTTP status of every kind of refusal."""


class Refusal(Exception):
    """A request that is not carried out, and why, in words that its sender can act on."""

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
        """The JSON body of the answer."""
        return {"detail": self.detail, "error_type": self.error_type, **self.facts}


def invalid(model: type[BaseModel], error: ValidationError, at: Loc = ("body",)) -> Refusal:
    """A 422 with one entry for each problem, each with its place in the body."""
    if error.error_count() > MAX_WORDED:
        words = f"The input has {error.error_count():,} problems, too many to list. Send fewer entries to learn what is wrong with them."
        return invalid_at(at, words, "more")
    entries = [
        {
            # A name that somebody made up can be a megabyte long.
            "loc": [*at, *(part[:100] if isinstance(part, str) else part for part in problem.loc)],
            "msg": problem.message,
            "type": problem.kind,
            "ctx": {} if problem.nearest is None else {"nearest": problem.nearest},
        }
        for problem in problems_of(model, error)
    ]
    return Refusal("validation_error", entries)


def invalid_at(loc: Loc, message: str, kind: str = "value_error") -> Refusal:
    """A 422 for one place that no model speaks of."""
    return all_invalid([(loc, message, kind)])


def all_invalid(problems: Iterable[tuple[Loc, str, str]]) -> Refusal:
    """The same for several places, each with its sentence and its kind of problem."""
    entries = [{"loc": list(loc), "msg": message, "type": kind, "ctx": {}} for loc, message, kind in problems]
    return Refusal("validation_error", entries)


def overlong(model: type[BaseModel], value: Any, at: Loc) -> Refusal | None:
    """A 422 if lists in an input are so long that judging their entries would keep others waiting."""
    problems = []
    for name, field in model.model_fields.items():
        entries = value.get(name) if isinstance(value, dict) else None
        most = next((limit.max_length for limit in field.metadata if isinstance(limit, MaxLen)), MAX_ENTRIES)
        if isinstance(entries, list) and len(entries) > max(most, MAX_JUDGED):
            words = f"`{name}` needs at most {most:,} entries and has {len(entries):,}."
            problems.append(([*at, name], words, "too_long"))
    return all_invalid(problems) if problems else None
