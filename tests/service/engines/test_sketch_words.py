"""What the sketch engine understands of a prompt, and that it can paint all of it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reelbook.models.text_to_video import TextToVideo
from reelbook_service.engines.saliency import labels_of
from reelbook_service.engines.sketch import sky, stage
from reelbook_service.engines.sketch.figures import FIGURES
from reelbook_service.engines.sketch.noise import cloudy
from reelbook_service.engines.sketch.words import TABLE, scene_of
from tests.support import deep
from tests.tools.sketch_sheet import finished_painter

ACTORS = {kind: figure.words for kind, figure in FIGURES.items() if figure.words}
PLACES = TABLE["place"]


@pytest.fixture(autouse=True)
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each side is painted at half of its length."""
    monkeypatch.setattr(stage, "PAINTED", 240 * 240)


def painted(prompt: str, moment: int = 0, seed: int = 7, **fields: Any) -> NDArray[np.float32]:
    """One frame as it is painted."""
    asked = TextToVideo(prompt=prompt, resolution="480p", aspect_ratio="1:1", **fields)
    return np.asarray(finished_painter(asked, seed).frame(moment), np.float32)


def red(frame: NDArray[np.float32]) -> NDArray[np.bool_]:
    return np.asarray(
        (frame[..., 0] > 110) & (frame[..., 0] > 1.7 * frame[..., 1]) & (frame[..., 0] > 1.7 * frame[..., 2])
    )


@pytest.mark.parametrize(
    ("word", "count", "seed"),
    [
        *[("one", 1, 1), ("three", 3, 2), ("5", 5, 3)],
        *deep(("one", 1, 2), ("one", 1, 3), ("three", 3, 1), ("three", 3, 3), ("5", 5, 1), ("5", 5, 2)),
    ],
)
def test_three_red_balloons_are_three_red_balloons(word: str, count: int, seed: int) -> None:
    """As many red patches are in the sky as the prompt counts."""
    noun = "balloon" if count == 1 else "balloons"

    frame = painted(f"{word} red {noun} in the sky", moment=30, seed=seed)

    sizes = np.bincount(labels_of(red(frame)).ravel())[1:]
    assert (sizes >= 38).sum() == count


def test_a_figure_goes_where_the_prompt_says_and_as_fast() -> None:
    """Two seconds later the boat is further to the side that was named, and much further if the prompt says fast."""

    def way(motion: str) -> float:
        prompt = f"a red boat {motion} on the sea"
        early, late = (float(np.nonzero(red(painted(prompt, moment)))[1].mean()) for moment in (0, 48))
        return late - early

    assert way("sails left") < -5
    assert way("sails right fast") > 2 * way("sails right slowly") > 0


@pytest.mark.parametrize(
    ("prompt", "place"),
    [
        ("a gull", "bird"), ("a ship at sea", "ship"), ("two sailboats", "boat"), ("kittens", "cat"), ("a bicycle", "bicycle"),
        ("butterflies", "butterfly"), ("children", "person"), ("wolves", "dog"), ("⛵", "boat"), ("红气球", "balloon"),
        ("a hot air balloon", "hot-air-balloon"), ("a paper boat", "paper-boat"), ("a street lamp", "lamp"),
    ],
)  # fmt: skip
def test_many_words_name_one_figure(prompt: str, place: str) -> None:
    """Synonyms, plurals, emoji and a few words of other languages lead to the same figure."""
    assert [actor.kind for actor in scene_of(prompt).actors] == [place]


def test_words_belong_to_the_next_noun_and_a_second_mention_to_the_first() -> None:
    """Each noun gets its own colours, count and size; what is mentioned again is the same thing."""
    cat, dogs, kite = scene_of("a big black cat, two small brown dogs and a yellow and blue kite").actors
    scene = scene_of("a boat and a bird; the boat sails left")

    assert (cat.kind, cat.count, cat.colours) == ("cat", 1, ("black",))
    assert (dogs.kind, dogs.count, dogs.colours) == ("dog", 2, ("brown",))
    assert (kite.kind, kite.count, kite.colours) == ("kite", 1, ("yellow", "blue"))
    assert cat.size > 1 > dogs.size
    assert [(actor.kind, actor.heading) for actor in scene.actors] == [("boat", "left"), ("bird", "")]


def test_figures_stand_where_they_belong_and_places_combine() -> None:
    """Fish are under water, a car is on a road, when nothing else is said; a mountain lake in winter is a lake among mountains."""
    grounds = {
        "fish": "seabed",
        "car": "street",
        "rocket": "none",
        "candle": "floor",
        "boat": "water",
        "snowman": "snow",
    }
    assert {kind: scene_of(f"a {kind}").ground for kind in grounds} == grounds

    scene = scene_of("a lake in snowy mountains at dawn")
    assert (scene.ground, scene.time, scene.season) == ("water", "dawn", "winter")
    assert "mountains" in scene.backdrops


def test_weather_words_act_and_negative_words_take_them_back() -> None:
    """Rain, snow, fog and clouds come with their words and go with their denial."""
    assert "rain" in scene_of("a lake in the rain").weather
    assert "rain" not in scene_of("a lake in the rain", "rain").weather
    assert "rain" not in scene_of("a lake without rain").weather
    assert scene_of("a cloudy sky").clouds > scene_of("a sky").clouds
    assert scene_of("a sky", "clouds").clouds == 0
    assert scene_of("a lake with birds", "birds").actors == ()
    empty = scene_of("no people, an empty beach")
    assert (empty.actors, empty.ground) == ((), "beach")
    assert scene_of("a golden star in a meadow", "star").actors == ()


STRANGE = {
    "empty": "", "unknown": "zorblax of quixotic frobnication", "emoji": "🦜🤷", "chinese": "一个奇怪的句子没有船",
    "one long word": "x" * 100_000, "many words": "balloon " * 12_500, "digits": "9" * 5000, "controls": "\0\n\t",
}  # fmt: skip


@pytest.mark.parametrize("prompt", STRANGE.values(), ids=STRANGE)
def test_any_text_gives_a_pleasant_picture_quickly(prompt: str) -> None:
    """Neither black nor white nor flat, and not long in the making."""
    before = time.process_time()

    frame = painted(prompt)

    assert time.process_time() - before < 3
    assert 25 < frame.mean() < 230
    assert frame.std() > 12


@pytest.fixture
def thumbnails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is painted small, under the same clouds: enough to see that it can be."""
    monkeypatch.setattr(stage, "PAINTED", 100 * 100)
    monkeypatch.setattr(sky, "cloudy", lambda key, slope: cloudy("one for all", slope))


QUICK = {"num_frames": 9, "first_pass_num_inference_steps": 2, "second_pass_num_inference_steps": 2, "second_pass_skip_initial_steps": 1}  # fmt: skip
"""As short as a clip may be, and hardly sampled; what is painted does not depend on it."""


@pytest.mark.usefixtures("thumbnails")
@pytest.mark.parametrize(("first", "step"), [(0, 9), *deep((0, 3), (1, 3), (2, 3))])
def test_every_figure_is_seen(monkeypatch: pytest.MonkeyPatch, first: int, step: int) -> None:
    """With the noun the picture differs from the one in which the negative prompt took it out."""
    monkeypatch.setattr(stage, "PAINTED", 150 * 150)
    unseen = []
    for kind, words in [*ACTORS.items()][first::step]:
        prompt = f"a {words.split()[0].replace('-', ' ')} in a meadow"
        difference = np.abs(painted(prompt, 8, **QUICK) - painted(prompt, 8, negative_prompt=kind, **QUICK)).max(axis=2)
        if (difference > 24).sum() < 20:
            unseen.append(kind)

    assert unseen == []


@pytest.mark.usefixtures("thumbnails")
@pytest.mark.parametrize("step", [3, *deep((1,))])
def test_every_place_can_be_painted_and_looks_different(step: int) -> None:
    """No two places give the same picture."""
    frames = {name: painted(name, 8, **QUICK) for name in [*PLACES][::step]}

    names = list(frames)
    alike = [
        (first, second)
        for index, first in enumerate(names)
        for second in names[index + 1 :]
        if np.abs(frames[first] - frames[second]).mean() < 2
    ]
    assert alike == []
