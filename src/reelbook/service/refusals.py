"""How the service says no: one class, one table of codes, one shape of body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from ..models.problems import problems_of

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


def invalid(model: type[BaseModel], error: ValidationError, at: Sequence[str] = ("body",)) -> Refusal:
    """A 422 with one entry for each problem, each with its place in the body."""
    entries = [
        {
            "loc": [*at, *problem.loc],
            "msg": problem.message,
            "type": problem.kind,
            "ctx": {} if problem.nearest is None else {"nearest": problem.nearest},
        }
        for problem in problems_of(model, error)
    ]
    return Refusal("validation_error", entries)


def invalid_at(loc: Sequence[str | int], message: str, kind: str = "value_error") -> Refusal:
    """A 422 for one place that no model speaks of."""
    return Refusal("validation_error", [{"loc": list(loc), "msg": message, "type": kind, "ctx": {}}])
