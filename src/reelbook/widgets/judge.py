"""The panel of `rb.judge` in a notebook: which clips come next, their files, and the answers of the person before it."""

from __future__ import annotations

import hashlib
import math
import secrets
from collections import deque
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.display import display

from ..display.judge_panel import KEEP, PAIRS, judge_bundle
from ..display.live import new_output
from ..display.ratings_card import format_progress, ratings_card, render_ratings
from ..display.tables.table_html import find_files
from ..errors import ReelbookError
from ..media.bounded_open import is_video
from ..media.frame_index import read_frame_index
from ..media.local_file import LocalFile
from ..models.base import File
from ..util.notebook import get_kernel_shell
from .link import EMPTY, Link, keep_open, show_link
from .notebook import is_page_attached

if TYPE_CHECKING:
    from ..decide.race.race import Race
    from ..decide.ratings import Ratings

AHEAD = 2
"""The clips on the screen, and those that the page loads meanwhile."""
REMAINING_EVERY = 5
"""Answers after which it is estimated anew how many more are of use: of many clips that takes a moment."""
MAX_SECONDS = 86_400.0
MAX_MARK = 64
"""Letters of the mark of an answer."""
STARS = {str(count): count for count in range(1, 6)}
GONE = "These clips are not in the table any more, so the answer was not saved."


class JudgeLink(Link):
    """Answers one panel. The page knows clips by numbers that say nothing about them, and their files have no other name."""

    def __init__(self, key: str, ratings: Ratings) -> None:
        super().__init__(key)
        self._ratings = ratings
        self.update: Callable[[dict[str, Any]], None] = lambda _: None
        """Replaces the output of the panel."""
        self._queue: deque[tuple[int, ...]] = deque()
        """The rows that the page has, those on the screen first."""
        self._history: list[tuple[int, ...]] = []
        """The rows that were answered here."""
        self.numbers: dict[int, int] = {}
        """The number by which the page knows the clip of a row."""
        self._rows: dict[int, int] = {}
        self._paths: dict[int, list[str]] = {}
        self._remaining: str | None = None
        self._is_ended = False
        """Whether the page knows of nothing more to judge."""
        self._facts: dict[int, dict[str, Any]] = {}
        actions = {"next": lambda _: None, "answer": self._answer, "undo": self._undo, "rank": self._rank}
        self.handlers = {name: partial(self._act, action) for name, action in actions.items()}
        self._number_rows()

    @property
    def group(self) -> str:
        """A name for what is judged and by whom, the same in another kernel."""
        return _hash(
            self._ratings.question, self._ratings.kind, str(self._ratings.rater), *map(str, self.numbers.values())
        )

    def _act(self, action: Callable[[dict[str, Any]], None], content: dict[str, Any], _: Any) -> None:
        # In the kernel's thread, one after the other: each is short, and an answer is saved before the next clips go out.
        error = ""
        try:
            action(content)
        except (ReelbookError, OSError) as problem:
            error = str(problem)
        reply = {} if content["do"] == "rank" else self._make_reply()
        self.send({"did": content.get("id"), "error": error, **reply})

    def _make_reply(self) -> dict[str, Any]:
        self._fill()
        self._is_ended = not self._queue
        return {
            "asked": [self._describe(rows) for rows in self._queue],
            "progress": self._format_progress(),
            "isEnded": self._is_ended,
        }

    def refresh(self) -> None:
        """Go on after the ratings have got more clips; the panel is drawn anew only if it had nothing more to judge."""
        self._number_rows()
        if self._is_ended:
            self.redraw()

    def redraw(self) -> None:
        """Draw the panel anew."""
        self._is_ended = False
        self.update(make_bundle(self._ratings, key=self.key, group=self.group))

    def _format_progress(self) -> str:
        counts = self._ratings.counts
        if self._remaining is None or counts.judged % REMAINING_EVERY == 0:
            self._remaining = self._ratings.remaining
        return format_progress(counts, self._remaining)

    def _answer(self, content: dict[str, Any]) -> None:
        """Save an answer; one that was sent twice is saved once."""
        self._number_rows()
        of = content.get("of")
        rows = tuple(self._rows.get(number) for number in of) if isinstance(of, list) else ()
        if len(rows) != (2 if self._ratings.kind == PAIRS else 1) or None in rows:
            raise ReelbookError(GONE)
        found = tuple(row for row in rows if row is not None)
        value, mark = str(content.get("value")), str(content.get("token", ""))[:MAX_MARK]
        seconds = _read_seconds(content.get("seconds"))
        if self._ratings.kind == PAIRS:
            self._ratings.judge(found[0], found[1], value, seconds, mark=mark)
        elif self._ratings.kind == KEEP:
            wanted = {"keep": True, "reject": False}.get(value)
            self._ratings.keep(found[0], wanted, seconds, mark=mark)
        else:
            self._ratings.rate(found[0], STARS.get(value), seconds, mark=mark)
        if found in self._queue:
            self._queue.remove(found)
        self._history.append(found)

    def _undo(self, _: dict[str, Any]) -> None:
        """Take the rater's last answer back; what was answered here is asked again."""
        if not self._ratings.undo():
            raise ReelbookError("You have no answer to take back.")
        if self._history:
            self._queue.appendleft(self._history.pop())
            while len(self._queue) > AHEAD:
                self._queue.pop()

    def _rank(self, _: dict[str, Any]) -> None:
        """Replace the output by the ranking, which stays in the saved notebook."""
        self.update(make_bundle(self._ratings, key=self.key, group=self.group, with_ranking=True))

    def _fill(self) -> None:
        """Choose what the page loads while somebody judges."""
        while len(self._queue) < AHEAD:
            rows: tuple[int, ...] | None
            if self._ratings.kind == PAIRS:
                pair = self._ratings.next_pair(without=[(rows[0], rows[1]) for rows in self._queue])
                rows = None if pair is None else (pair.left, pair.right)
            else:
                row = self._ratings.next_row(without=[row for rows in self._queue for row in rows])
                rows = None if row is None else (row,)
            # Of very few clips, the same may be all that is left to ask.
            if rows is None or any(set(rows) == set(one) for one in self._queue):
                return
            self._queue.append(rows)

    def _number_rows(self) -> None:
        """Number the clips of the table: the same in every kernel, and nothing to read from it."""
        clips, table = self._ratings.clips, self._ratings.source
        if len(clips) == len(self.numbers):
            return
        files = dict(zip(table.index.tolist(), find_files(table), strict=True))
        self.numbers = {
            row: int(_hash(self._ratings.question, key)[:12], 16)
            for row, key in zip(clips.rows, clips.keys, strict=True)
        }
        self._rows = {number: row for row, number in self.numbers.items()}
        self._paths = {row: files[row] for row in clips.rows}

    def _find_path(self, row: int, place: int) -> str | None:
        found = self._paths.get(self._rows.get(row, -1), [])
        return found[place] if 0 <= place < len(found) else None

    def _get_name(self, path: str) -> str:
        """What a file is called in messages to the page, which must not tell its settings."""
        return "The file"

    def _describe(self, rows: tuple[int, ...]) -> dict[str, Any]:
        self._number_rows()
        return {"of": [self._describe_row(row) for row in rows], "prompt": self._find_prompt(rows)}

    def _describe_row(self, row: int) -> dict[str, Any]:
        """What the page has to know before the file is there: no more than one sees of it."""
        if row not in self._facts:
            self._facts[row] = {"number": self.numbers[row], **_read_facts(self._paths[row])}
        return self._facts[row]

    def _find_prompt(self, rows: tuple[int, ...]) -> str:
        """The prompt, where it is the same for all that it could tell apart."""
        table = self._ratings.source
        if "prompt" not in table.columns:
            return ""
        prompts = table["prompt"].loc[list(rows)] if len(rows) > 1 else table["prompt"]
        first = prompts.iloc[0]
        return first if isinstance(first, str) and bool((prompts == first).all()) else ""


def show_judge(ratings: Ratings) -> None:
    """Display ratings as the value of a cell: a panel where there is a page, else the ranking."""
    if get_kernel_shell() is None or not is_page_attached():
        display({"text/plain": repr(ratings), "text/html": ratings_card(ratings)}, raw=True)  # type: ignore[no-untyped-call]  # IPython is untyped here
        return
    key = secrets.token_urlsafe(16)
    link = JudgeLink(key, ratings)
    output = new_output(make_bundle(ratings, key=key, group=link.group))
    link.update = lambda bundle: output.update(bundle, raw=True)
    show_link(link)


class RaceJudging:
    """One panel for all rounds of a race, in an output that its cell reserves; `follow` is called after changes."""

    def __init__(self, update: Callable[[dict[str, Any]], None], view: Any = None) -> None:
        """`update` replaces the reserved output; `view` is another one, for pages that find widgets nowhere else."""
        self._update, self._view = update, view
        self._link: JudgeLink | None = None
        self._rounds = 0

    def follow(self, race: Race) -> None:
        """Show the panel when there are clips to judge, again when more have come, and remove it at the end."""
        if race.is_done:
            self.close()
            return
        progress, ratings = race.progress, race.ratings
        if not progress.awaited or ratings is None:
            return
        if self._link is None:
            self._link = keep_open(JudgeLink(secrets.token_urlsafe(16), ratings))
            self._link.update = self._update_if_open
            if self._view is not None:
                self._link.show_in(self._view)
            self._update(make_bundle(ratings, key=self._link.key, group=self._link.group))
        elif progress.rounds != self._rounds:
            self._link.refresh()
        self._rounds = progress.rounds

    def redraw(self) -> None:
        """Draw the panel once more, for a page that has come back."""
        if self._link is not None:
            self._link.redraw()

    def close(self) -> None:
        """Remove the panel; the standings of the race have what came of it."""
        if self._link is not None:
            link, self._link = self._link, None
            self._update(EMPTY)
            link.close()

    def _update_if_open(self, bundle: dict[str, Any]) -> None:
        """Replace the output, unless the race has ended meanwhile: a ranking takes a moment to compute."""
        if self._link is not None:
            self._update(bundle)


def make_bundle(ratings: Ratings, *, key: str, group: str, with_ranking: bool = False) -> dict[str, Any]:
    """The MIME bundle of a panel, blind or with the ranking."""
    ranking = render_ratings(ratings) if with_ranking else None
    summary = "" if with_ranking else f"{ratings.counts}."
    return judge_bundle(ratings.question, ratings.kind, key=key, group=group, summary=summary, ranking=ranking)


def _read_facts(files: Sequence[str]) -> dict[str, Any]:
    """Shape, frames and rate of a clip, or the number of pictures."""
    facts: dict[str, Any] = {"pictures": len(files), "frames": 1, "rate": "1/1", "shape": [16, 9]}
    if not files:
        return facts
    path = Path(files[0])
    try:
        probe = LocalFile(path, File(url=path.name)).probe
        index = read_frame_index(path) if is_video(path) else None
    except (ReelbookError, OSError):
        return facts  # The page asks for the file, and shows why there is none.
    divisor = math.gcd(probe.width, probe.height) or 1
    facts["shape"] = [probe.width // divisor, probe.height // divisor]
    if is_video(path):
        rate = (index.rate if index else probe.rate) or Fraction(24)
        frames = index.frames if index else probe.frames
        facts |= {"pictures": 0, "frames": frames, "rate": f"{rate.numerator}/{rate.denominator}"}
    return facts


def _read_seconds(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and 0 <= value < MAX_SECONDS else None


def _hash(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()
