"""A form: the fields of one model as one widget. The page edits a draft; Python judges it, prices it and runs it."""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import traitlets
from IPython.display import display

from ...display.input_code import format_input_code
from ...display.update_clock import LiveOutput, updater
from ...errors import InvalidInput, Problem, ReelbookError
from ...models.base import Input
from .base_widget import Handler, ScriptWidget
from .fields.draft import Draft
from .fields.earlier_prompts import EarlierPrompts
from .fields.field_tree import Node, sheet_of
from .fields.row_values import values_of_row
from .form_scripts import pack_form_script
from .json_values import for_page, sendable
from .page_messages import format_problem, labels_in
from .pictures.form_pictures import Pictures
from .running.form_price import Pricer
from .running.form_runs import FormRuns
from .shop import EMBEDDED, elsewhere
from .static_snapshot import render_form_snapshot
from .sweeping.form_sweep import FormSweeps
from .variable_name import find_variable_name

if TYPE_CHECKING:
    from ...media.local_file import LocalFile
    from ...runs.run import Run
    from ...sweeps.execute.job import SweepJob
    from .shop import Shop

TEXT = "A form for a model's inputs; it works while the notebook's kernel runs."
CLOSED = "This form is closed. Make another one with rb.form(…)."
MAX_VIEWS, MAX_PICTURES = 100, 20
STALE = (
    "The form or its price has changed since Run was pressed, so nothing was sent. Look at it again, then press Run."
)


class _Value(traitlets.TraitType[Any, Any]):
    """The inputs as a trait, so that whatever follows widgets can follow a form."""

    info_text = "the inputs of a model"

    def get(self, obj: Any, cls: Any = None) -> Any:
        return obj.checked()

    def set(self, obj: Any, value: Any) -> None:
        obj.fill(value)


class Form(ScriptWidget):
    """Every field of one model with its bounds, what it costs, and its runs.

    `form.value` reads and sets the inputs, `form.draft` has them as typed, `form.code` writes them as Python. It is a widget
    like any other: it can stand in a `VBox` or a `Tab`, and `form.observe(function, "value")` follows it.
    """

    sheet = traitlets.Dict().tag(sync=True)
    """What is drawn; see `fields`."""
    state = traitlets.Dict().tag(sync=True)
    """The draft and what there is to say about it."""
    records: Any = traitlets.List().tag(sync=True)
    """What the page shows of the runs; `runs` has the runs themselves."""
    sweeps: Any = traitlets.Dict().tag(sync=True)
    """What varies, the plan of it, and the sweeps of this form; see `sweeping`."""
    twin = traitlets.Unicode().tag(sync=True)
    """The mark of the static picture beside it, which is hidden where the form itself is shown."""
    thread_label = "form"
    value = _Value()
    """The inputs. `InvalidInput` names the fields that are not right yet."""

    def __init__(self, kind: type[Input], *, shop: Shop, value: Input | None = None) -> None:
        self.kind, self.shop, self.lock = kind, shop, threading.RLock()
        sheet = sheet_of(kind)
        self._nodes: dict[str, Node] = {node["name"]: node for node in sheet["fields"]}
        self.labels = labels_in(sheet)
        """What the fields are called on the page."""
        self._pictures = Pictures(self)
        self._draft = Draft(kind, sheet, self._pictures)
        self._pricer = Pricer(self)
        self._edit_numbers: dict[str, dict[str, int]] = {}
        self._last_edit = ("", 0)
        self._changes: dict[str, int] = {}
        """The newest change of the draft by each view; by "" those of Python, and new prices."""
        self._early_run: dict[str, Any] | None = None
        """A press of Run that has overtaken edits which came before it on the page."""
        self._checked: Input | InvalidInput = InvalidInput(
            kind.__name__, [Problem((), "Nothing was typed yet.", "missing")]
        )
        self._card: LiveOutput | None = None
        self.get_studio: Callable[[], Any] | None = None
        """Gives the studio that has this form, if one has."""
        self._snapshots: list[Any] = []
        """Where the picture stands that stays in the notebook: a form can be shown in several cells."""
        if value is not None:
            self._draft.fill(value)
        self._running = FormRuns(self)
        self._prompts = EarlierPrompts(self)
        self._sweeping = FormSweeps(self, self._draft, self._pictures)
        super().__init__(pack_form_script(sheet), sheet=sheet, state=self._make_state(), twin=f"rb-form-{id(self):x}")
        own: dict[str, Handler] = {"edit": self._edit, "here": self._here, "code": self._code}
        parts = (self._pictures, self._running, self._sweeping, self._prompts)
        self.handlers = {
            **own,
            **{name: one for part in parts for name, one in part.handlers.items()},
            "run": self._run,
        }

    @property
    def draft(self) -> dict[str, Any]:
        """The values as they were typed, by field; what is not in it has its default."""
        return dict(self._draft.values)

    @property
    def code(self) -> str:
        """Python that gives `form.value` again."""
        self._pictures.store_all()
        return format_input_code(self.checked())

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs that were started here, the newest last: `form.runs[-1].video` is the newest clip."""
        return self._running.runs

    @property
    def history(self) -> tuple[Run, ...]:
        """Another name of `runs`."""
        return self._running.runs

    @property
    def jobs(self) -> tuple[SweepJob, ...]:
        """The sweeps that were started here, the newest last: `form.jobs[-1].frame` is the table of the newest."""
        return self._sweeping.jobs

    @property
    def name_in_notebook(self) -> str:
        """How a cell names this form: its variable, or that of the studio that it is in."""
        holder = None if self.get_studio is None else self.get_studio()
        holder_name = None if holder is None else find_variable_name(holder) or "studio"
        return find_variable_name(self) or (f"{holder_name}.form" if holder_name else "form")

    def sweep_files(self, key: str) -> tuple[LocalFile, ...]:
        """The files of a run of a sweep, for the page."""
        return self._sweeping.files(key)

    def has(self, name: str) -> bool:
        """Whether it is a field of the model."""
        return name in self._nodes

    def node(self, name: str) -> Node:
        """What is drawn for a field."""
        return self._nodes[name]

    def checked(self) -> Input:
        """The inputs, or `InvalidInput`."""
        with self.lock:
            last = self._checked
        if isinstance(last, InvalidInput):
            raise InvalidInput(last.model, last.problems)
        return last

    def fill(self, value: Any) -> None:
        """Show these inputs: an input of this model, or a mapping of its fields."""
        request = self._coerce_input(value)

        def apply() -> None:
            self._draft.fill(request)

        self._change(apply)

    def edit(self, name: str, *value: Any) -> None:
        """Give one field a value, right or wrong; without one it goes back to its default.

        What a page could not even show, such as bytes in a text, is refused at once.
        """
        if name not in self._nodes:
            known = ", ".join(self._nodes)
            raise ReelbookError(f"The form of {self.kind.endpoint_id} has no field {name!r}; it has {known}.")
        drafts = [self._draft.to_page(name, item) for item in value]
        self._change(lambda: self._draft.edit(name, *drafts))

    def link(self, row: Any) -> Form:
        """Fill the form from a row of a table, from a run, or from inputs, and give the form.

        Columns that are no fields of this model are left out, and so is what a row leaves empty.
        """
        self.fill(values_of_row(row, self.kind))
        return self

    def refresh(self) -> None:
        """Judge and price anew, and tell the page."""
        self._change(lambda: None)

    def close(self) -> None:
        """End it: nothing of it stays on the page or in the background. Its runs go on, and the library has them."""
        if not self.is_closed:
            self.is_closed = True
            for part in (self._sweeping, self._running, self._pictures, self._prompts, self._pricer):
                part.close()
            # The clock lets go by itself: one that closes in an update would wait for its end.
            self._snapshots, self._card = [], None
        super().close()

    def bundle(self) -> dict[str, Any]:
        """What a cell shows of it, with a text for where there are no widgets."""
        # A widget that is closed has nothing that could be shown.
        mimebundle = None if self.is_closed else self._repr_mimebundle_()
        return {**(mimebundle[0] if mimebundle else {}), "text/plain": CLOSED if self.is_closed else TEXT}

    def __repr__(self) -> str:
        return f"<Form for {self.kind.endpoint_id}: {self.state['why'] or self.state['price']['told']}>"

    def _ipython_display_(self) -> None:
        if not self.is_closed:
            # First the picture that stays in the notebook, then what works while there is a kernel.
            handle = display(self._snapshot(), raw=True, display_id=True)  # type: ignore[no-untyped-call]
            # None where there is no notebook. Cells that are run again and again leave places that nobody sees any more.
            self._snapshots = [*self._snapshots, handle][-MAX_PICTURES:] if handle is not None else []
        display(self.bundle(), raw=True)  # type: ignore[no-untyped-call]  # IPython is untyped here

    # What the page sends.

    def _edit(self, content: dict[str, Any], _: list[memoryview]) -> None:
        view, number, name = content.get("view"), content.get("n"), content.get("name")
        if not (isinstance(view, str) and type(number) is int and isinstance(name, str)):
            return
        value = (content["value"],) if "value" in content else ()

        def apply() -> None:
            # The view that spoke last is the last to be forgotten.
            heard = self._edit_numbers[view] = self._edit_numbers.pop(view, {})
            # Two threads can handle one page's messages; the later one counts, whichever comes first.
            if number < heard.get(name, number):
                return
            heard[name] = number
            while len(self._edit_numbers) > MAX_VIEWS:
                del self._edit_numbers[next(iter(self._edit_numbers))]
            self._draft.edit(name, *value)
            before = self._last_edit[1] if self._last_edit[0] == view else 0
            self._last_edit = view, max(number, before)

        try:
            self._change(apply, by=view)
        finally:
            # Also where somebody who follows the value fails: else the next edit would be paid for.
            with self.lock:
                waiting, self._early_run = self._early_run, None
            if waiting is not None:
                self._run(waiting, [])

    def _run(self, content: dict[str, Any], buffers: list[memoryview]) -> None:
        edits = content.get("edits")
        with self.lock:
            heard = self._edit_numbers.get(str(content.get("view")), {})
            wanted = (
                {name: number for name, number in edits.items() if type(number) is int}
                if isinstance(edits, dict)
                else {}
            )
            # Messages of one page can be handled on two threads: what was typed before the press is part of it,
            if any(heard.get(name, -1) < number for name, number in wanted.items()):
                self._early_run = content
                return
            # and what was typed after it is not.
            is_old = isinstance(edits, dict) and any(number > wanted.get(name, -1) for name, number in heard.items())
            is_old = is_old or self._is_changed_since(content.get("seen"), str(content.get("view")))
        if is_old:
            self.send({"said": STALE})
            return
        now = self.shop.client_told()
        if now not in (self.state["client"], EMBEDDED):
            # Somebody has connected elsewhere meanwhile: nobody has seen what it costs there.
            self.refresh()
            self.send({"said": elsewhere(now or self.shop.service_to_come())})
            return
        if run := self._running.handlers.get("run"):
            run({**content, "client": now, "change": self.state["change"]}, buffers)

    def _here(self, content: dict[str, Any], _: list[memoryview]) -> None:
        self.refresh()

    def _code(self, content: dict[str, Any], _: list[memoryview]) -> None:
        def answer() -> None:
            try:
                self.send({"code": self.code})
            except InvalidInput as error:
                words = [format_problem(problem, self.labels) for problem in error.problems]
                self.send({"code": "", "why": f"There is no code yet. {' '.join(words)}"})

        self.in_background("code", answer)

    def _is_changed_since(self, seen: Any, view: str) -> bool:
        """Whether somebody else has changed the form since it looked as this view has seen it, or its price is another one."""
        return type(seen) is int and any(change > seen for by, change in self._changes.items() if by != view)

    def _number_change(self, before: Mapping[str, Any], state: dict[str, Any], by: str) -> None:
        """Number the changes of what is run and of what it costs, so that a press can say which one it has seen."""
        drafts = [json.dumps(one["draft"], sort_keys=True) for one in (before, state)]
        is_repriced = before["price"]["credits"] != state["price"]["credits"]
        if drafts[0] != drafts[1] or is_repriced:
            state["change"] += 1
            # The view that spoke last is the last to be forgotten.
            self._changes.pop(who := by if drafts[0] != drafts[1] else "", None)
            self._changes[who] = state["change"]
            while len(self._changes) > MAX_VIEWS:
                del self._changes[next(iter(self._changes))]

    def _change(self, apply: Callable[[], None], by: str = "") -> None:
        """Change the draft, judge it, tell the page, and then those who follow the value."""
        if self.is_closed:
            return
        with self.lock:
            before = self._checked
            apply()
            state = self._make_state()
            self._number_change(self.state, state, by)
            # Before the page hears of the change: a plan of what stood there before cannot be run any more.
            self._sweeping.replan_if_changed()
            if state != self.state:
                self.state = state
                self.redraw_later()
            after = self._checked
        if isinstance(after, Input) and after != before:
            old = before if isinstance(before, Input) else None
            self.notify_change(traitlets.Bunch(name="value", old=old, new=after, owner=self, type="change"))

    def _make_state(self) -> dict[str, Any]:
        """The draft with everything that there is to say about it."""
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
            "draft": sendable(self._draft.values),
            "problems": problems,
            "price": self._pricer.price(self._draft, value),
            "ready": value is not None,
            "why": problems[0]["words"] if problems else "",
            "client": self.shop.client_told(),
        }

    def _sort_problems(self, problems: Iterable[Problem]) -> list[Problem]:
        """As the fields stand on the page, whose first problem is told at Run; what is about no field comes last."""
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

    def _snapshot(self) -> dict[str, Any]:
        return render_form_snapshot(self, self._running.entries, self._sweeping.entries, mark=self.twin)

    def redraw_later(self) -> None:
        """Redraw the static picture at the next turn of the clock that all outputs share."""
        if not self._snapshots or self._card is not None:
            return
        me = weakref.ref(self)
        places = self._snapshots

        def picture() -> dict[str, Any]:
            form = me()
            if form is None or form.is_closed:
                return {}
            form._card = None
            return form._snapshot()

        def update(bundle: dict[str, Any]) -> None:
            # Of a form that is gone the picture stays as it was.
            for handle in places if bundle else ():
                handle.update(bundle, raw=True)

        self._card = LiveOutput(update, picture, lambda: (), is_over=lambda: True)
        updater.add(self._card)


def _problem_json(problem: Problem, labels: Mapping[str, str]) -> dict[str, Any]:
    """A problem for the page, where fields are known by their labels."""
    words = format_problem(problem, labels)
    described: dict[str, Any] = {"at": list(map(sendable, problem.loc)), "words": words, "kind": problem.kind}
    if problem.nearest is not None:
        described["nearest"] = for_page(problem.nearest)
    return described
