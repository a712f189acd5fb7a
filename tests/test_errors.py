"""Every error: it survives a pickle, and says what happened and what to do."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import pytest

import reelbook as rb
from reelbook import errors
from reelbook.errors import InvalidInput, Problem, ReelbookError, ServiceError, UnknownModel

REFUSAL: dict[str, Any] = {"status": 418, "error_type": "teapot", "request_id": "r-1", "facts": {"needed": 53}}
EXAMPLES: dict[type[ReelbookError], tuple[ReelbookError, tuple[str, ...], str]] = {
    errors.InvalidInput: (
        InvalidInput("TextToVideo", [Problem(("seed",), "`seed` needs a whole number, not '7'. Did you mean 7?", "int_type", "7", 7)]),
        ("TextToVideo", "`seed`"),
        "Did you mean 7?",
    ),
    errors.BadRates: (errors.BadRates("rates.toml names the model 'a'; the catalog has b."), ("rates.toml", "'a'"), "the catalog has b"),
    errors.BadDescription: (errors.BadDescription("This is not an OpenAPI 3 description: it does not say so."), ("OpenAPI",), "OpenAPI 3"),
    errors.UnknownModel: (UnknownModel("svc/smart-rezise", ["svc/smart-resize"]), ("svc/smart-rezise",), "Did you mean 'svc/smart-resize'?"),
    errors.ServiceError: (ServiceError("No tea", **REFUSAL), ("No tea.", "r-1"), "change the request"),
    errors.Unauthorized: (errors.Unauthorized("The key is not known", **REFUSAL), ("The key is not known.", "r-1"), "Check the key"),
    errors.InsufficientCredits: (errors.InsufficientCredits("Not enough", **REFUSAL), ("Not enough.", "r-1"), "Add credits"),
    errors.Forbidden: (errors.Forbidden("Not yours", **REFUSAL), ("Not yours.", "r-1"), "Ask the owner of the account"),
    errors.NotFound: (errors.NotFound("No such run", **REFUSAL), ("No such run.", "r-1"), "Check the spelling"),
    errors.NotReady: (errors.NotReady("Not yet", **REFUSAL), ("Not yet.", "r-1"), "wait a little"),
    errors.Refused: (errors.Refused("Too large", **REFUSAL), ("Too large.", "r-1"), "Change the input"),
    errors.TooManyRequests: (errors.TooManyRequests("Later", **REFUSAL), ("Later.", "r-1"), "wait a minute"),
    errors.ServiceBroken: (errors.ServiceBroken("Broken!", **REFUSAL), ("Broken!", "r-1"), "try again later"),
    errors.FolderInUse: (errors.FolderInUse("/data"), ("/data", "Another running service"), "Stop it first"),
    errors.Unreachable: (errors.Unreachable("http://127.0.0.1:9", "refused"), ("http://127.0.0.1:9", "refused"), "Check the URL"),
    errors.UncertainRun: (errors.UncertainRun("http://a", "reset", 53), ("http://a", "reset", "53 credits"), "Look at the account's history"),
    errors.OverBudget: (errors.OverBudget(100, 53, 53), ("budget=100", "53 credits are already spent or reserved", "The next run costs 53, and 47 is left"), "Raise budget"),
    errors.LibraryError: (errors.LibraryError("/home/me/.reelbook", "the disk is full"), ("/home/me/.reelbook", "the disk is full"), "choose another folder"),
    errors.RunFailed: (errors.RunFailed("r-1", "No picture there", "image_load_error"), ("r-1", "No picture there.", "image_load_error"), "run it again"),
    errors.RunCancelled: (errors.RunCancelled("r-1"), ("r-1", "cancelled"), "Run it again"),
    errors.RunTimeout: (errors.RunTimeout("r-1", "IN_QUEUE", 60.0), ("r-1", "IN_QUEUE", "60 s"), "call wait() again, or cancel()"),
    errors.DownloadFailed: (errors.DownloadFailed("r-1", "http://a/b.mp4", "cut off"), ("r-1", "http://a/b.mp4", "cut off"), "attach('r-1', model=…)"),
}  # fmt: skip
"""One of each, what its sentence must name, and what it tells one to do."""

every_error = pytest.mark.parametrize("kind", list(EXAMPLES), ids=lambda kind: kind.__name__)


def below(kind: type[ReelbookError]) -> list[type[ReelbookError]]:
    """All the classes under one, as they are in the module."""
    children = [child for child in kind.__subclasses__() if child.__module__ == errors.__name__]
    return [found for child in children for found in (child, *below(child))]


def test_every_error_has_an_example_here_and_a_door() -> None:
    """A new class needs its own sentence, its own tests, and its name in the front door."""
    assert set(below(ReelbookError)) == set(EXAMPLES)
    kinds: list[type[ReelbookError]] = [ReelbookError, *EXAMPLES]
    for kind in kinds:
        assert getattr(rb, kind.__name__) is kind or kind is ServiceError
        assert inspect.getdoc(kind)


@every_error
def test_an_error_says_what_happened_and_what_to_do(kind: type[ReelbookError]) -> None:
    """The facts in a sentence, and a way out; also after a pickle or a copy, because pools send errors between processes."""
    error, facts, advice = EXAMPLES[kind]

    for twin in (error, pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        text = str(twin)
        assert type(twin) is kind
        assert all(fact in text for fact in facts)
        assert advice in text
        assert text.endswith((".", "?"))
        assert text[0].isupper() or kind is errors.BadRates
        assert vars(twin) == vars(error)


PAGE = "x" * 100_000


@pytest.mark.parametrize(
    "error",
    [
        InvalidInput("A", [Problem(("a",), PAGE, "b")] * 1000), UnknownModel(PAGE, [PAGE]), errors.NotFound(PAGE, status=404),
        errors.RunFailed("r-1", PAGE, None), errors.DownloadFailed("r-1", PAGE, "cut off"),
    ],
)  # fmt: skip
def test_a_long_text_from_outside_is_cut(error: ReelbookError) -> None:
    """A service may answer a whole page; the sentence about it stays one."""
    assert len(str(error)) < 2_100
    assert "…" in str(error)


def test_several_problems_are_a_list() -> None:
    """One line for each, and how many more there are."""
    few = InvalidInput("A", [Problem(("a",), "First.", "b"), Problem(("c",), "Second.", "d")])
    many = InvalidInput("A", [Problem(("a",), "word " * 20, "b")] * 50)

    assert str(few) == "A has 2 problems:\n  - First.\n  - Second."
    assert str(many).startswith("A has 50 problems:\n  - 40 more are not listed; fix these first:\n  - word")
