"""Errors of races."""

from __future__ import annotations

from ...errors import InvalidInput, Problem, ReelbookError


class RaceStopped(ReelbookError):
    """A race that cannot go on, because a run cannot be scored. What is paid for is in the library."""


class RaceUnfinished(ReelbookError, TimeoutError):
    """The wait ended before the race, which continues."""

    def __init__(self, rounds: int, runs: int, waited: float) -> None:
        super().__init__(rounds, runs, waited)
        self.rounds, self.runs, self.waited = rounds, runs, waited

    def __str__(self) -> str:
        return (
            f"After {self.waited:g} s the race is in round {self.rounds}, with {self.runs:,} runs. It goes on: wait() again, "
            "look at race.panel, or cancel() it."
        )


def race_error(sentence: str, kind: str) -> InvalidInput:
    """The error for a race that cannot begin.

    >>> str(race_error("`keep` is 0.", "keep"))
    'race: `keep` is 0.'
    """
    return InvalidInput("race", [Problem((), sentence, kind)])
