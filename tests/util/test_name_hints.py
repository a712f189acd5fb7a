"""What a person tries first: names and calls that are not there are answered with those that are, and completion is short."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import reelbook as rb
from reelbook.api.table_accessor import Reel
from reelbook.media.local_file import LocalFile
from reelbook.models.base import Part
from reelbook.models.described.input_class import describe
from reelbook.models.pricing import Estimate
from reelbook.models.service_file import File
from reelbook.storage.library import Library
from reelbook.sweeps.execute.job import SweepJob
from reelbook.util.name_hints import NAME_HINTS
from tests.models.described_inputs import DESCRIPTIONS

KINDS: dict[str, type[Any]] = {
    "Run": rb.Run, "LocalFile": LocalFile, "Plan": rb.Plan, "SweepJob": SweepJob, "Reel": Reel, "Library": Library,
    "Client": rb.Client, "Estimate": Estimate,
}  # fmt: skip
_any: Any = lambda kind: kind  # noqa: E731  # Hides a type from mypy.
BOAT = rb.TextToVideo(prompt="a paper boat", seed=7)


def test_the_table_names_only_what_is_not_there() -> None:
    """A guess that came true would never be asked for, and its answer would be out of date."""
    assert set(NAME_HINTS) == {"reelbook", *KINDS}
    assert [(kind, name) for kind, cls in KINDS.items() for name in NAME_HINTS[kind] if hasattr(cls, name)] == []
    assert set(NAME_HINTS["reelbook"]).isdisjoint(rb.__all__)


@pytest.mark.parametrize("name", sorted(NAME_HINTS["reelbook"]))
def test_a_first_guess_on_the_package_is_answered(name: str) -> None:
    """As an AttributeError, or, where a module has that name, when it is called."""
    with pytest.raises((AttributeError, TypeError)) as caught:
        getattr(rb, name)()

    assert NAME_HINTS["reelbook"][name] in str(caught.value)


@pytest.mark.parametrize("module", ["runs", "models", "settings", "client"])
def test_a_module_that_is_called_says_what_was_meant(module: str) -> None:
    """Also where it was imported before, and it stays a module."""
    __import__(f"reelbook.{module}")

    with pytest.raises(TypeError, match=rf"rb\.{module} is a module and no function: .*rb\."):
        getattr(rb, module)()
    assert inspect.ismodule(sys.modules[f"reelbook.{module}"])


@pytest.mark.parametrize(
    ("value", "name", "says"),
    [
        (BOAT, "sed", "no attribute"),
        (rb.sweep(BOAT, seed=[1, 2]), "cost", "plan.credits is the price"),
        (rb.sweep(BOAT, seed=[1, 2]), "credit", "did you mean `credits`"),
        (rb.sweep(BOAT, seed=[1, 2]), "show", "at the end of a cell"),
        (LocalFile(Path("clip.mp4"), File(url="https://example.org/clip.mp4")), "last_frame", "still(1.0)"),
        (LocalFile(Path("clip.mp4"), File(url="https://example.org/clip.mp4")), "to_numpy", "numpy.asarray"),
        (Estimate(53), "cost", "estimate.credits"),
    ],
)
def test_a_first_guess_on_a_value_is_answered(value: object, name: str, says: str) -> None:
    """`AttributeError`, so that hasattr works, with what to type."""
    with pytest.raises(AttributeError) as caught:
        getattr(value, name)

    assert says in str(caught.value).replace("`plan.credits`", "plan.credits")
    assert not hasattr(value, name)
    assert not hasattr(value, "_repr_nothing_")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: rb.run(prompt="a fox"), r"rb\.run\(rb\.TextToVideo\('…'\)\)"),  # type: ignore[call-arg]
        (lambda: rb.form(), r"rb\.form\(rb\.TextToVideo\)"),  # type: ignore[call-arg]
        (lambda: rb.sweep(BOAT, seed=[1]).run(53), r"plan\.run\(budget=plan\.credits\)"),  # type: ignore[call-arg]
        (lambda: Library.find(None, "fox"), r"library\.find\(prompt='fox'\)"),  # type: ignore[call-arg, arg-type]
        (lambda: rb.sweep(BOAT, seed=[1]).frame.reel[0], r"table\.reel\.run\(7\)"),
        (lambda: rb.estimate(), r"rb\.estimate\(rb\.TextToVideo\('…'\)\)"),  # type: ignore[call-arg]
    ],
)
def test_a_call_that_does_not_fit_is_answered_with_one_that_does(call: Any, says: str) -> None:
    """Before anything is started or sent."""
    with pytest.raises(TypeError, match=says):
        call()


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
    with pytest.raises(rb.InvalidInput, match="only `prompt` without a name"):
        video("a fox", 7)
    with pytest.raises(rb.InvalidInput, match="`prompt` twice"):
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


def test_completion_shows_what_users_need() -> None:
    """No exceptions after `rb.`, no methods of pydantic on inputs, nothing internal on runs; and nothing is lost."""
    assert not [
        name for name in dir(rb) if isinstance(getattr(rb, name), type) and issubclass(getattr(rb, name), Exception)
    ]
    assert "errors" in dir(rb)
    assert rb.errors.InvalidInput is rb.InvalidInput
    assert {"prompt", "seed", "revised", "wire"} <= set(dir(BOAT))
    assert not [name for name in dir(BOAT) if name.startswith(("model_", "copy", "json", "parse"))]
    plan = rb.sweep(BOAT, seed=[1, 2])
    assert {"run", "start", "frame", "credits"} <= set(dir(plan))
    assert {"session", "recipe"}.isdisjoint(dir(plan))
    assert pickle.loads(pickle.dumps(Estimate(53))) == Estimate(53)


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
