"""A base and what varies become a plan, or a sentence that says what is wrong."""

from __future__ import annotations

import itertools
import sys
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import PIL.Image
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reelbook.errors import InvalidInput, ReelbookError
from reelbook.models.base import Input
from reelbook.models.catalog import estimate
from reelbook.models.described import describe
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.images import Image
from reelbook.models.images_to_video import ImagesToVideo
from reelbook.models.smart_resize import Size, SmartResize
from reelbook.models.text_to_video import LoRA, TextToVideo
from reelbook.sweeps.parts import rows, sampled, template, zipped
from reelbook.sweeps.plan import sweep
from tests.models.described_inputs import with_fields
from tests.support import examples
from tests.sweeps.axes import AXES, BOAT, parse_plan


@settings(max_examples=examples(15, 60))
@given(axes=AXES)
def test_a_grid_has_every_combination_validated(axes: dict[str, list[Any]]) -> None:
    """As many runs as the product, the last axis fastest, each exactly what `revised` makes of it or refuses."""
    plan = sweep(BOAT, **axes)

    combinations = list(itertools.product(*axes.values()))
    assert len(plan) == prod(map(len, axes.values())) == len(combinations)
    for row, combination in zip(plan, combinations, strict=True):
        expected, problem = _revised(dict(zip(axes, combination, strict=True)))
        assert (row.input, row.problem) == (expected, problem)
        assert row.credits == (None if expected is None else estimate(expected).credits)


def _revised(changes: dict[str, Any]) -> tuple[Input | None, str | None]:
    try:
        return BOAT.revised(**changes), None
    except InvalidInput as error:
        return None, " ".join(problem.message for problem in error.problems)


def test_an_axis_takes_what_has_values() -> None:
    """A range, an array, a column, a generator (once), one text; a list field takes single entries, too."""
    frame = pd.DataFrame({"num_frames": [49, 97]})
    given: list[tuple[str, Any, list[Any]]] = [
        ("seed", np.arange(2), [0, 1]),
        ("num_frames", frame["num_frames"], [49, 97]),
        ("seed", (number for number in (3, 4)), [3, 4]),
        ("prompt", "abc", ["abc"]),
        ("seed", np.array(5), [5]),
        ("temporal_adain_factor", np.linspace(0, 1, 21)[2:4], [0.1, 0.15]),
    ]
    resize = SmartResize(image_url="a.png", target_sizes=["64x64"])

    for name, values, expected in given:
        plan = sweep(BOAT, **{name: values})
        assert list(plan.axes[name]) == expected
        assert {type(value).__module__ for value in plan.axes[name]} == {"builtins"}
    sizes = sweep(resize, target_sizes=["300x600", ["640x480", (300, 600)]])
    assert [run.target_sizes for run in sizes] == [(Size(300, 600),), (Size(640, 480), Size(300, 600))]


def test_zipped_axes_move_together_and_are_crossed_with_others() -> None:
    """The first values of all, then the second; another axis varies faster because it comes later."""
    plan = sweep(BOAT, zipped(seed=[1, 2], prompt=["a", "b"]), resolution=["480p", "720p"])

    assert [(run.seed, run.prompt, run.resolution) for run in plan] == [
        (1, "a", "480p"), (1, "a", "720p"), (2, "b", "480p"), (2, "b", "720p"),
    ]  # fmt: skip


def test_a_table_gives_one_run_per_row_and_its_empty_cells_the_base() -> None:
    """NaN, NA and None leave the value of the base; whole numbers among them stay whole."""
    frame = pd.DataFrame(
        {
            "num_frames": [49, np.nan],
            "seed": pd.array([None, 2], dtype="Int64"),
            "prompt": [None, "a kite"],
            "resolution": pd.Categorical(["480p", None]),
        }
    )

    plan = sweep(BOAT.revised(num_frames=33, seed=9), frame)

    assert [(run.num_frames, run.seed, run.prompt, run.resolution) for run in plan] == [
        (49, 9, "a paper boat", "480p"),
        (33, 2, "a kite", "720p"),
    ]


def test_a_column_that_is_no_field_is_refused_unless_kept() -> None:
    """A typo in a table costs nothing, and a note can travel along; what is a field is one, kept or not."""
    frame = pd.DataFrame({"num_frame": [49], "seed": [1]})

    with pytest.raises(InvalidInput, match=r"Did you mean `num_frames`\?.*keep=\[…\]"):
        sweep(BOAT, frame)

    plan = sweep(BOAT, rows(frame, keep=["num_frame", "seed"]))
    assert (plan[0].num_frame, plan[0].num_frames, plan[0].seed, set(plan.labels)) == (49, 121, 1, {"num_frame"})


def test_a_spot_inside_a_varied_field_is_laid_into_each_of_its_values() -> None:
    """Where a run has no such entry, it is impossible and says so."""
    plan = sweep(BOAT, {"loras": [[], LoRA(path="a")], "loras[0].scale": [0.5, 9]})

    assert [run.problem and run.problem.split(".")[0] for run in plan] == [
        "`loras[0]", "`loras[0]", None, "`loras[0]",
    ]  # fmt: skip
    assert "`loras` of this run has no such entry" in str(plan[0].problem)
    assert plan[2].input == BOAT.revised(loras=[LoRA(path="a", scale=0.5)])
    assert "outside 0 to 4" in str(plan[3].problem)


def test_pictures_are_values_whatever_they_are_given_as() -> None:
    """A path, an array, a PIL image, bytes: encoded once, and still there when they are laid into a list."""
    grey = np.arange(64 * 48, dtype=np.uint8).reshape(64, 48)
    colour = np.zeros((8, 8, 3), dtype=np.uint8)
    given = [Path("a.png"), "b.png", grey, colour, PIL.Image.fromarray(colour), b"no picture"]
    move = ImageToVideo(prompt="closer", image_url="https://example.org/a.png")

    plan = sweep(move, image_url=given)

    pictures = [Image.of(picture) for picture in given[:-1]]
    assert [run.image_url for run in plan][:-1] == pictures
    assert [_content(run.image_url) for run in plan][2:4] == list(map(_content, pictures[2:4]))
    assert "`image_url`" in str(plan[5].problem)
    assert [run.image_url for run in sweep(move, image_url=colour)] == pictures[3:4]
    run = sweep(ImagesToVideo(images=[grey, colour]), {"images[1].frames": [12]})[0]
    assert [_content(frame.url) for frame in run.images] == list(map(_content, pictures[2:4]))
    assert plan[:2].frame["image_url"].tolist() == ["a.png", "b.png"]
    assert parse_plan(sweep(move, image_url=given[:5]).to_toml()) == plan[:5]


def _content(picture: str) -> bytes | None:
    return picture.content if isinstance(picture, Image) else None


def test_described_inputs_sweep_like_the_others() -> None:
    """A model that is only described has axes, hints, spots, no price until one is given, and files."""
    fields = {
        "text": {"type": "string"},
        "copy": {"type": "integer", "maximum": 9},
        "voice": {"type": "object", "properties": {"pitch": {"type": "number"}}},
        "a.b[0]": {"type": "integer", "default": 1},
    }
    speech = describe(with_fields(fields, required=["text"]))(text="hello", voice={"pitch": 1.0})

    plan = sweep(speech, {"copy": [1, 10], "voice.pitch": [0.5], "a.b[0]": [7]})

    assert [run["copy"] for run in plan] == [1, 10]
    assert plan[0].input is not None
    assert plan[0].input.wire() == {"text": "hello", "copy": 1, "voice": {"pitch": 0.5}, "a.b[0]": 7}
    assert plan[:1].frame["a.b[0]"].tolist() == [7]
    assert "at most 9" in str(plan[1].problem)
    assert (plan.credits, plan.priced(lambda request: 5).credits) == (None, 5)
    assert parse_plan(plan.to_toml(), models={speech.endpoint_id: type(speech)}.__getitem__) == plan


def test_described_values_are_planned_as_they_are_given() -> None:
    """A text beside lists of texts is no list of one; a null that an object needs stays in it, also in a file."""
    fields = {
        "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}]},
        "voice": {"type": "object", "properties": {"pitch": {"type": ["number", "null"]}}, "required": ["pitch"]},
    }
    kind = describe(with_fields(fields))

    plan = sweep(kind(voice={"pitch": None}), tags=["sea", ["sea"]])

    assert [run.input and run.input.wire() for run in plan] == [
        {"tags": "sea", "voice": {"pitch": None}}, {"tags": ["sea"], "voice": {"pitch": None}},
    ]  # fmt: skip
    assert parse_plan(plan.to_toml(), models=lambda _: kind) == plan


def test_the_words_of_a_template_are_axes_and_columns() -> None:
    """Every combination, the last gap fastest, for the prompt or another text; doubled braces stand for themselves."""
    words = template("a {colour} boat in {weather}", weather=["rain", "sun"], colour=["red", 7])

    plan = sweep(BOAT, prompt=words, seed=[1, 2])
    shy = sweep(BOAT, zipped(negative_prompt=template("no {{}} {thing}", thing=["fog", "fox"]), seed=[1, 2]))

    assert [run.prompt for run in plan][::2] == [
        "a red boat in rain", "a red boat in sun", "a 7 boat in rain", "a 7 boat in sun",
    ]  # fmt: skip
    assert plan.axes["colour"] == ("red", 7)
    assert plan.labels == {"colour", "weather"}
    assert plan.frame["weather"].tolist() == ["rain", "rain", "sun", "sun"] * 2
    assert [(run.negative_prompt, run.seed) for run in shy] == [("no {} fog", 1), ("no {} fox", 2)]


# Samples.


@settings(max_examples=examples(10, 40), deadline=None)
@given(
    n=st.integers(1, 40),
    frames=st.tuples(st.integers(9, 1441), st.integers(9, 1441)).map(sorted).map(tuple),
    factor=st.tuples(st.floats(0, 0.45), st.floats(0.5, 1)),
    seed=st.integers(0, 2**40),
    method=st.sampled_from(["latin", "sobol"]),
)
def test_sampled_values_are_always_valid(n: int, frames: Any, factor: Any, seed: int, method: Any) -> None:
    """Whole numbers, multiples and choices are kept to, whatever the ends of the range; the same seed, the same runs."""
    fields = {"num_frames": frames, "temporal_adain_factor": factor, "resolution": ["480p", "720p"], "seed": (0, 2**80)}

    plan = sweep(BOAT, sampled(n, fields, seed=seed, method=method))

    assert [row.problem for row in plan] == [None] * n
    for run in plan:
        assert frames[0] <= run.num_frames <= frames[1]
        assert factor[0] <= run.temporal_adain_factor <= factor[1]
        assert 0 <= run["seed"] <= 2**80
    assert plan == sweep(BOAT, sampled(n, fields, seed=seed, method=method))


@pytest.mark.parametrize("method", ["latin", "sobol"])
def test_a_sample_covers_each_range_evenly(method: Any) -> None:
    """Of 32 draws, every tenth of the range and every choice has its share; another seed gives another sample."""
    fields = {"num_frames": (9, 1441), "aspect_ratio": ["16:9", "9:16", "1:1"]}

    plan = sweep(BOAT, sampled(32, fields, method=method))

    tenths = [sum(9 + 143.2 * tenth <= run.num_frames < 9 + 143.2 * (tenth + 1) for run in plan) for tenth in range(10)]
    assert 2 <= min(tenths) <= max(tenths) <= 5
    assert min(sum(run.aspect_ratio == shape for run in plan) for shape in ("16:9", "9:16", "1:1")) >= 9
    assert plan != sweep(BOAT, sampled(32, fields, method=method, seed=1))


def test_described_multiples_are_kept_to() -> None:
    """Steps of eight pixels, and of a tenth, which no float is."""
    fields = {
        "width": {"type": "integer", "minimum": 64, "maximum": 512, "multipleOf": 8},
        "odd": {"type": "integer", "multipleOf": 2.5, "minimum": 0},
        "speed": {"type": "number", "minimum": 0, "maximum": 2, "multipleOf": 0.1},
    }
    base = describe(with_fields(fields))(width=64)

    plan = sweep(base, sampled(50, width=(70, 130), odd=(1, 20), speed=(0, 1)))

    assert {row.problem for row in plan} == {None}
    assert set(plan.axes["width"]) <= set(range(72, 131, 8))
    assert set(plan.axes["odd"]) <= {5, 10, 15, 20}
    assert set(plan.axes["speed"]) <= {round(tenth / 10, 1) for tenth in range(11)}


def test_without_scipy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """What to install stands in the sentence; everything else works without it."""
    monkeypatch.setitem(sys.modules, "scipy.stats.qmc", None)
    monkeypatch.setitem(sys.modules, "scipy.stats", None)

    with pytest.raises(ReelbookError, match=r"pip install 'reelbook\[sampling\]'"):
        sweep(BOAT, sampled(5, num_frames=(9, 257)))
    assert len(sweep(BOAT, seed=range(3))) == 3


# Mistakes.


PLAN = sweep(BOAT, seed=range(3))
MISTAKES: dict[str, Any] = {
    "Did you mean `num_frames`?": lambda: sweep(BOAT, num_frame=[49]),
    "`seed` has no values": lambda: sweep(BOAT, seed=[]),
    "takes axes that vary together": zipped,
    "two columns of one name": lambda: sweep(BOAT, pd.DataFrame([[1, 2]], columns=["seed", "seed"])),
    "`seed` is named twice": lambda: sweep(BOAT, zipped(seed=[1], prompt=["a"]), seed=[2]),
    "starts from an input": lambda: sweep(TextToVideo, seed=[1]),  # type: ignore[arg-type]
    "not from 'a boat'": lambda: sweep("a boat", seed=[1]),  # type: ignore[arg-type]
    "a single axis goes by its name": lambda: sweep(BOAT, 7),
    "frame.to_pandas()": lambda: sweep(BOAT, polars.DataFrame({"seed": [1]})),
    "That makes more than 1,000,000 runs": lambda: sweep(BOAT, seed=range(10**9)),
    "the most that a plan holds": lambda: sweep(BOAT, seed=range(10**4), num_frames=range(10**4)),
    "`seed` has 2, `prompt` has 3": lambda: sweep(BOAT, zipped(seed=[1, 2], prompt=["a", "b", "c"])),
    "another name": lambda: sweep(BOAT, template("{seed}", seed=[1])),
    "{colour} has no words": lambda: sweep(BOAT, template("a {colour} boat")),
    "or there is no such gap": lambda: sweep(BOAT, template("a boat", colour=["red"])),
    "`colour` has no values": lambda: template("a {colour} boat", colour=[]),
    "such as 'a {colour} boat', not 5": lambda: template(5),  # type: ignore[arg-type]
    "{{ and }} where braces are meant": lambda: sweep(BOAT, template("a {colour boat", colour=["red"])),
    "Unknown format code 'd'": lambda: sweep(BOAT, template("a {colour:d} boat", colour=["red"])),
    "multiples of 0.05": lambda: sweep(BOAT, sampled(5, temporal_adain_factor=(0.51, 0.54))),
    "There is no field `num_frame`": lambda: sweep(BOAT, sampled(5, num_frame=(9, 257))),
    "then the fields to draw": lambda: sampled(5),
    "'latin' or 'sobol'": lambda: sampled(5, num_frames=(9, 257), method="halton"),  # type: ignore[arg-type]
    '{"seed": (0, 99)}': lambda: sampled(5, num_frames=(9, 257), seed=(0, 99)),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("sentence", MISTAKES)
def test_a_mistake_is_answered_before_anything_is_planned(sentence: str) -> None:
    """What cannot be meant raises one sentence that says what to write instead."""
    with pytest.raises(InvalidInput) as caught:
        MISTAKES[sentence]()

    assert sentence in str(caught.value)
