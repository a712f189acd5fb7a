"""A form: the fields of one model as one widget. The page edits a draft; Python validates, prices and runs it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import traitlets
from IPython.display import display
from markupsafe import Markup

from ...display.embedding import data_uri
from ...display.form_snapshot import form_bundle
from ...display.input_code import format_input_code
from ...display.theme import blocks
from ...errors import InvalidInput, Problem, ReelbookError
from ...media.posters import make_thumbnail
from ...models.base import Input
from ..json_values import to_page_json
from ..link import Handler, NewestOnly, ScriptLink
from .draft import Draft, InputTrait, get_row_values
from .pictures import Pictures
from .price import Pricer
from .runs import FormRuns
from .schema import Node, get_sheet
from .sweeps import FormSweeps
from .words import format_problem, get_labels

if TYPE_CHECKING:
    from ...current import Session
    from ...decide.race.race import Race
    from ...runs.run import Run
    from ...sweeps.job import SweepJob
    from .runs import Entry, PressedRun

MAX_LINES = 6
"""Runs and sweeps that a static picture names."""
BOX = (160, 90)
# Inline styles, because saved notebooks may drop style sheets.
THUMB = Markup('<img src="{}" alt="{}" style="display:block;max-width:160px;border-radius:6px;margin:8px 0 4px">')
REDRAW_SECONDS = 0.25
"""How long the static picture waits for another change."""
CLOSED = "This form is closed. Make another one with rb.form(…)."


class Form(ScriptLink):
    """Every field of one model with its bounds, the price, and the runs.

    `form.value` reads and sets the inputs, `form.draft` has them as typed, `form.code` writes them as Python. It is a widget
    like any other: it fits into a `VBox` or a `Tab`, and `form.observe(function, "value")` observes it.

    Example::

        form = rb.form(boat)
        form.observe(print, "value")
    """

    sheet = traitlets.Dict().tag(sync=True)
    """The fields as the page draws them; see `schema`."""
    state = traitlets.Dict().tag(sync=True)
    """The draft with its problems and its price."""
    records: Any = traitlets.List().tag(sync=True)
    """The runs as the page displays them; `runs` has the runs themselves."""
    sweeps: Any = traitlets.Dict().tag(sync=True)
    """The axes, their plan, and the sweeps of this form; see `sweeps`."""
    twin = traitlets.Unicode().tag(sync=True)
    """The mark of the static picture beside it, which the form hides where it is displayed."""
    kept = traitlets.Int(0).tag(sync=True)
    """The number of results in the static picture. A page that was reloaded does not get the later ones, and says so."""
    text = "A form for a model's inputs; it works while the notebook's kernel runs."
    thread_label = "form"
    value = InputTrait()
    """The inputs; `InvalidInput` if a field is not valid."""

    def __init__(
        self,
        kind: type[Input],
        *,
        session: Session,
        value: Input | None = None,
    ) -> None:
        self.session = session
        self.start_run: Callable[[Input], Run] = lambda request: session.client().start(request, watched=True)
        self.kind = kind
        sheet = get_sheet(kind)
        self._nodes: dict[str, Node] = {node["name"]: node for node in sheet["fields"]}
        self.labels = get_labels(sheet)
        self._pictures = Pictures(self, session)
        self._draft = Draft(kind, sheet, self._pictures)
        self._pricer = Pricer(self)
        self._last_edit = ("", 0)
        """The page that made the last edit, and its number."""
        self._checked: Input | InvalidInput = InvalidInput(
            kind.__name__, [Problem((), "Nothing was typed yet.", "missing")]
        )
        self.studio: Any = None
        """The studio that it is in."""
        self._snapshot_handle: Any = None
        """The display handle of the newest static picture."""
        self._redrawing = NewestOnly(self._redraw, "reelbook-form-picture", pause=lambda: REDRAW_SECONDS)
        if value is not None:
            self._draft.fill(value)
        self.running = FormRuns(self)
        self._sweeping = FormSweeps(self, self._draft, self._pictures)
        super().__init__("form", sheet=sheet, state=self._make_state(), twin=f"rb-form-{id(self):x}")
        own: dict[str, Handler] = {"edit": self._edit, "here": self._here, "code": self._code}
        parts = (self._pictures, self.running, self._sweeping)
        self.handlers = {
            **own,
            **{name: handler for part in parts for name, handler in part.handlers.items()},
        }

    @property
    def draft(self) -> dict[str, Any]:
        """The values as typed, by field; absent fields have their defaults."""
        return dict(self._draft.values)

    @property
    def code(self) -> str:
        """Python code that makes `form.value`."""
        self._pictures.store_all()
        return format_input_code(self.checked())

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs started here, the newest last: `form.runs[-1].video` is the newest clip."""
        return self.running.runs

    @property
    def entries(self) -> tuple[PressedRun, ...]:
        """Every press of Run with its outcome, the newest last."""
        return self.running.entries

    @property
    def jobs(self) -> tuple[SweepJob, ...]:
        """The sweeps started here, the newest last: `form.jobs[-1].frame` is the table of the newest."""
        return tuple(entry.running for entry in self._sweeping.entries if entry.running and not entry.is_race)

    @property
    def races(self) -> tuple[Race, ...]:
        """The races started here, the newest last: `form.races[-1].best` is the best input of the newest."""
        return tuple(entry.running for entry in self._sweeping.entries if entry.running and entry.is_race)

    def has(self, name: str) -> bool:
        """Whether the model has this field."""
        return name in self._nodes

    def node(self, name: str) -> Node:
        """A field as the page draws it."""
        return self._nodes[name]

    def checked(self) -> Input:
        """The inputs; `InvalidInput` if a field is not valid."""
        with self.lock:
            last = self._checked
        if isinstance(last, InvalidInput):
            raise InvalidInput(last.model, last.problems)
        return last

    def fill(self, value: Any) -> None:
        """Fill the form with an input of this model, or a mapping of its fields."""
        request = self._coerce_input(value)

        def apply() -> None:
            self._draft.fill(request)

        self._change(apply)

    def edit(self, name: str, *value: Any) -> None:
        """Set one field to a value, valid or not; without one, reset it to its default.

        A value that a page cannot display, such as bytes in a text, is refused at once.
        """
        if name not in self._nodes:
            known = ", ".join(self._nodes)
            raise ReelbookError(f"The form of {self.kind.endpoint_id} has no field {name!r}; it has {known}.")
        drafts = [self._draft.to_page(name, item) for item in value]
        self._change(lambda: self._draft.edit(name, *drafts))

    def link(self, row: Any) -> Form:
        """Fill the form from a row of a table, from a run, or from inputs, and return the form.

        Columns that are no fields of this model, and empty cells, are ignored.
        """
        self.fill(get_row_values(row, self.kind))
        return self

    def refresh(self) -> None:
        """Validate and price the draft again, and update the page."""
        self._change(lambda: None)

    def replan(self) -> None:
        """Make another plan of its sweep, if it has one: runs have ended, which changes its price and the account."""
        self._sweeping.replan()

    def close(self) -> None:
        """Remove it from the page and stop its background work. Its runs continue and are stored in the library."""
        if not self.is_closed:
            self.is_closed = True
            for part in (self._sweeping, self.running, self._pictures, self._pricer):
                part.close()
            self._redrawing.close()
            self._snapshot_handle = None
        super().close()

    def bundle(self) -> dict[str, Any]:
        """The MIME bundle for a cell, with a text for pages without widgets."""
        return {"text/plain": CLOSED} if self.is_closed else super().bundle()

    def __repr__(self) -> str:
        return f"<Form for {self.kind.endpoint_id}: {self.state['why'] or self.state['price']['told']}>"

    def _ipython_display_(self) -> None:
        if not self.is_closed:
            # First the static picture, which stays in the notebook, then the widget, which needs a kernel.
            self._snapshot_handle = display(
                self.make_snapshot(self.running.all, mark=self.twin), raw=True, display_id=True
            )  # type: ignore[no-untyped-call]
        display(self.bundle(), raw=True)  # type: ignore[no-untyped-call]  # IPython is untyped here

    def take(self, content: Mapping[str, Any]) -> tuple[Input | InvalidInput, dict[str, Any]]:
        """Take what was typed on a page, which comes with an edit and with a press of Run; the inputs and the state are those of it."""
        view, number, names, draft = (content.get(word) for word in ("view", "n", "names", "draft"))

        def apply() -> None:
            if not (
                isinstance(view, str) and type(number) is int and isinstance(names, list) and isinstance(draft, dict)
            ):
                return
            # Two threads can handle one page's messages: the later one has all edits, whichever is handled first.
            if self._last_edit[0] != view or self._last_edit[1] < number:
                self._last_edit = view, number
                for name in map(str, names):
                    self._draft.edit(name, *([draft[name]] if name in draft else ()))

        return self._change(apply)

    def _edit(self, content: dict[str, Any], _: list[memoryview]) -> None:
        self.take(content)

    def _here(self, content: dict[str, Any], _: list[memoryview]) -> None:
        self.refresh()

    def _code(self, content: dict[str, Any], _: list[memoryview]) -> None:
        def answer() -> dict[str, Any]:
            try:
                return {"code": self.code}
            except InvalidInput as error:
                words = [format_problem(problem, self.labels) for problem in error.problems]
                return {"error": f"There is no code yet. {' '.join(words)}"}

        self.answer(content, answer)

    def _change(self, apply: Callable[[], None]) -> tuple[Input | InvalidInput, dict[str, Any]]:
        """Change the draft, validate it, update the page, and then notify the observers of the value."""
        if self.is_closed:
            return self._checked, self.state
        with self.lock:
            before = self._checked
            apply()
            state = self._make_state()
            # A run says of which change of the draft and of its price it is.
            drafts = [json.dumps(one["draft"], sort_keys=True) for one in (self.state, state)]
            if drafts[0] != drafts[1] or state["price"]["credits"] != self.state["price"]["credits"]:
                state["change"] += 1
            # Before the page is updated: a plan of the previous draft cannot be run any more.
            self._sweeping.replan_if_changed()
            if state != self.state:
                self.state = state
                self.redraw_later()
            after = self._checked
        if isinstance(after, Input) and after != before:
            old = before if isinstance(before, Input) else None
            self.notify_change(traitlets.Bunch(name="value", old=old, new=after, owner=self, type="change"))
        return after, state

    def _make_state(self) -> dict[str, Any]:
        problems: list[dict[str, Any]] = []
        try:
            self._checked = self._draft.read()
        except InvalidInput as error:
            self._checked = error
            problems = [_problem_json(problem, self.labels) for problem in self._sort_problems(error.problems)]
        value = self._checked if isinstance(self._checked, Input) else None
        view, number = self._last_edit
        return {
            "view": view,
            "n": number,
            "change": self.state.get("change", 0),
            "draft": self.draft,
            "problems": problems,
            "price": self._pricer.price(self._draft, value),
            "ready": value is not None,
            "why": problems[0]["words"] if problems else "",
            "client": self.session.service_name(),
        }

    def _sort_problems(self, problems: Iterable[Problem]) -> list[Problem]:
        """The problems in the order of the fields, those without a field last; Run reports the first."""
        ranks: dict[Any, int] = {name: rank for rank, name in enumerate(self._nodes)}
        return sorted(problems, key=lambda problem: ranks.get(problem.loc[0] if problem.loc else None, len(ranks)))

    def _coerce_input(self, value: Any) -> Input:
        if isinstance(value, self.kind):
            return value
        if isinstance(value, Mapping):
            return self.kind(**{str(name): one for name, one in value.items()})
        raise ReelbookError(
            f"This form is for {self.kind.endpoint_id}, and cannot show a {type(value).__name__}. "
            f"Give it inputs of that model or a mapping of its fields; rb.form(…) makes a form for others."
        )

    def make_snapshot(self, entries: Sequence[Entry], *, mark: str, note: str = "") -> dict[str, Any]:
        """The MIME bundle of a static picture with what was started, the newest first; its widget finds it by `mark`."""
        newest = list(reversed(entries))
        lines = [*([note] if note else []), *(entry.line for entry in newest[:MAX_LINES])]
        below = [*_render_thumb(newest), *map(blocks.small, lines)]
        value = self._checked if isinstance(self._checked, Input) else None
        kept = count_ended(entries)
        bundle = form_bundle(self.sheet, self.state, value, labels=self.labels, mark=mark, kept=kept, below=below)
        return {**bundle, "text/plain": "\n".join([bundle["text/plain"], *lines])}

    def redraw_later(self) -> None:
        """Redraw the static picture soon, once for many changes."""
        if self._snapshot_handle is not None:
            self._redrawing.put(self._snapshot_handle)

    def _redraw(self, handle: Any) -> None:
        entries = self.running.all
        handle.update(self.make_snapshot(entries, mark=self.twin), raw=True)
        self.kept = count_ended(entries)


def count_ended(entries: Sequence[Entry]) -> int:
    """How many runs and sweeps have ended."""
    return sum(entry.is_over for entry in entries)


def _render_thumb(entries: Sequence[Entry]) -> list[Markup]:
    """A thumbnail of the newest file; empty if there is none."""
    for entry in entries:
        if entry.picture is not None and (content := make_thumbnail(entry.picture, *BOX, quality=60)):
            return [THUMB.format(data_uri("image/jpeg", content), entry.line)]
    return []


def _problem_json(problem: Problem, labels: Mapping[str, str]) -> dict[str, Any]:
    words = format_problem(problem, labels)
    described: dict[str, Any] = {"at": list(problem.loc), "words": words, "kind": problem.kind}
    if problem.nearest is not None:
        described["nearest"] = to_page_json(problem.nearest)
    return described
