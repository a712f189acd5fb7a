"""What a race says of itself: its outcome, why it has ended, what is missing, and what its figures assume."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from statistics import pstdev
from typing import Any

from ...models.problems import format_literal
from ...util.printable import format_count
from .standing import Contender, RaceProgress, RaceState

FAINT_SHARE = 0.25
"""Settings whose estimates differ by less than this share of the noise are said to differ little."""
RIVAL_CHANCE = 0.05
"""Settings with this chance at least to be the best are counted as rivals of those in front."""
MAX_ERROR_LENGTH = 240


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
class Facts:
    """What the sentences depend on besides the progress."""

    end: End
    reason: str
    first_error: str
    without: int
    """Completed runs for which `by` gave no number."""
    noise: float | None
    is_constant: bool
    """Whether all scores are equal, of at least two runs."""
    has_repeats: bool
    block: str
    """What may shift all settings alike: the prompt or the seed; empty for nothing."""
    is_draft: bool
    is_mix: bool


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


def make_findings(progress: RaceProgress, facts: Facts) -> tuple[str, ...]:
    """The outcome first, then the reason of the end, then what limits it."""
    is_done = progress.state == RaceState.DONE
    sentences = [_format_outcome(progress, facts, is_done=is_done)]
    if is_done:
        sentences += [_format_end(progress, facts), _format_variation(progress, facts)]
    if progress.state == RaceState.JUDGING:
        count = format_count(progress.awaited, "more judgement")
        sentences.insert(
            0, f"Waiting for {count}: judge below, or in a cell with race.ratings. The race goes on by itself."
        )
    failed = sum(one.failed for one in progress.contenders)
    if failed and any(one.runs for one in progress.contenders):
        sentences.append(
            f"{format_count(failed, 'run')} gave no score; a setting without any after two runs is given up."
        )
    return tuple(filter(None, sentences))


def make_assumptions(progress: RaceProgress, facts: Facts) -> tuple[str, ...]:
    """What the figures assume, in small print."""
    found = []
    if progress.is_judged:
        found.append(
            "Scores are on the scale of a judge's preference: one that is 1.1 higher is preferred three times of four."
        )
    elif facts.is_mix:
        found.append(
            "Each part of the score is divided by its standard deviation over the runs so far; higher is better."
        )
    else:
        found.append("Higher is better.")
    if len(progress.axes) > 1:
        found.append(
            "A setting's score is taken as the sum of what its values, their pairs and the setting itself add, with the same "
            "noise everywhere."
        )
    else:
        found.append("There is one axis only, so that each setting is judged mostly by its own runs.")
    if facts.block:
        found.append(f"A {facts.block} may shift all settings alike; a setting is judged over several.")
    if not facts.has_repeats:
        found.append(
            "Each setting can be run only once in this plan, so that luck cannot be told from merit: seed=range(4) in the "
            "sweep would."
        )
    if facts.is_draft:
        found.append("Drafts are taken to rank the settings as the real runs would.")
    found.append("Intervals hold 90%.")
    return tuple(found)


def _format_outcome(progress: RaceProgress, facts: Facts, *, is_done: bool) -> str:
    leaders = [one for one in progress.contenders if one.runs][: progress.keep]
    if not leaders or progress.chance is None:
        return ""
    names = "; ".join(format_setting(one.values) for one in leaders)
    what = "the best" if progress.keep == 1 else f"among the best {progress.keep}"
    chance = format_chance(progress.chance)
    if facts.is_constant:
        return "Undecided: all runs have the same score." if is_done else "All runs have the same score so far."
    if progress.is_decided:
        return f"Decided: {names}. The chance to be {what} is {chance}{'' if progress.keep == 1 else ' or more'}."
    least = "" if progress.keep == 1 else "each at least "
    if is_done:
        lead = "leads" if progress.keep == 1 else "lead"
        rivals = sum((one.chance or 0.0) >= RIVAL_CHANCE for one in progress.contenders) - progress.keep
        open_ = f" {format_count(rivals, 'other setting')} may be as good." if rivals > 0 else ""
        return f"Undecided: {names} {lead}, {least}with a chance of {chance} to be {what}; {progress.sure:.0%} was asked for.{open_}"
    return f"In front: {names}; the chance to be {what} is {chance}, and {progress.sure:.0%} ends the race."


def _format_end(progress: RaceProgress, facts: Facts) -> str:
    tried = sum(bool(one.runs) for one in progress.contenders)
    match facts.end:
        case End.NO_SCORES:
            return _format_no_scores(progress, facts)
        case End.BUDGET:
            budget = "" if progress.budget is None else f" of {format_count(progress.budget, 'credit')}"
            left = len(progress.contenders) - tried
            untried = f" {format_count(left, 'setting')} {'was' if left == 1 else 'were'} not tried." if left else ""
            return f"The budget{budget} allows no further run; with a larger one the race goes on from here.{untried}"
        case End.COMPLETE:
            return "Every run of the plan is made. More seeds or prompts in the plan would make it surer."
        case End.CANCELLED:
            return "It was stopped. The same call goes on from here, and pays for nothing twice."
        case End.STOPPED:
            return f"It has stopped: {facts.reason}"
    return ""


def _format_no_scores(progress: RaceProgress, facts: Facts) -> str:
    if progress.is_judged:
        return "No clip was judged, so there is nothing to compare."
    if facts.without:
        return (
            f"None of the {facts.without:,} completed runs has a number by {progress.score}, so there is nothing to compare: "
            "judge by another measure."
        )
    error = facts.first_error[:MAX_ERROR_LENGTH]
    first = f" The first error: {error.rstrip('.')}." if error else ""
    return (
        f"All {format_count(progress.runs, 'run')} failed, so there is nothing to compare.{first} "
        "With retry_failed=True they are tried again."
    )


def _format_variation(progress: RaceProgress, facts: Facts) -> str:
    if facts.is_constant:
        return "Nothing can be told apart by it: judge by another measure, or vary more."
    means = [one.mean for one in progress.contenders if one.mean is not None and one.runs]
    if progress.is_decided or len(means) < 2 or facts.noise is None or not _is_faint(progress.contenders, facts.noise):
        return ""
    if progress.is_judged:
        return "The answers hardly favour any setting: they fit chance about as well. More judges, or a clearer question, may help."
    return "The settings differ by less than repeats of one setting do: any of those in front will do about as well."


def _is_faint(contenders: tuple[Contender, ...], noise: float) -> bool:
    means = [one.mean for one in contenders if one.mean is not None and one.runs]
    return pstdev(means) < FAINT_SHARE * noise
