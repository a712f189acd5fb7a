"""What is said of a value that a model cannot take, and that it is always said."""

from __future__ import annotations

import dataclasses
import json
import math
import pickle
import time
from collections.abc import Callable
from typing import Any

import pytest

from reelbook.errors import InvalidInput, Problem
from reelbook.models.base import Input
from reelbook.models.catalog import CATALOG, Endpoint
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.images_to_video import ImagesToVideo
from reelbook.models.problems import MAX_PROBLEMS
from reelbook.models.smart_resize import Size, SmartResize
from reelbook.models.text_to_video import TextToVideo
from tests.models.near import values_near
from tests.spec import tables
from tests.support import once_each

MESSAGES: list[tuple[type[Input], dict[str, Any], str]] = [
    (TextToVideo, {"num_frames": 5}, "`num_frames` = 5 is outside 9 to 1441. The nearest allowed value is 9."),
    (TextToVideo, {"num_frames": "49"}, "`num_frames` needs a whole number, not '49' (str). Did you mean 49?"),
    (TextToVideo, {"num_frames": "5"}, "`num_frames` needs a whole number, not '5' (str). Did you mean 9?"),
    (TextToVideo, {"num_frames": 49.5}, "`num_frames` needs a whole number, not 49.5 (float). Did you mean 50?"),
    (TextToVideo, {"num_frames": True}, "`num_frames` needs a whole number, not True (bool)."),
    (TextToVideo, {"num_frames": None}, "`num_frames` needs a whole number, not nothing (null)."),
    (TextToVideo, {"frame_rate": 10**400}, "`frame_rate` = a very long number is outside 1 to 60. The nearest allowed value is 60."),
    (TextToVideo, {"second_pass_skip_initial_steps": 8}, "`second_pass_skip_initial_steps` = 8 must be less than `second_pass_num_inference_steps` = 8, or the second pass has nothing to do. The nearest allowed value is 7."),
    (TextToVideo, {"temporal_adain_factor": 0.33}, "`temporal_adain_factor` = 0.33 is not a multiple of 0.05. The nearest allowed value is 0.35."),
    (TextToVideo, {"temporal_adain_factor": "0.33"}, "`temporal_adain_factor` needs a number, not '0.33' (str). Did you mean 0.35?"),
    (TextToVideo, {"tone_map_compression_ratio": math.nan}, "`tone_map_compression_ratio` needs a finite number, not nan (float)."),
    (TextToVideo, {"resolution": "1080p"}, "`resolution` = '1080p' is not one of '480p', '720p'. Did you mean '720p'?"),
    (TextToVideo, {"resolution": 500}, "`resolution` = 500 is not one of '480p', '720p'. Did you mean '480p'?"),
    (TextToVideo, {"aspect_ratio": "16x9"}, "`aspect_ratio` = '16x9' is not one of '9:16', '1:1', '16:9'. Did you mean '16:9'?"),
    (TextToVideo, {"expand_prompt": 1}, "`expand_prompt` needs True or False, not 1 (int)."),
    (TextToVideo, {"reverse_video": "false"}, "`reverse_video` needs True or False, not 'false' (str)."),
    (TextToVideo, {"prompt": 5}, "`prompt` needs text, not 5 (int)."),
    (TextToVideo, {"prompt": None}, "`prompt` needs text, not nothing (null)."),
    (TextToVideo, {"prompt": "\ud800"}, r"`prompt` needs text that can be written as UTF-8, not '\ud800' (str)."),
    (TextToVideo, {"loras": ["watercolour"]}, "`loras[0]` needs an object with its fields, not 'watercolour' (str)."),
    (TextToVideo, {"loras": [{"path": "a", "weight": "b"}]}, "There is no field `weight` of `loras[0]`. Did you mean `weight_name`?"),
    (TextToVideo, {"frames": 49}, "There is no field `frames`. Did you mean `num_frames`?"),
    (ImageToVideo, {"duration": 5}, "`duration` = 5 is not one of '5', '10'. Did you mean '5'?"),
    (ImageToVideo, {"prompt": "a" * 2501}, "`prompt` needs at most 2,500 characters and has 2,501."),
    (ImageToVideo, {"cfg": 0.5}, "There is no field `cfg`. The fields are: cfg_scale, duration, image_url, negative_prompt, prompt."),
    (SmartResize, {"target_sizes": []}, "`target_sizes` needs at least 1 entry and has 0."),
    (SmartResize, {"target_sizes": ["300x600"] * 101}, "`target_sizes` needs at most 100 entries and has 101."),
    (SmartResize, {"target_sizes": ["8x600"]}, "`target_sizes[0]` = '8x600': no canvas covers it: a side is 16 to 6336 pixels long, and the largest canvas has 4800x3584. The nearest allowed value is 16x600."),
    (SmartResize, {"target_sizes": ["1080 by 1920"]}, "`target_sizes[0]` = '1080 by 1920': a size is written <width>x<height>, such as 1080x1920."),
    (SmartResize, {"target_sizes": ["large"]}, "`target_sizes[0]` = 'large': a size is written <width>x<height>, such as 1080x1920."),
    (SmartResize, {"target_sizes": ["6000x6000"]}, "`target_sizes[0]` = '6000x6000': no canvas covers it: a side is 16 to 6336 pixels long, and the largest canvas has 4800x3584. The nearest allowed value is 4096x4096."),
    (SmartResize, {"output_format": "jpg"}, "`output_format` = 'jpg' is not one of 'jpeg', 'png', 'webp'. Did you mean 'jpeg'?"),
    (ImagesToVideo, {"images": "b.png"}, "`images` needs a list and has one picture: put it in brackets."),
    (ImagesToVideo, {"images": [{"url": "b", "frames": 60000}] * 2}, "`images` add up to 120,000 frames; one video holds 100,000 at most. Hold them shorter, or make several videos."),
    (ImagesToVideo, {"fps": "24"}, "`fps` needs a number, not '24' (str). Did you mean 24.0?"),
]  # fmt: skip
"""Bad values, and the sentence that a person gets: the field, the value, what is allowed, and the nearest of it."""

SMALLEST: dict[type[Input], dict[str, Any]] = {
    row.input: tables.smallest(tables.model(row.id).input) for row in CATALOG
}


def problems(kind: type[Input], values: dict[str, Any]) -> tuple[Problem, ...]:
    """The problems of an input that is in order but for these values."""
    with pytest.raises(InvalidInput) as caught:
        kind(**{**SMALLEST[kind], **values})
    return caught.value.problems


@pytest.mark.parametrize(("kind", "values", "message"), MESSAGES, ids=lambda value: None if callable(value) else str(value)[:60])  # fmt: skip
def test_a_bad_value_gets_a_sentence_that_helps(kind: type[Input], values: dict[str, Any], message: str) -> None:
    """Field, value, bounds, and the nearest value that would do; word for word."""
    (problem,) = problems(kind, values)

    assert problem.message == message


def refusal(kind: type[Input], values: dict[str, Any]) -> InvalidInput | None:
    """The error that values raise; None where they make an input, which then can be shown and sent."""
    try:
        request = kind(**values)
    except InvalidInput as error:
        return error
    assert repr(request)
    assert request.wire() is not None
    return None


@pytest.mark.parametrize("row", CATALOG, ids=lambda row: row.input.__name__)
def test_the_nearest_allowed_value_is_allowed(row: Endpoint) -> None:
    """Who takes the advice has a valid input at the first attempt."""
    advised = 0

    for whole in values_near(row.input.model_json_schema(), 0, 800):
        error = refusal(row.input, whole)
        if error is None or any(problem.nearest is None for problem in error.problems):
            continue
        for problem in error.problems:
            place: Any = whole
            for step in problem.loc[:-1]:
                place = place[step]
            place[problem.loc[-1]] = problem.nearest
        again = refusal(row.input, whole)
        # Rules of several fields are judged once each of them is right.
        later = {"too_many_frames", "skip_too_large"} - {problem.kind for problem in error.problems}
        assert again is None or {problem.kind for problem in again.problems} <= later
        advised += 1

    assert advised >= 5


# Hostile values.


class Quarrelsome:
    """An object that breaks whatever it is asked."""

    def _broken(self, *_: Any) -> Any:
        raise RuntimeError("no")

    __eq__ = __bool__ = __index__ = __int__ = __float__ = __iter__ = __len__ = __repr__ = __str__ = __hash__ = _broken


def nested(wrap: Callable[[Any], Any]) -> Any:
    """A value a thousand levels deep."""
    value: Any = 1
    for _ in range(1000):
        value = wrap(value)
    return value


HOSTILE: dict[str, Callable[[], Any]] = {
    "a huge number": lambda: -(10**4000),
    "not a number": lambda: math.nan,
    "a long text of halves": lambda: "\udfff" * 100_000,
    "a text of 10 MB": lambda: "x" * 10_000_000,
    "10 MB of bytes": lambda: b"\xff" * 10_000_000,
    "deep lists": lambda: nested(lambda value: [value]),
    "deep objects": lambda: nested(lambda value: {"a": value}),
    "a quarrelsome object": Quarrelsome,
    "a list of quarrelsome objects": lambda: [Quarrelsome(), [Quarrelsome()]],
    "a long list of numbers": lambda: list(range(20_000)),
    "a long list of texts of 1 MB": lambda: ["x" * 1_000_000] * 20,
    "an object of 50,000 fields": lambda: {f"field{place}": place for place in range(50_000)},
    "sizes that cannot be written": lambda: [Size(-(10**5000), 10**5000), (10**5000, 1), {1, 2}, "9" * 100_000 + "x1"],
    "a type": lambda: int,
    "a generator that breaks": lambda: (1 / 0 for _ in range(3)),
}


def named(case: Any) -> str:
    """What a case of the next test is called: by its model and its value."""
    return str(next((name for name, make in HOSTILE.items() if make is case), None) or case.input.__name__)


@pytest.mark.parametrize(("row", "hostile"), once_each(CATALOG, list(HOSTILE.values())), ids=named)
def test_a_hostile_value_is_refused_in_a_short_sentence_and_soon(row: Any, hostile: Callable[[], Any]) -> None:
    """Whatever comes for whichever field: it is taken, or InvalidInput is raised, with few words, and can be pickled."""
    model = tables.model(row.id)
    taken = 0

    for name in [*row.input.model_fields, "bogus"]:
        values = {**tables.smallest(model.input), name: hostile()}
        started = time.process_time()

        error = refusal(row.input, values)

        assert time.process_time() - started < 3
        if error is None:
            taken += 1
        else:
            assert 10 < len(str(error)) <= 2_100
            assert repr(pickle.loads(pickle.dumps(error)).problems) == repr(error.problems)
            assert json.dumps([dataclasses.astuple(problem) for problem in error.problems], ensure_ascii=False).encode()
    assert taken < len(row.input.model_fields)


@pytest.mark.parametrize("name", ["x" * 10_000_000, "\ud800", "", "a`b", "prompt\n", "<script>", "{0}", "%s"], ids=lambda name: ascii(name[:10]))  # fmt: skip
def test_a_hostile_name_is_refused_in_a_short_sentence(name: str) -> None:
    """A field's name comes from outside as well."""
    started = time.process_time()

    (problem,) = problems(TextToVideo, {name: 1})

    assert time.process_time() - started < 1
    assert problem.kind in ("extra_forbidden", "string_unicode")
    assert len(problem.message) < 600
    assert problem.message.isprintable()


def test_a_million_problems_are_not_all_told() -> None:
    """The first hundred are worded, the rest is counted, and a person sees as many as fit on a page."""
    with pytest.raises(InvalidInput) as caught:
        TextToVideo(prompt="a", **{f"field{place}": 1 for place in range(20_000)})
    error = caught.value

    assert len(error.problems) == MAX_PROBLEMS + 1
    assert error.problems[-1].message == "19,900 more problems are not listed. Fix these first."
    assert len(str(error)) < 2_100
    assert "91 more are not listed; fix these first" in str(error)
