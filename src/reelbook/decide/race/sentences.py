"""What a race says of itself: a snapshot for displays, and in sentences its outcome, its end, and what its figures assume."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ...models.problems import format_literal
from ...util.printable import format_count

RIVAL_CHANCE = 0.05
"""Settings with this chance at least to be the best are counted as rivals of the one in front."""
MIN_LEADER_RUNS = 2
"""Runs that the leading setting needs before a race may stop because it is sure."""
MAX_ERROR_LENGTH = 240


class RaceState(StrEnum):
    """What a race is doing."""

    PREPARING = "preparing"
    RUNNING = "running"
    SCORING = "scoring"
    JUDGING = "waiting for judgements"
    FINAL = "making the final run"
    STOPPING = "stopping"
    DONE = "done"


class End(StrEnum):
    """Why a race has ended."""

    NONE = "none"
    SURE = "sure"
    BUDGET = "budget"
    COMPLETE = "complete"
    CANCELLED = "cancelled"
    NO_SCORES = "no scores"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Contender:
    """One setting in the ranking of a race."""

    number: int
    values: Mapping[str, Any]
    mean: float | None
    """The estimated score; None if nothing is known."""
    low: float | None
    high: float | None
    chance: float | None
    """The chance to be the best; None before the first score."""
    runs: int
    """The number of runs with a score."""
    failed: int
    """The number of runs without one."""
    credits: int
    """What its runs have cost, or may have cost."""


@dataclass(frozen=True, slots=True)
class RaceProgress:
    """A snapshot of the state of a race."""

    state: RaceState
    axes: tuple[str, ...]
    contenders: tuple[Contender, ...]
    """All settings, the best first."""
    score: str
    """What runs are judged by, in words."""
    is_judged: bool
    """Whether a person judges."""
    rounds: int
    runs: int
    """The number of runs tried."""
    repeats: int
    """The number of runs of the whole plan."""
    free: int
    """The number of those that were in the library when the race was started, so that they cost nothing."""
    spent: int
    """What all runs of the plan, drafts and final, have cost or may have cost, in this session and before."""
    earlier: int
    """The part of it from before the race was first started, which does not count against the budget."""
    spent_now: int
    """The part of it since the race was last started."""
    budget: int | None
    """The most that the race may spend from its first start on."""
    whole: int | None
    """The price of the whole plan; None if it is unknown."""
    sure: float
    chance: float | None
    """The chance that the leader is the best; None before the first score."""
    is_decided: bool
    elapsed: float
    round_runs: int = 0
    """The runs of the current round."""
    round_done: int = 0
    """Those of them that have ended."""
    awaited: int = 0
    """The judgements that the race waits for."""
    end: End = End.NONE
    reason: str = ""
    """What stopped the race, if it has stopped."""
    first_error: str = ""
    without: int = 0
    """Completed runs for which `by` gave no number."""
    is_constant: bool = False
    """Whether all scores are equal, of at least two runs."""
    has_repeats: bool = True
    block: str = ""
    """What may shift all settings alike: the prompt or the seed; empty for nothing."""
    is_draft: bool = False
    is_mix: bool = False

    @property
    def saved(self) -> int | None:
        """Credits that the whole plan would cost beyond what was spent; 0 while nothing is decided, None without a price."""
        return None if self.whole is None else max(self.whole - self.spent, 0) if self.is_decided else 0

    @property
    def leader(self) -> Contender | None:
        """The setting with the highest chance; None before the first score."""
        return self.contenders[0] if self.chance is not None else None

    @property
    def findings(self) -> tuple[str, ...]:
        """Sentences: the outcome, why the race has ended, what is missing, and what to do."""
        judge = f"Judge {format_count(self.awaited, 'more pair')}, and the race continues by itself."
        failed = sum(contender.failed for contender in self.contenders)
        dropped = f"{format_count(failed, 'run')} gave no score; a setting with none after two runs is dropped."
        sentences = (
            judge if self.state == RaceState.JUDGING else "",
            _format_outcome(self),
            _format_end(self) if self.state == RaceState.DONE else "",
            dropped if failed and any(contender.runs for contender in self.contenders) else "",
        )
        return tuple(filter(None, sentences))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Sentences on what the figures assume, and what the budget is."""
        scale = "Higher is better."
        if self.is_judged:
            scale = "A setting whose score is 1.1 higher is preferred three times out of four."
        elif self.is_mix:
            scale = (
                "Each part of the score is divided by its standard deviation over the runs so far; higher is better."
            )
        rules = (
            (self.budget is not None, "The budget is the most that the race spends from its first start on; what the library held then costs nothing, and is used first."),
            (True, scale),
            (True, "A setting's score is modelled as the sum of the effects of its values, of their pairs and of the setting itself, with equal noise."),
            (bool(self.block), f"A {self.block} may shift all settings alike, so each setting is judged over several."),
            (not self.has_repeats, "Each setting can be run only once in this plan, so luck cannot be told from merit. Add seed=range(4) to the sweep."),
            (self.is_draft, "Drafts are assumed to rank the settings as the real runs would."),
            (True, "Intervals hold 90%."),
        )  # fmt: skip
        return tuple(sentence for applies, sentence in rules if applies)


def format_setting(values: Mapping[str, Any]) -> str:
    """The values of a setting in one line.

    >>> format_setting({"num_frames": 97, "resolution": "480p"})
    'num_frames 97, resolution 480p'
    """
    return ", ".join(
        f"{name} {value if isinstance(value, str) else format_literal(value, 60)}" for name, value in values.items()
    )


def format_chance(chance: float) -> str:
    """A chance in percent, never rounded to certainty.

    >>> format_chance(0.574), format_chance(0.998), format_chance(0.001)
    ('57%', '>99%', '<1%')
    """
    if chance < 0.005:
        return "<1%"
    return ">99%" if chance >= 0.995 else f"{chance:.0%}"


def _format_outcome(progress: RaceProgress) -> str:
    leader = progress.leader
    if leader is None or progress.chance is None or not any(contender.runs for contender in progress.contenders):
        return ""
    is_done = progress.state == RaceState.DONE
    if progress.is_constant and is_done:
        return "Undecided: all runs have the same score. Choose another measure, or vary more."
    if progress.is_constant:
        return "All runs have the same score so far."
    name, chance = format_setting(leader.values), format_chance(progress.chance)
    if progress.is_decided:
        return f"Decided: {name}. The chance to be the best is {chance}."
    lead = f"{name} leads, with a {chance} chance of being the best"
    if not is_done:
        return f"So far {lead}; {progress.sure:.0%} ends the race."
    is_unsure = progress.chance < progress.sure
    need = f"{progress.sure:.0%} was required" if is_unsure else f"a decision takes {MIN_LEADER_RUNS} runs of it"
    untried = "" if leader.runs else " That is predicted from its values: it was not run."
    rivals = sum((contender.chance or 0.0) >= RIVAL_CHANCE for contender in progress.contenders) - 1
    others = f" {format_count(rivals, 'other setting')} may be as good." if rivals > 0 else ""
    return f"Undecided: {lead}; {need}.{untried}{others}"


def _format_end(progress: RaceProgress) -> str:
    left = sum(not contender.runs and not contender.failed for contender in progress.contenders)
    untried = f" {format_count(left, 'setting')} {'was' if left == 1 else 'were'} not tried." if left else ""
    error = f" The first error: {progress.first_error[:MAX_ERROR_LENGTH].rstrip('.')}." if progress.first_error else ""
    match progress.end:
        case End.NO_SCORES if progress.is_judged:
            return "No clip was judged, so there is nothing to compare."
        case End.NO_SCORES if progress.without:
            return (
                f"None of the {progress.without:,} completed runs has a number by {progress.score}, so there is nothing to compare: "
                "judge by another measure."
            )
        case End.NO_SCORES:
            return (
                f"All {format_count(progress.runs, 'run')} failed, so there is nothing to compare.{error} "
                "With retry_failed=True they are tried again."
            )
        case End.BUDGET if not progress.budget:
            return "The budget is 0 credits, so it used only results from the library."
        case End.BUDGET:
            budget = format_count(progress.budget or 0, "credit")
            return (
                f"The budget of {budget} allows no more runs; with a larger one the race continues from here.{untried}"
            )
        case End.COMPLETE:
            return "Every run of the plan has been made. More seeds or prompts would make it more certain."
        case End.CANCELLED:
            return "It was stopped. The same call continues from here, and pays for nothing twice."
        case End.STOPPED:
            return f"It has stopped: {progress.reason}"
    return ""
