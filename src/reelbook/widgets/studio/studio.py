"""A studio: the choice of a model, its form, a gallery of the runs and their cost, in one cell."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import ipywidgets
from IPython.display import display
from markupsafe import Markup

from ...display.theme import blocks, render_card
from ...errors import ReelbookError
from ...models.base import Input
from ...models.catalog import CATALOG
from ...settings import options
from ..forms.base_widget import LiveUpdates
from ..forms.form import Form
from ..forms.run_cards import PressedRun, ShownRun
from ..forms.schema import Node
from ..forms.snapshot import format_runs, render_form_snapshot, render_thumb
from ..notebook import forget_reply_thread
from .gallery import Gallery
from .head import Head, format_carried, format_cost
from .sweeps import find_cost, find_stage, list_results, list_started

if TYPE_CHECKING:
    from ...current import Session
    from ...runs.run import Run
    from ...sweeps.job import SweepJob
    from ..forms.started import Started

TEXT = "A studio for models: forms, runs and a gallery; it works while the notebook's kernel runs."
CLOSED = "This studio is closed. Make another one with rb.studio()."
PROMPTS = ("prompt", "negative_prompt")


class Studio(ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets ships no types.
    """The complete toolkit in one cell: choose a model, fill its form, run it, see the results and the cost.

    `studio.form` is the current form, `studio.value` its inputs, `studio.runs` all runs started here. Each model
    keeps its form: one that is chosen again has its values and its runs. It is a widget like any other.

    Example::

        studio = rb.studio(boat)
    """

    def __init__(self, kind: type[Input], *, session: Session, value: Input | None = None) -> None:
        self._lock = threading.RLock()
        self._is_closed = False
        self._updates = LiveUpdates(
            self,
            lambda studio, _: studio._refresh(),
            lambda _: {},
            Studio._key,
            lambda studio: (
                all(entry.is_over for entry in studio._entries) and all(entry.is_over for entry in studio._started)
            ),
        )
        self._handle: Any = None
        self._last_snapshot: dict[str, Any] | None = None
        self._forms: dict[str, Form] = {}
        self._account_state = ("", "")
        self._session = session
        # All of these hold the studio weakly, so that a running thread does not keep it alive.
        me = weakref.ref(self)
        self._mark = f"rb-studio-{id(self):x}"
        self._head = Head(session, lambda model: _get_studio(me).choose(model), twin=self._mark)
        self._gallery = Gallery(
            lambda: session.library().frame,
            lambda model: _find_kind(me, model),
            lambda value: _get_studio(me).choose(value),
        )
        self._form = self._ensure_form(kind)
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
        """The forms of all models chosen here, in that order."""
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
        return tuple(entry.run for entry in self._entries if entry.run is not None)

    @property
    def jobs(self) -> tuple[SweepJob, ...]:
        """The sweeps of all forms, the oldest first."""
        return tuple(entry.job for entry in self._started if entry.job is not None)

    def choose(self, model: type[Input] | Input | str) -> Form:
        """Display the form of a model, given its class, its id or inputs to fill it with; return the form."""
        kind = self._get_kind(model)
        with self._lock:
            if self._is_closed:
                raise ReelbookError(CLOSED)
            before, form = self._form, self._ensure_form(kind)
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
        """Remove it from the page and stop its background work. Its runs go on, and are stored in the library."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        self._updates.close()
        self._handle = None
        for form in self._forms.values():
            form.close()
        for part in (self._head, self._gallery):
            part.close()
        # ipywidgets leaves it open.
        self.layout.close()
        super().close()

    def bundle(self) -> dict[str, Any]:
        """The MIME bundle for a cell, with a text for pages without widgets."""
        if self._is_closed:
            return {"text/plain": CLOSED}
        return {**(self._repr_mimebundle_() or {}), "text/plain": TEXT}

    def __repr__(self) -> str:
        return f"<Studio: {self._title(self._form)}. {self._head.cost}.>"

    def _ipython_display_(self) -> None:
        if not self._is_closed:
            # First the static picture, which stays in the notebook, then the widget, which needs a kernel.
            self._last_snapshot = self._snapshot()
            self._handle = display(self._last_snapshot, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        display(self.bundle(), raw=True)  # type: ignore[no-untyped-call]  # IPython is untyped here

    def _get_kind(self, model: Any) -> type[Input]:
        if isinstance(model, Input):
            return type(model)
        if isinstance(model, type) and issubclass(model, Input) and model.endpoint_id:
            return model
        if isinstance(model, str):
            known = self._forms.get(model)
            return known.kind if known is not None else self._session.model(model)
        raise ReelbookError(
            "A studio shows models: choose rb.ImageToVideo, some inputs or the id of a model, not "
            f"a {type(model).__name__}."
        )

    def _ensure_form(self, kind: type[Input]) -> Form:
        """The form of a model, made on first use."""
        form = self._forms.get(kind.endpoint_id)
        if form is None:
            form = self._forms[kind.endpoint_id] = Form(kind, session=self._session)
            form.get_studio = me = weakref.ref(self)
            form.observe(lambda _: _redraw_later(me), "state")
            form.observe(lambda _: _update_later(me), ["records", "sweeps"])
        return form

    def _title(self, form: Form) -> str:
        known = {model["id"]: model["title"] for model in self._head.models}
        return str(known.get(form.kind.endpoint_id, form.kind.__name__))

    @property
    def _entries(self) -> list[PressedRun]:
        """Every press of Run in all forms, the oldest first."""
        return sorted((entry for form in self.forms for entry in form.entries), key=lambda entry: entry.started_at)

    @property
    def _started(self) -> list[Started]:
        """The sweeps and races of all forms, the oldest first."""
        return list_started(self.forms)

    # Display.

    def _refresh(self) -> None:
        """Update the gallery, the cost and the account."""
        if self._is_closed:
            return
        self._gallery.set_runs(dict(self._list_runs()))
        self._head.cost = format_cost(self._entries, [find_cost(entry) for entry in self._started])
        # What this session has spent and what is left are about the same runs; connecting changes the account, too.
        now = self._head.cost, self._session.service_name()
        if now != self._account_state:
            self._account_state = now
            self._head.refresh_account()
        self._draw()

    def _list_runs(self) -> list[tuple[str, ShownRun]]:
        """All runs started here by their keys, the newest first; those of a sweep once it is over."""
        # Each form counts its own runs.
        pressed: list[tuple[float, str, ShownRun]] = [
            (entry.started_at, f"r{number}-{entry.key}", entry)
            for number, form in enumerate(self.forms)
            for entry in form.entries
        ]
        both = sorted([*pressed, *list_results(self._started)], key=lambda run: run[0])
        return [(key, run) for _, key, run in reversed(both)]

    def _draw(self) -> None:
        """Redraw the static picture, if it has changed."""
        handle = self._handle
        snapshot = None if handle is None else self._snapshot()
        if snapshot is not None and snapshot != self._last_snapshot:
            self._last_snapshot = snapshot
            handle.update(snapshot, raw=True)
            self._head.kept = self._count_results()

    def _key(self) -> tuple[Any, ...]:
        """A key that changes when the display would; of few parts, however many runs there are."""
        news = [entry.progress_key for entry in self._entries]
        states, fractions, _ = zip(*news, strict=True) if news else ((), (), ())
        return states, sum(fractions) / max(len(news), 1), tuple(map(find_stage, self._started))

    def _snapshot(self) -> dict[str, Any]:
        kept = self._count_results()
        runs = [run for _, run in self._list_runs()]
        return studio_bundle(self._form, runs, self._head.cost, mark=self._mark, kept=kept)

    def _count_results(self) -> int:
        """How many runs and sweeps have ended."""
        over = sum(entry.is_over for entry in self._entries)
        return over + sum(entry.is_over for entry in self._started)

    def _send(self, msg: Any, buffers: Any = None) -> None:
        super()._send(msg, buffers)
        forget_reply_thread(self)


def studio_bundle(form: Form, runs: Sequence[ShownRun], cost: str, *, mark: str, kept: int = 0) -> dict[str, Any]:
    """The MIME bundle of the static picture; by `mark`, the studio finds and hides it."""
    bundle = render_form_snapshot(form, mark=mark)
    lines = format_runs(runs)
    body = [blocks.heading("Studio"), blocks.small(cost), *render_thumb(runs), *map(blocks.small, lines)]
    card = Markup(render_card(*body, width=options.max_width))
    html = Markup('<div data-rb-twin="{}" data-rb-kept="{}">{}</div>').format(mark, kept, card)
    text = "\n".join(["Studio", bundle["text/plain"], cost, *lines])
    return {"text/html": str(html) + bundle["text/html"], "text/plain": text}


def _copy_fields(before: Form, form: Form) -> list[str]:
    """Copy pictures and clips that the new form has not set, and a prompt that means the same; return what was copied.

    A prompt means the same where both models require one: elsewhere it is an instruction of another kind.
    """
    try:
        typed: Any = before.checked()
    except ReelbookError:
        typed = None
    had, has, carried = before.draft, form.draft, []
    pictures = [name for name, value in had.items() if form.has(name) and _holds_file(form.node(name))]
    needs_prompt = all(one.has("prompt") and one.node("prompt").get("required") for one in (before, form))
    for name in (*pictures, *(PROMPTS if needs_prompt else ())):
        if not (name in had and form.has(name) and name not in has) or had[name] in (None, ""):
            continue
        # The typed value if possible: a picture may be only in the previous form.
        form.edit(name, had[name] if typed is None else getattr(typed, name))
        if any(problem["at"][:1] == [name] for problem in form.state["problems"]):
            form.edit(name)
        else:
            carried.append(name.removesuffix("_url").replace("_", " "))
    return carried


def _holds_file(node: Node) -> bool:
    """Whether a field takes a picture or a clip."""
    return node["kind"] == "image" or node["name"] in ("image_url", "video_url")


def _get_studio(studio_ref: weakref.ref[Studio]) -> Studio:
    studio = studio_ref()
    if studio is None:
        raise ReelbookError(CLOSED)
    return studio


def _update_later(studio_ref: weakref.ref[Studio]) -> None:
    if (studio := studio_ref()) is not None:
        studio._updates.start()


def _redraw_later(studio_ref: weakref.ref[Studio]) -> None:
    studio = studio_ref()
    if studio is not None and studio._handle is not None:
        studio._updates.start()


def _find_kind(studio_ref: weakref.ref[Studio], model: str) -> type[Input] | None:
    """The class of a model, if known without a request to the service."""
    studio = studio_ref()
    known = (
        None if studio is None else next((form.kind for form in studio.forms if form.kind.endpoint_id == model), None)
    )
    return known or next((row.input for row in CATALOG if row.id == model), None)
