"""A studio: the choice of a model, its form, what was made and what it cost, in one cell."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import ipywidgets
from IPython.display import display

from ...errors import ReelbookError
from ...models.base import Input
from ...models.catalog import CATALOG
from ..comms import close_layout, forget_reply_thread
from ..forms.form import Form
from ..forms.live_updates import LiveUpdates
from .gallery import Gallery
from .gallery_cards import LibraryRun, StudioRun
from .spending import Till, format_cost
from .studio_head import Head, format_carried
from .studio_snapshot import studio_bundle
from .studio_sweeps import StudioSweeps

if TYPE_CHECKING:
    from ...runs.run import Run
    from ...sweeps.execute.job import SweepJob
    from ..forms.shop import Shop

TEXT = "A studio for models: forms, runs and a gallery; it works while the notebook's kernel runs."
CLOSED = "This studio is closed. Make another one with rb.studio()."
COPIED = ("prompt", "negative_prompt", "seed", "image_url")
"""Fields that one wants again in the form of another model."""


class Studio(ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets ships no types.
    """The whole toolkit in one cell: choose a model, fill its form, run it, look at what came of it, see what it cost.

    `studio.form` is the form that is shown, `studio.value` its inputs, `studio.runs` everything that was run here. Each
    model keeps its form: one that is chosen again has its values and its runs. It is a widget like any other.
    """

    def __init__(self, kind: type[Input], *, shop: Shop, value: Input | None = None) -> None:
        self._lock = threading.RLock()
        self._is_closed = False
        self._updates = LiveUpdates(
            self, lambda studio, _: studio._refresh(), lambda _: {}, Studio._key, Studio._is_over
        )
        self._handle: Any = None
        self._last_snapshot: dict[str, Any] | None = None
        self._forms: dict[str, Form] = {}
        self._account_state = (0, "")
        self._till, self._sweeps = Till(shop), StudioSweeps()
        # All of these hold the studio weakly: what is under way in a thread must not keep it.
        me = weakref.ref(self)
        self._mark = f"rb-studio-{id(self):x}"
        self._head = Head(shop, lambda model: _get_studio(me).choose(model), twin=self._mark)
        self._gallery = Gallery(
            shop.library_frame, lambda model: _find_kind(me, model), lambda value: _get_studio(me).choose(value)
        )
        self._till.notify = _make_notify(me)
        self._form = self._form_of(kind)
        if value is not None:
            self._form.fill(value)
        super().__init__((self._head, self._form, self._gallery), layout=ipywidgets.Layout(overflow="visible"))
        self.add_class("rbs-studio")
        self._head.add_model(kind)
        self._head.chosen = kind.endpoint_id
        self._refresh()

    @property
    def form(self) -> Form:
        """The form of the model that is chosen."""
        return self._form

    @property
    def forms(self) -> tuple[Form, ...]:
        """The forms of all models that were chosen here, in that order."""
        return tuple(self._forms.values())

    @property
    def value(self) -> Any:
        """The inputs in the form; setting inputs of another model chooses that one."""
        return self._form.value

    @value.setter
    def value(self, value: Any) -> None:
        if isinstance(value, Input):
            self.choose(value)
        else:
            self._form.fill(value)

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs of all forms, the oldest first."""
        return self._till.runs

    @property
    def jobs(self) -> tuple[SweepJob, ...]:
        """The sweeps of all forms, the oldest first."""
        self._sweeps.update(self.forms)
        return self._sweeps.jobs

    def choose(self, model: type[Input] | Input | str) -> Form:
        """Show the form of a model: its class, its id, or inputs to fill it with. Gives the form."""
        kind = self._kind(model)
        with self._lock:
            if self._is_closed:
                raise ReelbookError(CLOSED)
            before, form = self._form, self._form_of(kind)
            names = _copy_fields(before, form) if form is not before and not isinstance(model, Input) else []
            if isinstance(model, Input):
                form.fill(model)
            self._form = form
            self._head.add_model(kind)
            self._head.carried = format_carried(names, self._title(before))
            self._head.chosen = kind.endpoint_id
            if form is not before:
                self.children = (self._head, form, self._gallery)
        self._refresh()
        return form

    def close(self) -> None:
        """End it: nothing of it stays on the page or in the background. Its runs go on, and the library has them."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        self._updates.close()
        self._handle = None
        self._till.notify = lambda: None
        for form in self._forms.values():
            form.close()
        for part in (self._head, self._gallery):
            part.close()
        close_layout(self)
        super().close()

    def bundle(self) -> dict[str, Any]:
        """What a cell shows of it, with a text for where there are no widgets."""
        if self._is_closed:
            return {"text/plain": CLOSED}
        return {**(self._repr_mimebundle_() or {}), "text/plain": TEXT}

    def __repr__(self) -> str:
        return f"<Studio: {self._title(self._form)}. {self._head.cost}.>"

    def _ipython_display_(self) -> None:
        if not self._is_closed:
            # First the picture that stays in the notebook, then what works while there is a kernel.
            self._last_snapshot = self._snapshot()
            self._handle = display(self._last_snapshot, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        display(self.bundle(), raw=True)  # type: ignore[no-untyped-call]  # IPython is untyped here

    def _kind(self, model: Any) -> type[Input]:
        if isinstance(model, Input):
            return type(model)
        if isinstance(model, type) and issubclass(model, Input) and model.endpoint_id:
            return model
        if isinstance(model, str):
            known = self._forms.get(model)
            return known.kind if known is not None else self._till.model(model)
        raise ReelbookError(
            "A studio shows models: choose rb.ImageToVideo, some inputs or the id of a model, not "
            f"a {type(model).__name__}."
        )

    def _form_of(self, kind: type[Input]) -> Form:
        """The form of a model, made when it is first wanted."""
        form = self._forms.get(kind.endpoint_id)
        if form is None:
            # The till is a shop, as far as a form can tell.
            form = self._forms[kind.endpoint_id] = Form(kind, shop=cast("Shop", self._till))
            form.get_studio = me = weakref.ref(self)
            form.observe(lambda _: _redraw_later(me), "state")
            form.observe(lambda _: _make_notify(me)(), "sweeps")
        return form

    def _title(self, form: Form) -> str:
        known = {model["id"]: model["title"] for model in self._head.models}
        return str(known.get(form.kind.endpoint_id, form.kind.__name__))

    # What the page is told.

    def _refresh(self) -> None:
        """Show how things are."""
        if self._is_closed:
            return
        self._sweeps.update(self.forms)
        self._sweeps.read(self._gallery.in_background, self._till.notify)
        entries = self._till.entries
        self._gallery.set_runs(self._list_runs())
        self._head.cost = format_cost(entries, self._sweeps.cost)
        # Each end of a run changes the account; so does connecting.
        ends = sum(entry.is_over for entry in entries) + sum(job.is_done for job in self._sweeps.jobs)
        now = ends, self._till.client_told()
        if now != self._account_state:
            self._account_state = now
            self._head.refresh_account()
        self._draw()

    def _list_runs(self) -> list[StudioRun | LibraryRun]:
        """Everything that was run here, the newest first."""
        bought: list[tuple[float, StudioRun | LibraryRun]] = [
            (entry.started_at, StudioRun(entry)) for entry in self._till.entries
        ]
        both = sorted([*bought, *self._sweeps.items()], key=lambda pair: pair[0])
        return [one for _, one in reversed(both)]

    def _draw(self) -> None:
        """Redraw the static picture, where it would be another one."""
        handle = self._handle
        snapshot = None if handle is None else self._snapshot()
        if snapshot is not None and snapshot != self._last_snapshot:
            self._last_snapshot = snapshot
            handle.update(snapshot, raw=True)

    def _key(self) -> tuple[Any, ...]:
        """What the page would show, in few parts: a studio of many runs must not take the turns of the others."""
        news = [entry.progress_key for entry in self._till.entries]
        states, fractions, _ = zip(*news, strict=True) if news else ((), (), ())
        return states, sum(fractions) / max(len(news), 1), self._sweeps.key

    def _is_over(self) -> bool:
        return self._till.is_over and self._sweeps.is_over

    def _snapshot(self) -> dict[str, Any]:
        return studio_bundle(self._form, self._list_runs(), self._head.cost, mark=self._mark)

    def _send(self, msg: Any, buffers: Any = None) -> None:
        super()._send(msg, buffers)
        forget_reply_thread(self)


def _copy_fields(before: Form, form: Form) -> list[str]:
    """Put what both have into the new form, where it has nothing of its own; says which fields."""
    try:
        typed: Any = before.checked()
    except ReelbookError:
        typed = None
    had, has, carried = before.draft, form.draft, []
    for name in COPIED:
        if not (name in had and form.has(name) and name not in has) or had[name] in (None, ""):
            continue
        # Typed where that can be had: a picture may be nowhere but in the form before.
        form.edit(name, had[name] if typed is None else getattr(typed, name))
        if any(problem["at"][:1] == [name] for problem in form.state["problems"]):
            form.edit(name)
        else:
            carried.append(name.removesuffix("_url").replace("_", " "))
    return carried


def _get_studio(here: weakref.ref[Studio]) -> Studio:
    studio = here()
    if studio is None:
        raise ReelbookError(CLOSED)
    return studio


def _make_notify(here: weakref.ref[Studio]) -> Callable[[], None]:
    def notify() -> None:
        if (studio := here()) is not None:
            studio._updates.start()

    return notify


def _redraw_later(here: weakref.ref[Studio]) -> None:
    studio = here()
    if studio is not None and studio._handle is not None:
        studio._updates.start()


def _find_kind(here: weakref.ref[Studio], model: str) -> type[Input] | None:
    """The class of a model, where nobody need be asked for it."""
    studio = here()
    known = (
        None if studio is None else next((form.kind for form in studio.forms if form.kind.endpoint_id == model), None)
    )
    return known or next((row.input for row in CATALOG if row.id == model), None)
