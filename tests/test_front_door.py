"""The front door: what `import reelbook` costs, and the names that a notebook types, each documented and with an example."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import statistics
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from PIL import Image

import reelbook
import reelbook as rb
from reelbook.current import session
from reelbook.models.base import Part
from reelbook.models.described import describe
from tests.models.described_inputs import DESCRIPTIONS

HEAVY = ("pandas", "ipywidgets", "starlette", "av", "httpx", "pydantic", "numpy", "PIL", "IPython")

LOOK_AROUND = """
import os, sys, threading

class Watched(dict):
    read = []
    def __getitem__(self, name):
        Watched.read.append(name)
        return super().__getitem__(name)

os.environ._data = Watched(os.environ._data)
import reelbook
import json
print(json.dumps({"modules": sorted(sys.modules), "threads": threading.active_count(), "read": [str(name) for name in Watched.read]}))
"""


def in_a_fresh_python(code: str, *flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True, check=True, timeout=60)


def test_importing_brings_nothing_heavy_along() -> None:
    """The import alone loads no package of others, and of our own only the front door."""
    trace = in_a_fresh_python("import reelbook", "-X", "importtime").stderr

    names = {line.rpartition("|")[2].strip() for line in trace.splitlines()}
    assert "reelbook" in names
    assert not [name for name in names if name.partition(".")[0] in HEAVY]
    assert {name for name in names if name.startswith("reelbook.")} == {"reelbook._version"}


@pytest.mark.parametrize("code", ["rb.run, rb.start, rb.estimate, rb.TextToVideo", "rb.form(rb.TextToVideo)"])
def test_runs_and_forms_bring_no_tables_along(code: str) -> None:
    """A form is made, and a run can be, without pandas and whatever else only tables, drawings and decoders need."""
    code = f"import sys, reelbook as rb; {code}; print(*sys.modules)"
    modules = {*in_a_fresh_python(code).stdout.split()}

    assert "reelbook" in modules
    assert not modules & {"pandas", "pyarrow", "numpy", "matplotlib", "av"}


def test_importing_is_quiet() -> None:
    """The import starts no thread and reads no setting from the environment."""
    seen = json.loads(in_a_fresh_python(LOOK_AROUND).stdout)

    assert "reelbook" in seen["modules"]
    assert seen["threads"] == 1
    assert seen["read"] == []


def test_the_watch_on_the_environment_works() -> None:
    """The control of the test above: a setting that is read is noticed."""
    reading = LOOK_AROUND.replace("import reelbook\n", "os.environ.get('REELBOOK_URL')\n")

    assert "REELBOOK_URL" in " ".join(json.loads(in_a_fresh_python(reading).stdout)["read"])


def test_importing_takes_a_third_of_the_time_of_httpx_at_most() -> None:
    """Beside `import httpx`, in turns, the import is quick: at most 0.3 of its time."""
    took: dict[str, list[float]] = {"reelbook": [], "httpx": [], "sys": []}

    for _ in range(3):
        for module, times in took.items():
            began = time.perf_counter()
            in_a_fresh_python(f"import {module}")
            times.append(time.perf_counter() - began)

    # Python's own start is no part of either import.
    start = statistics.median(took["sys"])
    ours, theirs = (statistics.median(took[module]) - start for module in ("reelbook", "httpx"))
    assert ours <= 0.3 * theirs, f"{ours:.3f} s beside {theirs:.3f} s"


def test_every_public_name_is_there() -> None:
    """`__all__` is sorted, holds each name once, and each of them leads to something."""
    names = reelbook.__all__

    assert names == sorted(names)
    assert len(names) == len(set(names))
    assert all(getattr(reelbook, name) is not None for name in names)
    assert set(names) - set(dir(reelbook)) == {*reelbook.errors.__all__} & {*names}


def test_the_types_name_the_same_modules() -> None:
    """The stub, which type checkers and editors read, imports each public name from where it is found."""
    stub = ast.parse(Path(reelbook.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    typed = {
        alias.name: node.module
        for node in ast.walk(stub)
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
    }

    assert typed == {**vars(reelbook)["_MODULES"], "__version__": "_version"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A name that is not there says so the way Python does, so that `hasattr` works."""
    with pytest.raises(AttributeError, match="no attribute 'runn'"):
        reelbook.runn  # type: ignore[attr-defined]  # noqa: B018

    assert not hasattr(reelbook, "_repr_html_")


def test_the_types_are_announced() -> None:
    """Type checkers read our annotations, because the package says that it has them."""
    assert (Path(reelbook.__file__).parent / "py.typed").is_file()


def test_no_module_takes_the_place_of_a_public_name() -> None:
    """Importing a submodule sets an attribute of its name on the package; a function of that name would vanish."""
    modules = [
        name
        for _, name, _ in pkgutil.walk_packages(reelbook.__path__, "reelbook.")
        # The pipelines need torch, which is not here.
        if not name.endswith("__main__") and ".weights.pipelines." not in name
    ]

    for name in modules:
        importlib.import_module(name)

    assert "reelbook.client" in modules
    assert [name for name in reelbook.__all__ if isinstance(getattr(reelbook, name), ModuleType)] == []


HELD = (
    "sweeps.job.SweepJob", "decide.race.race.Race", "decide.ratings.Ratings", "media.local_file.LocalFile",
    "display.compare.comparison.Comparison", "widgets.forms.form.Form", "media.local_file.Explorer", "api.table_accessor.Reel",
)  # fmt: skip
"""What a notebook holds without having typed its name."""


def examples() -> dict[str, str]:
    """The docstring of each public name that is no error, and of what a notebook holds."""
    named = {name: getattr(reelbook, name) for name in reelbook.__all__ if not name.startswith("__")}
    for path in HELD:
        module, name = path.rsplit(".", 1)
        named[name] = getattr(importlib.import_module(f"reelbook.{module}"), name)
    return {name: value.__doc__ for name, value in named.items() if not is_error(value)}


def is_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Exception)


def test_every_public_name_has_a_docstring() -> None:
    """help(rb.anything) says what you get."""
    undocumented = [
        name for name in reelbook.__all__ if not name.startswith("__") and not getattr(reelbook, name).__doc__
    ]

    assert undocumented == []


def test_every_public_name_has_an_example_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a reader would paste it, after `import reelbook as rb` and an input called `boat`; doctests run by themselves."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REELBOOK_LIBRARY", str(tmp_path / "library"))
    Image.new("RGB", (64, 64)).save("boat.png")
    boat = reelbook.TextToVideo(prompt="a paper boat", num_frames=9, resolution="480p", aspect_ratio="1:1", seed=7)
    without = []
    try:
        for name, docstring in examples().items():
            before, separator, example = inspect.cleandoc(docstring).partition("Example::\n\n")
            if separator:
                exec(textwrap.dedent(example), {"rb": reelbook, "boat": boat})
            elif ">>>" not in before and "Example" not in before:
                without.append(name)
    finally:
        while session.current:
            session.current.close()

    assert without == []


# What a person tries first.

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
