"""A form: the fields of one model as one widget. The page edits a draft; Python validates, prices and runs it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import traitlets
from IPython.display import display
from markupsafe import Markup
from pydantic_core import PydanticCustomError

from ...display.embedding import data_uri
from ...display.form_snapshot import form_bundle
from ...display.input_code import format_input_code
from ...display.theme import blocks
from ...errors import InvalidInput, Problem, ReelbookError
from ...media.posters import make_thumbnail
from ...models.base import Input
from ...models.problems import WANTED, wrong_type
from ...storage.run_identity import INPUT_JSON
from ...util.missing_values import is_missing
from ..json_values import MAX_SAFE
from ..link import Handler, NewestOnly, ScriptLink
from .pictures import Pictures
from .price import Pricer
from .runs import FormRuns
from .schema import JSON, Node, get_sheet, to_page
from .sweeps import FormSweeps
from .words import format_problem, get_labels

if TYPE_CHECKING:
    from ...current import Session
    from ...decide.race.race import Race
    from ...runs.run import Run
    from ...sweeps.job import SweepJob
    from .runs import Entry

MAX_LINES = 6
"""Runs and sweeps that a static picture names."""
BOX = (160, 90)
# Inline styles, because saved notebooks may drop style sheets.
THUMB = Markup('<img src="{}" alt="{}" style="display:block;max-width:160px;border-radius:6px;margin:8px 0 4px">')
REDRAW_SECONDS = 0.25
"""How long the static picture waits for another change."""
CLOSED = "This form is closed. Make another one with rb.form(…)."
_WHOLE = re.compile(r"[+-]?\d{1,4300}\Z")


class InputTrait(traitlets.TraitType[Any, Any]):
    """The inputs as a trait, so that `observe` and `interactive_output` work."""

    info_text = "the inputs of a model"

    def get(self, obj: Any, cls: Any = None) -> Any:
        return obj.checked()

    def set(self, obj: Any, value: Any) -> None:
        obj.fill(value)


def get_row_values(row: Any, kind: type[Input]) -> Input | dict[str, Any]:
    """The inputs or field values of this model from inputs, a run, or a row of a table."""
    if getattr(row, "ndim", 0) == 2 and len(row) == 1:
        row = row.iloc[0]
    request = row if isinstance(row, Input) else getattr(row, "input", None)
    if isinstance(request, kind):
        return request
    cells = dict(row) if isinstance(row, Mapping) else row.to_dict() if hasattr(row, "to_dict") else {}
    names = kind.model_json_schema().get("properties", {})
    model = request.endpoint_id if isinstance(request, Input) else cells.get("model")
    if isinstance(model, str) and model != kind.endpoint_id and "model" not in names:
        raise ReelbookError(
            f"This row is a run of {model}, and the form is for {kind.endpoint_id}. Make one with rb.form({model!r})."
        )
    if isinstance(cells.get(INPUT_JSON), str):
        # The table of a sweep has the complete input as one text, with pictures by their hashes.
        from ...storage.table import parse_text

        cells = parse_text(cells[INPUT_JSON])
    # A column with the prefix takes precedence over one with the plain name of the field.
    values: dict[str, Any] = {name: cells.get(f"input_{name}", cells.get(name)) for name in names}
    values = {name: value.tolist() if hasattr(value, "tolist") else value for name, value in values.items() if not is_missing(value)}  # fmt: skip
    if not values:
        raise ReelbookError(
            f"Nothing of this row is a field of {kind.endpoint_id}. Give a row of a table of its runs: form.link(table.iloc[0])."
        )
    return values


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
        # JSON that a page keeps as it is: pictures are texts, and so are numbers that are too long for it and what is typed as JSON.
        self._typed: dict[str, Any] = {}
        for name, node in self._nodes.items():
            # Nobody can type what can only be one thing.
            if node.get("required") and len(node.get("choices", ())) == 1:
                self._typed[name] = node["choices"][0]["value"]
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
        self._redrawing = NewestOnly(self._redraw, "reelbook-form-picture", pause=REDRAW_SECONDS)
        if value is not None:
            self._typed = self._fields_of(value)
        self.running = FormRuns(self)
        self._sweeping = FormSweeps(self)
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
        return dict(self._typed)

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
        typed = self._fields_of(self._coerce_input(value))
        self._change(lambda: typed)

    def edit(self, name: str, *value: Any) -> None:
        """Set one field to a value, valid or not; without one, reset it to its default.

        A value that a page cannot display, such as bytes in a text, is refused at once.
        """
        if name not in self._nodes:
            known = ", ".join(self._nodes)
            raise ReelbookError(f"The form of {self.kind.endpoint_id} has no field {name!r}; it has {known}.")
        edited = [(name, self._to_page(name, item)) for item in value]
        self._change(lambda: {other: item for other, item in self._typed.items() if other != name} | dict(edited))

    def restore(self, draft: Mapping[str, Any]) -> list[str]:
        """Put back what `draft` was, as far as the model has these fields; returns their names."""
        known = {name: typed for name, typed in draft.items() if name in self._nodes}
        self._change(lambda: self._typed | known)
        return list(known)

    def link(self, row: Any) -> Form:
        """Fill the form from a row of a table, from a run, or from inputs, and return the form.

        Columns that are no fields of this model, and empty cells, are ignored.
        """
        self.fill(get_row_values(row, self.kind))
        return self

    def refresh(self) -> None:
        """Validate and price the draft again, and update the page."""
        self._change(lambda: self._typed)

    def replan(self) -> None:
        """Make another plan of its sweep, if it has one: runs have ended, which changes its price and the account."""
        self._sweeping.replan()

    def close(self) -> None:
        """Remove it from the page. Its runs continue and are stored in the library."""
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
        view, number, draft = (content.get(word) for word in ("view", "n", "draft"))

        def apply() -> dict[str, Any]:
            if not (isinstance(view, str) and type(number) is int and isinstance(draft, dict)):
                return self._typed
            # Two threads can handle one page's messages: the later one has all edits, whichever is handled first.
            if self._last_edit[0] == view and self._last_edit[1] >= number:
                return self._typed
            self._last_edit = view, number
            takes_others = self.kind.model_config.get("extra") == "allow"
            return {name: value for name, value in draft.items() if takes_others or name in self._nodes}

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

    def _change(self, make_draft: Callable[[], dict[str, Any]]) -> tuple[Input | InvalidInput, dict[str, Any]]:
        """Change the draft, validate it, update the page, and then notify the observers of the value."""
        if self.is_closed:
            return self._checked, self.state
        with self.lock:
            before = self._checked
            self._typed = make_draft()
            state = self._make_state()
            # A run says of which change of the draft and of its price it is.
            if state["draft"] != self.state["draft"] or state["price"]["credits"] != self.state["price"]["credits"]:
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

    def _fields_of(self, request: Input) -> dict[str, Any]:
        """An input as the draft of a page."""
        return {name: self._to_page(name, value) for name, value in request.changed().items()}

    def _to_page(self, name: str, value: Any) -> Any:
        """A Python value as the page represents it; `InvalidInput` if JSON cannot represent it."""
        try:
            return to_page(self._nodes.get(name, JSON), value, self._pictures.remember)
        except PydanticCustomError as error:
            problem = wrong_type((name,), error.type, value, WANTED[error.type], None)
            raise InvalidInput(self.kind.__name__, [problem]) from None

    # `self` is positional-only, because a described model may have a field of that name.
    def read(self, /, **varied: Any) -> Input:
        """The inputs, with these values in place of the typed ones; `InvalidInput` names every invalid field."""
        values, unread = self.read_values()
        values |= varied
        unread = [problem for problem in unread if problem.loc[0] not in varied]
        if not unread:
            return self.kind(**values)
        failed = {problem.loc[0] for problem in unread}
        try:
            self.kind(**values)
        except InvalidInput as error:
            unread += [problem for problem in error.problems if not problem.loc or problem.loc[0] not in failed]
        raise InvalidInput(self.kind.__name__, unread)

    def convert(self, name: str, value: Any) -> Any:
        """A value of a field as passed to the class."""
        return self._read(self._nodes.get(name, JSON), value, (name,), [])

    def read_values(self) -> tuple[dict[str, Any], list[Problem]]:
        """The values as passed to the class, before validation, and what cannot be read."""
        unread: list[Problem] = []
        values = {
            name: self._read(self._nodes.get(name, JSON), value, (name,), unread) for name, value in self._typed.items()
        }
        return values, unread

    def _read(self, node: Node, value: Any, loc: tuple[str | int, ...], unread: list[Problem]) -> Any:
        """A value as passed to the class."""
        kind = node["kind"]
        if kind == "json" and isinstance(value, str):
            try:
                return self._with_pictures(json.loads(value))
            except (ValueError, RecursionError) as error:
                if node.get("plain") and not value.lstrip().startswith(("{", "[", '"')):
                    return self._with_pictures(value)
                why = str(error) if isinstance(error, json.JSONDecodeError) else "it is too long or too deep"
                field = Problem(loc, "", "").field
                unread.append(Problem(loc, f"`{field}` is not JSON: {why}. Text stands in double quotes.", "json"))
                return value
        if kind in ("whole", "real") and isinstance(value, str) and _WHOLE.match(value):
            # A page sends only those as text that it cannot hold.
            return int(value) if abs(int(value)) >= MAX_SAFE else value
        if kind == "list" and isinstance(value, list):
            return [self._read(node["item"], item, (*loc, place), unread) for place, item in enumerate(value)]
        if kind == "object" and isinstance(value, dict):
            fields = {field["name"]: field for field in node["fields"]}
            return {
                name: self._read(fields.get(name, JSON), item, (*loc, name), unread) for name, item in value.items()
            }
        return self._with_pictures(value) if kind == "image" else value

    def _with_pictures(self, value: Any) -> Any:
        """A value with pictures in the place of the texts that stand for them."""
        if isinstance(value, str):
            return self._pictures.find(value) or value
        if isinstance(value, list):
            return [self._with_pictures(item) for item in value]
        return {name: self._with_pictures(item) for name, item in value.items()} if isinstance(value, dict) else value

    def _make_state(self) -> dict[str, Any]:
        problems: list[dict[str, Any]] = []
        try:
            self._checked = self.read()
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
            "price": self._pricer.price(value),
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
        bundle = form_bundle(self.sheet, self.state, value, labels=self.labels, mark=mark, below=below)
        return {**bundle, "text/plain": "\n".join([bundle["text/plain"], *lines])}

    def redraw_later(self) -> None:
        """Redraw the static picture soon, once for many changes."""
        if self._snapshot_handle is not None:
            self._redrawing.put(self._snapshot_handle)

    def _redraw(self, handle: Any) -> None:
        handle.update(self.make_snapshot(self.running.all, mark=self.twin), raw=True)


def _render_thumb(entries: Sequence[Entry]) -> list[Markup]:
    """A thumbnail of the newest file; empty if there is none."""
    for entry in entries:
        if entry.picture is not None and (content := make_thumbnail(entry.picture, *BOX, quality=60)):
            return [THUMB.format(data_uri("image/jpeg", content), entry.line)]
    return []


def _problem_json(problem: Problem, labels: Mapping[str, str]) -> dict[str, Any]:
    words = format_problem(problem, labels)
    return {"at": list(problem.loc), "words": words, "kind": problem.kind}
