"""The gallery of a studio: its runs, and on demand earlier runs of the library."""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd
import traitlets

from ...display.compare.compared_items import Item, format_inputs
from ...display.compare.comparison import Comparison
from ...errors import ReelbookError
from ...sweeps.table_files import find_column
from ..forms.run_cards import CardJSON, LibraryRun, PressedRun, ShownRun, list_library_runs, short_model_name
from ..forms.runs import answer_want
from .head import StudioPart

if TYPE_CHECKING:
    from ...media.local_file import LocalFile
    from ...models.base import Input

PAGE = 24
"""Runs of one page."""
SEARCHED = ("prompt", "model", "error", "status", "seed", "output_seed")
KindOf = Callable[[str], "type[Input] | None"]
MAX_CARDS = 60
"""Runs of this studio on the page; the library has all of them."""
USED = "The form has the inputs of this run now."
COMPARE_ADVICE = "`rb.compare(run, other).differences` has them as a table."

log = logging.getLogger("reelbook")


class Gallery(StudioPart):
    """Cards, one run enlarged, and runs compared."""

    cards: Any = traitlets.List().tag(sync=True)
    """The runs of this studio, the newest first; see `forms.run_cards`."""

    def __init__(self, library: Callable[[], pd.DataFrame], kind_of: KindOf, use: Callable[[Input], object]) -> None:
        super().__init__("gallery")
        self._library, self._kind_of, self._use_inputs = library, kind_of, use
        self._runs: Mapping[str, ShownRun] = {}
        self._library_runs: dict[str, LibraryRun] = {}
        self._earlier: EarlierRuns | None = None
        self._library_lock = threading.Lock()
        me = weakref.ref(self)
        self.handlers = {
            "facts": self._facts, "use": self._use, "cancel": self._cancel, "clock": self._clock, "compare": self._compare,
            "earlier": self._on_earlier, "want": lambda content, _: answer_want(me, content, self._files),
        }  # fmt: skip

    def set_runs(self, runs: Mapping[str, ShownRun]) -> None:
        """Display these runs of the studio by their keys, the newest first, instead of the previous ones."""
        cards = [make_card(key, run) for key, run in list(runs.items())[:MAX_CARDS]]
        if len(runs) > MAX_CARDS:
            cards[-1] = {**cards[-1], "older": len(runs) - MAX_CARDS}
        with self.lock:
            self._runs = runs
            if cards != self.cards and not self.is_closed:
                self.cards = cards

    def close(self) -> None:
        """Close it, and release the runs."""
        self._library_runs, self._earlier, self._runs = {}, None, {}
        super().close()

    def _facts(self, content: dict[str, Any], _: list[memoryview]) -> None:
        run = self._find_run(content)
        if run is not None:
            self.in_background("facts", lambda: self.send({"facts": content["run"], **run.details()}))

    def _use(self, content: dict[str, Any], _: list[memoryview]) -> None:
        run = self._find_run(content)
        if run is None:
            return

        def use() -> None:
            try:
                self._use_inputs(run.value)
            except ReelbookError as error:
                self.send({"used": content["run"], "words": str(error), "failed": True})
            else:
                self.send({"used": content["run"], "words": USED})

        self.in_background("use", use)

    def _cancel(self, content: dict[str, Any], _: list[memoryview]) -> None:
        run = self._find_run(content)
        if isinstance(run, PressedRun) and run.can_cancel:
            run.is_cancelling = True
            self.in_background("cancel", run.cancel)

    def _compare(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Send the viewer of these runs, then their differences: `{do: "compare", runs}`."""
        keys = content.get("runs")
        found = (
            {key: self._find_run({"run": key}) for key in keys if isinstance(key, str)}
            if isinstance(keys, list)
            else {}
        )
        runs = {key: run for key, run in found.items() if run is not None}

        def compare() -> None:
            from ...display.compare.comparison_html import render_comparison_markup, render_differences

            comparison = compare_runs(runs)
            markup = render_comparison_markup(comparison, with_differences=False)
            self.send({"compared": keys, "markup": str(markup)})
            # They take seconds; of long files, minutes, and a sentence says why there are none.
            differences = render_differences(comparison, advice=COMPARE_ADVICE)
            self.send({"compared": keys, "differences": str(differences)})

        self.in_background("compare", compare)

    def _clock(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Send the time of this machine: the page displays how long a run has taken, and its clock may differ."""
        self.send({"clock": time.time()})

    def _on_earlier(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Send runs of the library: `{do: "earlier", turn, from, text, model}`."""
        turn, start = content.get("turn"), content.get("from")
        text, model = str(content.get("text") or "")[:200], str(content.get("model") or "")
        if type(turn) is not int or type(start) is not int or start < 0:
            return

        def answer() -> None:
            try:
                # One at a time: the library is read once for all requests that arrive meanwhile.
                with self._library_lock:
                    self._send_earlier(turn, start, text, model)
            except Exception as error:
                if not isinstance(error, ReelbookError):
                    log.debug("the library could not be displayed", exc_info=True)
                self.send({"earlier": turn, "cards": [], "total": 0, "words": f"The library cannot be read: {error}"})

        self.in_background("earlier", answer)

    def _send_earlier(self, turn: int, start: int, text: str, model: str) -> None:
        earlier = self._earlier
        if start == 0 or earlier is None:
            # Read again: the library may have grown since.
            requests = {run.request_id for run in self._runs.values() if run.request_id}
            earlier = self._earlier = EarlierRuns(self._library(), self._kind_of, without=requests)
        found, total = earlier.page(start, text, model)
        with self.lock:
            if self.is_closed:
                return
            # Earlier ones stay known: one of them may be enlarged.
            self._library_runs |= {run.key: run for run in found}
        cards = [make_card(run.key, run) for run in found]
        self.send({"earlier": turn, "from": start, "cards": cards, "total": total, "more": start + PAGE < total, "models": earlier.models})  # fmt: skip

    def _find_run(self, content: dict[str, Any]) -> ShownRun | None:
        key = str(content.get("run"))
        with self.lock:
            return self._runs.get(key) or self._library_runs.get(key)

    def _files(self, key: str) -> tuple[LocalFile, ...]:
        run = self._find_run({"run": key})
        return run.files if run is not None else ()


def make_card(key: str, run: ShownRun) -> CardJSON:
    """A run as JSON for the page."""
    more = {"key": key, "model": run.model, "name": short_model_name(run.model)}
    return {**run.card(), **more, **({"asked": run.asked} if run.asked else {})}


class EarlierRuns:
    """A snapshot of the runs of a library, without those that the studio displays already."""

    def __init__(self, frame: pd.DataFrame, kind_of: KindOf, *, without: Collection[str] = ()) -> None:
        self._kind_of = kind_of
        requests = find_column(frame, "request_id")
        self._frame = frame if requests is None else frame[~requests.isin(list(without))]

    @property
    def models(self) -> list[str]:
        """The models of these runs, sorted."""
        found = find_column(self._frame, "model")
        return [] if found is None else sorted({str(model) for model in found})

    def page(self, start: int, text: str = "", model: str = "") -> tuple[list[LibraryRun], int]:
        """One page of the runs that contain all these words, and the number of all of them."""
        found = self._search(text, model)
        part = found.iloc[::-1].iloc[start : start + PAGE]
        return list_library_runs(part, "l", self._kind_of), len(found)

    def _search(self, text: str, model: str) -> pd.DataFrame:
        frame = self._frame
        models = find_column(frame, "model")
        if model and models is not None:
            frame = frame[models.astype(str) == model]
        columns = [column for name in SEARCHED if (column := find_column(frame, name)) is not None]
        for word in text.lower().split():
            # As plain text, not as a pattern.
            hits = [column.astype(str).str.lower().str.contains(word, regex=False) for column in columns]
            mask = pd.concat(hits, axis=1).any(axis=1) if hits else pd.Series(False, index=frame.index)
            frame = frame[mask]
            columns = [column[mask] for column in columns]
        return frame


def compare_runs(runs: Mapping[str, ShownRun]) -> Comparison:
    """The first file of each run, labelled by the inputs that differ."""
    return Comparison([_make_item(key, run) for key, run in runs.items()])


def _make_item(key: str, run: ShownRun) -> Item:
    try:
        inputs = format_inputs(run.value)
    except ReelbookError:
        # A model whose fields are not known here: its inputs as the library stores them.
        inputs = dict(run.details()["asked"])
    if run.seed is not None:
        inputs["seed"] = str(run.seed)
    name = f"run {run.request_id[:8]}".strip()
    trouble = "" if run.files else f"The file of {name} is not on this machine any more."
    return Item(name, next(iter(run.files), None), {**inputs, "model": run.model}, trouble, key=f"{key} 0")
