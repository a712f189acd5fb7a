"""The judging below a race's card, without a page: when its panel comes, is drawn anew, and goes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import reelbook as rb
from reelbook.client import Client
from reelbook.widgets.judge import RaceJudging
from reelbook.widgets.link import EMPTY
from tests.support import png

DOT = rb.ImagesToVideo(images=[rb.Frame(url=png(16, 16), frames=2)])


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    """The embedded service with a library of its own."""
    with rb.connect(library=tmp_path / "library") as client:
        yield client


def make_race(ratings: Any, *, awaited: int, rounds: int, is_done: bool = False) -> Any:
    """What the judging reads of a race."""
    return SimpleNamespace(
        is_done=is_done, ratings=ratings, progress=SimpleNamespace(awaited=awaited, rounds=rounds, is_judged=True)
    )


def test_the_panel_comes_with_the_clips_and_is_left_alone_while_somebody_judges(client: Client) -> None:
    """No panel before there are clips; one for all rounds; another one only where nothing was left to judge; none at the end."""
    ratings = rb.judge(rb.sweep(DOT, fps=[2, 3]).run(), rater="ana")
    updates: list[dict[str, Any]] = []
    judging = RaceJudging(updates.append)

    judging.follow(make_race(None, awaited=0, rounds=1))
    assert updates == []
    judging.follow(make_race(ratings, awaited=1, rounds=1))
    judging.follow(make_race(ratings, awaited=1, rounds=1))
    assert len(updates) == 1
    link = judging._link
    assert link is not None
    assert link.key in updates[0]["text/html"]

    ratings.replace_table(rb.judge(rb.sweep(DOT, fps=[2, 3, 4]).run(), rater="ana"))
    judging.follow(make_race(ratings, awaited=2, rounds=2))
    assert len(updates) == 1
    assert len(link.numbers) == 3

    while (pair := ratings.next_pair()) is not None and len(ratings.frame) < 3:
        ratings.judge(pair.left, pair.right, "left")
    link._queue.clear()
    link._is_ended = True
    judging.follow(make_race(ratings, awaited=2, rounds=3))
    assert len(updates) == 2
    judging.follow(make_race(ratings, awaited=0, rounds=3, is_done=True))
    assert updates[2] == EMPTY
    judging.follow(make_race(ratings, awaited=0, rounds=3, is_done=True))
    assert len(updates) == 3
