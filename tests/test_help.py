"""What a person tries first: names and calls that are not there are answered with those that are, and completion is short."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import pytest

import reelbook as rb
from reelbook.api.table_accessor import Reel
from reelbook.media.local_file import LocalFile
from reelbook.models.base import Part
from reelbook.models.described import describe
from reelbook.models.pricing import Estimate
from reelbook.storage.library import Library
from reelbook.sweeps.job import SweepJob
from tests.models.described_inputs import DESCRIPTIONS

KINDS: dict[str, type[Any]] = {
    "Run": rb.Run, "LocalFile": LocalFile, "Plan": rb.Plan, "SweepJob": SweepJob, "Reel": Reel, "Library": Library,
    "Client": rb.Client, "Estimate": Estimate,
}  # fmt: skip
_any: Any = lambda kind: kind  # noqa: E731  # Hides a type from mypy.
BOAT = rb.TextToVideo(prompt="a paper boat", seed=7)


def test_the_price_of_a_plan_is_named_where_a_plan_is_given_for_an_input() -> None:
    """`rb.estimate(plan)` is a first guess too."""
    with pytest.raises(rb.ReelbookError, match=r"plan\.credits is its price"):
        rb.estimate(rb.sweep(BOAT, seed=[1, 2]))  # type: ignore[arg-type]


def test_the_first_required_field_may_come_without_its_name() -> None:
    """One value by position, for written and described inputs alike; everything else says how it is meant."""
    # By way of Any: pydantic's plugin for mypy knows fields by name only.
    video, resize, lora = map(_any, (rb.TextToVideo, rb.SmartResize, rb.LoRA))
    assert video("a fox", seed=3) == rb.TextToVideo(prompt="a fox", seed=3)
    assert lora("watercolour") == rb.LoRA(path="watercolour")
    assert resize("https://example.org/a.png", target_sizes=["300x600"]).image_url == "https://example.org/a.png"
    with pytest.raises(TypeError, match="too many positional arguments"):
        video("a fox", 7)
    with pytest.raises(TypeError, match="multiple values for keyword argument 'prompt'"):
        video("a fox", prompt="a cat")


@pytest.mark.parametrize("kind", [rb.TextToVideo, rb.ImageToVideo, rb.SmartResize, rb.ImagesToVideo, rb.LoRA, rb.Frame])
def test_a_signature_can_be_read(kind: type[Part]) -> None:
    """Every field with a plain type and its default; every field explained, with an example."""
    signature = str(inspect.signature(kind))

    assert "Annotated" not in signature
    assert "<" not in signature
    assert set(inspect.signature(kind).parameters) == set(kind.model_fields)
    assert all(f"\n{name} : " in str(kind.__doc__) for name in kind.model_fields)
    assert ">>> " in str(kind.__doc__) or f"rb.{kind.__name__}(" in str(kind.__doc__)


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_so_can_that_of_a_described_input(name: str) -> None:
    """Hostile names and words included; the example is a call that Python can read."""
    kind = describe(DESCRIPTIONS[name])

    signature, text = inspect.signature(kind), str(kind.__doc__)

    assert "Annotated" not in str(signature)
    assert "\x1b" not in text
    assert len(text) < 40_000
    assert "Example\n-------\nrb.model(" in text
    compile(text.rpartition("-------\n")[2].replace("…", "..."), "example", "eval")


def test_errors_lists_every_exception_and_nothing_else() -> None:
    """`rb.errors.` completes to what can be caught."""
    assert set(rb.errors.__all__) == {
        name for name, value in vars(rb.errors).items() if isinstance(value, type) and issubclass(value, BaseException)
    }
    assert set(dir(rb.errors)) == set(rb.errors.__all__)


def test_help_and_the_question_mark_are_readable() -> None:
    """What IPython shows for `rb.sweep?` and pydoc for an input."""
    from IPython.core.oinspect import Inspector

    told = Inspector(theme_name="nocolor").info(rb.sweep)
    page = subprocess.run(
        [sys.executable, "-c", "import reelbook as rb; help(rb.TextToVideo)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert "Plan runs" in str(told["docstring"])
    assert "TextToVideo(prompt: str, *," in page
    assert "num_frames : int, 9 to 1441, default 121" in page
    assert "BeforeValidator" not in page
