"""A studio in one cell: the choice of a model, its form, and a shelf of what was made, with what it cost."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets
import pandas as pd
import traitlets
from IPython.display import display

from ..display.formatting import STATE_SIGNS, format_credits, format_size, join_with_dots, shorten
from ..display.live import UPDATE_SECONDS
from ..display.original_links import linked_by
from ..display.run_card import run_figure
from ..errors import ReelbookError, UncertainRun
from ..models.base import Input
from ..models.catalog import CATALOG, find_endpoint
from ..storage.judgements import Answer, Judgement, Kind
from ..sweeps.table_files import find_column, find_paths
from ..util.missing_values import is_missing
from ..util.printable import format_count
from .forms.form import Form
from .forms.runs import PressedRun, draw_or_say, list_uses, use_frame
from .forms.schema import Node, get_sheet
from .link import NewestOnly, ScriptLink

if TYPE_CHECKING:
    from ..current import Session
    from ..runs.run import Run
    from ..storage.library import Library
    from .forms.runs import Entry

TEXT = "A studio for models: forms, runs and a gallery; it works while the notebook's kernel runs."
CLOSED = "This studio is closed. Make another one with rb.studio()."
PROMPTS = ("prompt", "negative_prompt")
PAGE = 24
"""Cards that are shown at first, and how many more at a time."""
SEARCHED = ("prompt", "model", "error", "status", "seed", "output_seed")
SHELF = "on the shelf of the studio"
"""The question under which the library keeps what is starred and hidden."""
MARKS = {"star": Answer.KEEP, "hide": Answer.REJECT, "unmark": Answer.NONE}
USED = "The form has the inputs of this run now."
FOLDER = "picked"
"""The folder of what is saved, next to the notebook."""
DRAFTS = "studio.json"
"""The file in the library's folder with what was typed, for the time after a restart."""

log = logging.getLogger("reelbook")


class StudioPart(ScriptLink):
    """The head or the gallery: what takes time is read in the background, for the newest wish."""

    part = traitlets.Unicode().tag(sync=True)
    """`head` or `gallery`."""
    thread_label = "studio"

    def __init__(self, part: str, studio: Studio, read: Callable[[Mapping[str, Any]], None], **traits: Any) -> None:
        self.studio = studio
        self._wish: Mapping[str, Any] = {}
        """What was asked for last."""
        self._reader = NewestOnly(read, f"reelbook-studio-{part}")
        super().__init__("studio", part=part, **traits)

    def refresh(self) -> None:
        """Read again what was asked for last."""
        self._reader.put(self._wish)


class Head(StudioPart):
    """The choice of a model, and the account, which is read in the background."""

    models: Any = traitlets.List().tag(sync=True)
    """The models to choose from: the catalog, and others opened here."""
    chosen = traitlets.Unicode().tag(sync=True)
    """The id of the model whose form is displayed."""
    carried = traitlets.Unicode().tag(sync=True)
    """The sentence that names the fields copied from another form."""
    account = traitlets.Unicode().tag(sync=True)
    """The service and the credits, as text."""
    cost = traitlets.Unicode().tag(sync=True)
    """The cost of all runs of this studio, as text."""
    twin = traitlets.Unicode().tag(sync=True)
    """The mark of the static picture beside it, which the studio hides where it is displayed."""

    def __init__(self, studio: Studio, session: Session) -> None:
        models = [_describe_model(row.input) for row in CATALOG]
        twin = f"rb-studio-{id(self):x}"
        super().__init__("head", studio, self._read, models=models, twin=twin)
        self._session = session
        self.handlers = {"here": lambda content, _: self.refresh(), "choose": self._choose}

    def _read(self, wish: Mapping[str, Any]) -> None:
        account = _describe_account(self._session)
        if not self.is_closed:
            self.account = account

    def _choose(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Show the form of a model: `{do: "choose", id, model}`."""

        def choose() -> dict[str, Any]:
            self.studio.choose(str(content.get("model")))
            return {}

        self.answer(content, choose)


class Gallery(StudioPart):
    """The runs of the library as cards: searched, starred, hidden, saved, deleted, and used again."""

    shelf = traitlets.Dict().tag(sync=True)
    """The cards, how many there are, and what they were asked for by."""

    def __init__(self, studio: Studio, library: Callable[[], Library]) -> None:
        super().__init__("gallery", studio, self._read, shelf={"cards": [], "total": 0})
        self._library = library
        self.handlers = {"find": self._find_runs, "show": self._show, "act": self._act}

    def _find_runs(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Show runs of the library: `{do: "find", count, text, only: "" | "starred" | "hidden"}`."""
        if type(content.get("count")) is int:
            texts = {name: str(content.get(name) or "")[:200] for name in ("text", "only")}
            self._wish = {**texts, "count": max(content["count"], PAGE)}
            self.refresh()

    def _read(self, wish: Mapping[str, Any]) -> None:
        try:
            library = self._library()
            frame, marks = library.frame, read_marks(library)
            uses = list_uses(self.studio.form)
        except Exception as error:
            if not isinstance(error, ReelbookError):
                log.debug("the library could not be displayed", exc_info=True)
            shelf = {**self.shelf, "words": f"The library cannot be read: {error}"}
        else:
            found = _search(frame, marks, text=wish.get("text", ""), only=wish.get("only", ""))
            newest = found.iloc[::-1].head(wish.get("count", PAGE))
            rows = zip(newest.index, newest.to_dict("records"), _list_files(newest), strict=True)
            shelf = {
                "cards": [self._describe(number, row, files, marks) for number, row, files in rows],
                "total": len(found),
                "of": len(frame),
                "uses": uses,
                "wish": wish,
            }
        if not self.is_closed:
            self.shelf = shelf

    def _describe(
        self, number: Any, row: Mapping[Any, Any], files: Sequence[str], marks: Mapping[str, str]
    ) -> dict[str, Any]:
        """A run of the library as the page needs it."""
        known = {name: value for name, value in row.items() if not is_missing(value)}
        status, model, mark = str(known.get("status")), str(known.get("model")), marks.get(str(known.get("request_id")))
        seed, paid = known.get("output_seed", known.get("seed")), known.get("credits")
        facts = [
            "" if seed is None else f"seed {shorten(seed, 40)}",
            f"{len(files)} files" if len(files) > 1 else "",
            format_credits(None if paid is None else int(paid), str(known.get("credits_source")), status),
            # With hyphens and a space at which no line is broken.
            f"{known['created']:%Y\u2011%m\u2011%d\u00a0%H:%M}" if hasattr(known.get("created"), "strftime") else "",
        ]
        return {
            "key": str(number), "status": status, "mark": STATE_SIGNS.get(status, STATE_SIGNS["running"]),
            "star": mark == MARKS["star"], "hidden": mark == MARKS["hide"],
            "title": shorten(" ".join(str(known.get("prompt") or "").split()), 120) or short_model_name(model),
            "name": short_model_name(model), "facts": [fact for fact in facts if fact],
            "error": shorten(known.get("error") or "", 160), **({"file": self.register(Path(files[0]))} if files else {}),
        }  # fmt: skip

    def _show(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Send the card of a run as `display` shows it: `{do: "show", run}`."""
        key = str(content.get("run"))

        def show() -> None:
            run = self._find_run(key)
            with linked_by(self.link_file):
                self.send({"card": key, "html": draw_or_say(lambda: run_figure(run))})

        if key.isdecimal():
            self.in_background("show", show)

    def _act(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Do something with runs: `{do: "act", what, runs, sure?, model?, frame?, file?}`."""
        keys, what = content.get("runs"), content.get("what")
        if not isinstance(keys, list) or not keys or not all(isinstance(key, str) and key.isdecimal() for key in keys):
            return
        one: dict[str, Callable[[Run], dict[str, Any]]] = {
            "use": self._use,
            "use_in": lambda run: use_frame(self.studio.form, run, content),
        }
        many: dict[str, Callable[[Library, pd.DataFrame], dict[str, Any]]] = {
            "save": lambda library, rows: {"words": f"Saved in {library.export(FOLDER, rows)}"},
            "delete": lambda library, rows: delete_files(library, rows, is_sure=bool(content.get("sure"))),
            **{name: lambda library, rows, name=name: set_mark(library, rows, name) for name in MARKS},  # type: ignore[misc]
        }

        def act() -> None:
            try:
                if what in one:
                    answer = one[what](self._find_run(keys[0]))
                else:
                    library = self._library()
                    frame = library.frame
                    answer = many[str(what)](library, frame.loc[[int(key) for key in keys if int(key) in frame.index]])
            except ReelbookError as error:
                answer = {"words": str(error)}
            self.send({"acted": keys, "what": what, **answer})
            if what in ("delete", *MARKS):
                self.refresh()

        if what in one or what in many:
            self.in_background("act", act)

    def _find_run(self, key: str) -> Run:
        run: Run = self._library().run(int(key))
        return run

    def _use(self, run: Run) -> dict[str, Any]:
        if run.input is None:
            raise ReelbookError(f"The fields of {run.endpoint_id} are not known here. Open that model first.")
        self.studio.choose(run.input)
        return {"words": USED, "used": True}


def _list_files(table: pd.DataFrame) -> list[list[str]]:
    has_files = any(find_column(table, name) is not None for name in ("output_video", "output_images"))
    return list(find_paths(table)) if has_files else [[] for _ in range(len(table))]


def _search(frame: pd.DataFrame, marks: Mapping[str, str], *, text: str, only: str) -> pd.DataFrame:
    """The runs that contain all these words, without the hidden ones unless those are wanted."""
    marked = frame["request_id"].map(lambda request: marks.get(request, ""))
    wanted = {"starred": marked == MARKS["star"], "hidden": marked == MARKS["hide"]}
    frame = frame[wanted.get(only, marked != MARKS["hide"])]
    texts = pd.Series("", index=frame.index)
    for name in frame.columns.intersection(list(SEARCHED)):
        texts = texts + "\n" + frame[name].astype(object).map(str).str.lower()
    for word in text.lower().split():
        # As plain text, not as a pattern.
        texts = texts[texts.str.contains(word, regex=False)]
    return frame.loc[texts.index]


def read_marks(library: Library) -> dict[str, str]:
    """What is starred or hidden, by request id; the newest mark counts."""
    return {judgement.first: judgement.answer for judgement in library.judgements.read(SHELF)}


def set_mark(library: Library, rows: pd.DataFrame, name: str) -> dict[str, Any]:
    """Star runs, hide them, or neither; the library keeps it as a judgement."""
    for request in rows["request_id"].dropna():
        library.judgements.add(Judgement("studio", SHELF, Kind.KEEP, str(request), None, MARKS[name]))
    return {}


def delete_files(library: Library, rows: pd.DataFrame, *, is_sure: bool) -> dict[str, Any]:
    """Delete the files of runs, and keep the runs; asks first, with what it would cost to have them again."""
    others = library.frame.drop(rows.index)
    needed = {path for paths in _list_files(others) for path in paths}
    # Inputs name pictures of the library by their hash.
    inputs = others[[name for name in others.columns if not str(name).startswith("output_")]]
    sources = " ".join(map(str, inputs.to_numpy().ravel()))
    mine = dict.fromkeys(Path(path) for paths in _list_files(rows) for path in paths if path not in needed)
    files = [path for path in mine if path.is_file() and path.stem not in sources]
    if not files:
        return {"words": "These runs have no files here that nothing else needs."}
    size = format_size(sum(path.stat().st_size for path in files))
    if not is_sure:
        again = format_credits(int(rows["credits"].fillna(0).sum()))
        words = f"Delete {format_count(len(files), 'file')}, {size}? Making {'it' if len(rows) == 1 else 'them'} again costs {again}."
        return {"ask": words}
    for path in files:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise ReelbookError(f"{path} could not be deleted ({error.strerror}).") from error
    library.verify(rows)  # The rows learn that their files are gone.
    return {"words": f"Deleted {format_count(len(files), 'file')}, {size}."}


def short_model_name(model: str) -> str:
    """The short name of a model: the title of its form, if it is in the catalog.

    >>> short_model_name("svc/video-gen/v2.1/master/image-to-video"), short_model_name("lab/song-maker")
    ('Image to video', 'song-maker')
    """
    known = next((row.input for row in CATALOG if row.id == model), None)
    if known is not None:
        return str(get_sheet(known)["title"])
    return shorten(model.rstrip("/").rpartition("/")[2] or model, 60)


class Studio(ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets ships no types.
    """The complete toolkit in one cell: choose a model, fill its form, run it, see the results and the cost.

    `studio.form` is the current form, `studio.value` its inputs, `studio.runs` all runs started here. Each model
    keeps its form: one that is chosen again has its values and its runs. It is a widget like any other.

    Example::

        studio = rb.studio(boat)
    """

    def __init__(self, kind: type[Input], *, session: Session, value: Input | None = None) -> None:
        self._is_closed = False
        self._updates = NewestOnly(lambda _: self._refresh(), "reelbook-studio", pause=UPDATE_SECONDS)
        self._handle: Any = None
        self._last_snapshot: dict[str, Any] | None = None
        self._forms: dict[str, Form] = {}
        self._seen: tuple[Any, ...] = ()
        self._session = session
        self._drafts = read_drafts(session)
        self._head = Head(self, session)
        self._gallery = Gallery(self, session.library)
        self._form = self._ensure_form(kind, value)
        # In a box of its own, so that another form leaves the gallery as it is.
        self._place = ipywidgets.VBox((self._form,), layout=ipywidgets.Layout(overflow="visible"))
        super().__init__((self._head, self._place, self._gallery), layout=ipywidgets.Layout(overflow="visible"))
        self.add_class("rbs-studio")
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
        pressed = (entry.run for entry in self._entries if isinstance(entry, PressedRun))
        return tuple(run for run in pressed if run is not None)

    @property
    def kinds(self) -> list[type[Input]]:
        """The models to choose from."""
        known = {row.id: row.input for row in CATALOG}
        return list((known | {form.kind.endpoint_id: form.kind for form in self.forms}).values())

    def choose(self, model: type[Input] | Input | str) -> Form:
        """Display the form of a model, given its class, its id or inputs to fill it with; return the form."""
        kind = self._get_kind(model)
        if self._is_closed:
            raise ReelbookError(CLOSED)
        before, form = self._form, self._ensure_form(kind)
        names = _copy_fields(before, form) if form is not before and not isinstance(model, Input) else []
        if isinstance(model, Input):
            form.fill(model)
        self._form = form
        if all(known["id"] != kind.endpoint_id for known in self._head.models):
            self._head.models = [*self._head.models, _describe_model(kind)]
        self._head.carried = format_carried(names, short_model_name(before.kind.endpoint_id))
        self._head.chosen = kind.endpoint_id
        if form is not before:
            self._place.children = (form,)
        self._refresh()
        return form

    def close(self) -> None:
        """Remove it from the page. Its runs go on, and are stored in the library."""
        if self._is_closed:
            return
        self._is_closed = True
        self._handle = None
        for part in (*self._forms.values(), self._head, self._gallery):
            part.close()
        # ipywidgets leaves these open.
        for part in (self._place.layout, self._place, self.layout):
            part.close()
        super().close()

    def bundle(self) -> dict[str, Any]:
        """The MIME bundle for a cell, with a text for pages without widgets."""
        if self._is_closed:
            return {"text/plain": CLOSED}
        return {**(self._repr_mimebundle_() or {}), "text/plain": TEXT}

    def __repr__(self) -> str:
        return f"<Studio: {short_model_name(self._form.kind.endpoint_id)}. {self._head.cost}.>"

    def _ipython_display_(self) -> None:
        if not self._is_closed:
            # First the static picture, which stays in the notebook, then the widget, which needs a kernel.
            self._last_snapshot = self._snapshot()
            self._handle = display(self._last_snapshot, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        display(self.bundle(), raw=True)  # type: ignore[no-untyped-call]  # IPython is untyped here

    def _get_kind(self, model: Any) -> type[Input]:
        if isinstance(model, Input):
            return type(model)
        if isinstance(model, str):
            known = self._forms.get(model)
            return known.kind if known is not None else self._session.model(model)
        kind: type[Input] = model
        return kind

    def _ensure_form(self, kind: type[Input], value: Input | None = None) -> Form:
        """The form of a model, made on first use, with these inputs or what was typed before a restart."""
        form = self._forms.get(kind.endpoint_id)
        if form is not None:
            return form
        form = self._forms[kind.endpoint_id] = Form(kind, session=self._session)
        form.studio = self
        if value is not None:
            form.fill(value)
        elif draft := self._drafts.get(kind.endpoint_id):
            restored = form.restore(draft)
            self._head.carried = format_carried([form.node(name)["label"] for name in restored], "last time")
        form.observe(lambda _: self._updates.put(True), ["state", "records"])
        return form

    @property
    def _entries(self) -> list[Entry]:
        """Everything that was started in all forms, the oldest first."""
        entries = (entry for form in self.forms for entry in form.running.all)
        return sorted(entries, key=lambda entry: entry.started_at)

    # Display.

    def _refresh(self) -> None:
        """Update the gallery, the cost, the account, and what stays."""
        if self._is_closed:
            return
        self._head.cost = format_cost(self._entries)
        # What this session has spent and what is left are about the same runs; connecting changes the account, too.
        now = self._head.cost, self._session.service_name(), sum(entry.is_over for entry in self._entries)
        if now != self._seen:
            self._seen = now
            self._head.refresh()
            self._gallery.refresh()
        with self._head.lock:  # So that an older state never replaces a newer one.
            write_drafts(self._session, {form.kind.endpoint_id: form.draft for form in self.forms})
        snapshot = None if self._handle is None else self._snapshot()
        if snapshot is not None and snapshot != self._last_snapshot:
            self._last_snapshot = snapshot
            self._handle.update(snapshot, raw=True)

    def _snapshot(self) -> dict[str, Any]:
        """The MIME bundle of the static picture; by its mark, the studio finds and hides it."""
        return self._form.make_snapshot(self._entries, mark=self._head.twin, note=self._head.cost)


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
            carried.append(form.node(name)["label"])
    return carried


def _holds_file(node: Node) -> bool:
    """Whether a field takes a picture or a clip."""
    return node["kind"] == "image" or node["name"] in ("image_url", "video_url")


def format_carried(names: list[str], title: str) -> str:
    """The sentence that names the fields copied from another form.

    >>> format_carried(["Prompt", "Number of frames"], "Text to video")
    'Kept from Text to video: Prompt, Number of frames.'
    """
    return f"Kept from {title}: {', '.join(names)}." if names else ""


# What was typed survives the kernel.


def read_drafts(session: Session) -> dict[str, dict[str, Any]]:
    """What was typed last into a studio of this library, by model."""
    try:
        stored = json.loads((session.library().folder / DRAFTS).read_text(encoding="utf-8"))
        return dict(stored["drafts"])
    except (OSError, ValueError, LookupError, TypeError, ReelbookError):
        return {}


def write_drafts(session: Session, drafts: Mapping[str, Any]) -> None:
    """Keep what is typed, in a library that is there already."""
    typed, stored = {model: draft for model, draft in drafts.items() if draft}, read_drafts(session)
    if not typed or typed.items() <= stored.items():
        return
    try:
        folder = session.library().folder
        if folder.is_dir() and any(folder.iterdir()):
            (folder / DRAFTS).write_text(json.dumps({"drafts": {**stored, **typed}}), encoding="utf-8")
    except (OSError, ValueError, TypeError, ReelbookError):
        log.debug("the draft of a studio could not be kept", exc_info=True)


# Models, account and cost in words.


def _describe_model(kind: type[Input]) -> dict[str, Any]:
    """A model for the choice: its title, its purpose and its lowest price."""
    row = find_endpoint(kind.endpoint_id)
    title = shorten(get_sheet(kind)["title"], 80)
    price = "" if row is None else f"from {row.base_credits} credits"
    return {"id": kind.endpoint_id, "title": title, "purpose": "" if row is None else row.purpose, "price": price}


def _describe_account(session: Session) -> str:
    """The service and the credits left; does not connect for it."""
    if (client := session.current) is None:
        return f"Not connected yet · the first run connects to {session.next_service_name()}"
    name = "Embedded service on this machine" if session.is_embedded else shorten(session.service_name(), 120)
    try:
        left = client.account().get("credits_available")
    except Exception as error:
        if not isinstance(error, ReelbookError):
            log.debug("the account could not be asked", exc_info=True)
        return f"{name} · The account could not be asked: {shorten(error, 300)}"
    return f"{name} · {left:,} credits left" if isinstance(left, (int, float)) else f"{name} · credits unknown"


def find_cost(entry: Entry) -> Counter[str]:
    """The credits of a run, a sweep or a race since it was started here, and what else is to be said of it."""
    if isinstance(entry, PressedRun):
        run = entry.run
        if run is None:
            return Counter(active=int(entry.is_sending), unknown=int(isinstance(entry.error, UncertainRun)))
        if not entry.is_over:
            return Counter(active=1)
        if run.from_library or run.credits is None:
            return Counter(["free" if run.from_library else "unknown"])
        return Counter(credits=run.credits, estimated=run.credits_source == "estimated")
    if entry.running is None:
        return Counter()
    return Counter(credits=entry.running.progress.spent_now, active=int(not entry.is_over))


def format_cost(entries: Sequence[Entry]) -> str:
    """The cost of all runs, in one line.

    >>> format_cost([])
    'This session: nothing run yet'
    """
    cost = sum(map(find_cost, entries), Counter[str]())
    if not cost:
        return "This session: nothing run yet"
    source = "estimated" if cost["credits"] and cost["estimated"] else None
    return "This session: " + join_with_dots(
        format_credits(cost["credits"], source),
        f"{cost['free']} from the library at no cost" if cost["free"] else "",
        f"{cost['unknown']} of unknown cost" if cost["unknown"] else "",
        f"{cost['active']} under way" if cost["active"] else "",
    )
