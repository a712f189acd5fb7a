"""Judgements in a library: none is lost, and merged ones come once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from reelbook.storage.judgements import Answer, Judgement, Kind
from tests.storage.made import BOAT, Made

ONE = Judgement("ana", "Which?", Kind.PAIRS, "clip 1", "clip 2", Answer.LEFT, 1.5)


def read(made: Made) -> list[tuple[str, str]]:
    return [(judgement.rater, judgement.answer) for judgement in made.library.judgements.read()]


def test_a_judgement_comes_back_as_it_was_stored(made: Made) -> None:
    """With the time and a mark; of one question, and only if all its clips are asked for."""
    store = made.library.judgements
    store.add(ONE)
    store.add(replace(ONE, question="Another?", kind=Kind.STARS, second=None, answer="4", seconds=None))

    (found,) = store.read("Which?", {"clip 1", "clip 2"})

    assert replace(found, at=0.0, mark="", id=0) == ONE
    assert found.at > 0
    assert len(found.mark) == 32
    assert store.read("Which?", {"clip 1", "clip 3"}) == []
    assert [judgement.answer for judgement in store.read()] == ["left", "4"]


def test_undo_takes_back_the_last_of_the_rater(made: Made) -> None:
    """Among the clips that are judged now."""
    store = made.library.judgements
    for judgement in (ONE, replace(ONE, answer=Answer.TIE), replace(ONE, rater="ben"), replace(ONE, first="clip 9")):
        store.add(judgement)

    undone = [store.undo("ana", "Which?", ["clip 1", "clip 2"]) for _ in range(3)]

    assert [one and one.answer for one in undone] == ["tie", "left", None]
    assert read(made) == [("ben", "left"), ("ana", "left")]


def test_judgements_come_with_an_adopted_library(make: Callable[[str], Made]) -> None:
    """Once, however often it is adopted."""
    ours, theirs = make("ours"), make("theirs")
    theirs.stored(BOAT, request_id="clip 1")
    for judgement in (ONE, replace(ONE, answer=Answer.RIGHT)):
        theirs.library.judgements.add(judgement)
    ours.library.judgements.add(replace(ONE, rater="ben"))

    first = ours.library.adopt(theirs.library)
    second = ours.library.adopt(theirs.library)

    assert "and 2 judgements came from" in first
    assert "and 0 judgements came from" in second
    assert sorted(read(ours)) == [("ana", "left"), ("ana", "right"), ("ben", "left")]
