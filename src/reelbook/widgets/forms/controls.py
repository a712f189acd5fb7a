"""The fields of a model as plain ipywidgets, for custom layouts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets
import traitlets

from ...errors import InvalidInput, Problem, ReelbookError
from ...models.base import Input
from .control_widgets import NotJSON, choice_to_edit, has_choices, make_widget, value_to_edit, widget_value
from .fields.control_tree import Node, get_sheet
from .fields.draft import Draft, InputTrait
from .pictures.form_pictures import Pictures

if TYPE_CHECKING:
    from ...session import Session


class Controls(widgets.VBox):  # type: ignore[misc]  # ipywidgets has no types.
    """One plain widget for each field, with its problems below: `controls["seed"]` is the widget of a field.

    Put the widgets wherever you like; `controls.value` has the inputs as soon as all of them are valid. Numbers, choices
    and texts have the usual widgets. Lists, objects and optional numbers are typed as JSON, and an empty field is not
    set. `controls.value = boat` fills the widgets, `controls.observe(function, "value")` observes
    them, and a field is observed like any widget.

    >>> from reelbook import TextToVideo, controls
    >>> fields = controls(TextToVideo(prompt="a paper boat"))
    >>> panel = widgets.HBox([fields["num_frames"], fields["resolution"]])
    >>> fields["num_frames"].value, fields["seed"].value, fields["loras"].value = 49, "7", '[{"path": "ink"}]'
    >>> fields.value
    TextToVideo(prompt='a paper boat', loras=(LoRA(path='ink'),), seed=7, num_frames=49)
    >>> fields["num_frames"].value = 5000
    >>> fields.words("num_frames")
    '`num_frames` = 5000 is outside 9 to 1441. The nearest allowed value is 1441.'
    >>> fields.close()
    """

    value = InputTrait()
    """The inputs; `InvalidInput` if a field is not valid."""

    def __init__(self, kind: type[Input], *, session: Session, value: Input | None = None) -> None:
        self.kind, self.session = kind, session
        sheet = get_sheet(kind)
        self._nodes: dict[str, Node] = {node["name"]: node for node in sheet["fields"]}
        self._pictures = Pictures(self)
        self._draft = Draft(kind, sheet, self._pictures)
        self._json_problems: dict[str, Problem] = {}
        """Fields whose text is required to be JSON and is not."""
        self._is_filling = False
        self._checked: Input | InvalidInput
        self._widgets = {name: make_widget(node) for name, node in self._nodes.items()}
        # Labels, because they display plain text: an HTML widget would run markup in a title.
        self._problem_labels = {name: widgets.Label(layout={"display": "none"}) for name in self._nodes}
        rows = [widgets.VBox([self._widgets[name], self._problem_labels[name]]) for name in self._nodes]
        super().__init__(children=rows)
        created = [*self._widgets.values(), *self._problem_labels.values(), *rows]
        styles = [widget.style for widget in created if widget.has_trait("style")]
        self._own = [*created, *styles, *(widget.layout for widget in (*created, self))]
        """Everything that is closed with it; ipywidgets leaves layouts and styles open."""
        for name, widget in self._widgets.items():
            # The index of choices, because 1 and true are different choices.
            widget.observe(self._make_observer(name), "index" if has_choices(self._nodes[name]) else "value")
        self._checked = self._validate()
        if value is not None:
            self.fill(value)

    def __getitem__(self, name: str) -> Any:
        try:
            return self._widgets[name]
        except KeyError:
            raise KeyError(f"There is no field {name!r}; there are {', '.join(self._widgets)}.") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._widgets)

    def __len__(self) -> int:
        return len(self._widgets)

    @property
    def draft(self) -> dict[str, Any]:
        """The values that were edited."""
        return dict(self._draft.values)

    def words(self, name: str) -> str:
        """The problems of a field, as displayed below it; empty if it is valid."""
        self[name]
        return str(self._problem_labels[name].value)

    def checked(self) -> Input:
        """The inputs; `InvalidInput` if a field is not valid."""
        if isinstance(self._checked, InvalidInput):
            raise InvalidInput(self._checked.model, self._checked.problems)
        return self._checked

    def fill(self, value: Any) -> None:
        """Fill the widgets with these inputs, or a mapping of fields."""
        request = value if isinstance(value, self.kind) else self.kind(**value) if isinstance(value, Mapping) else None
        if request is None:
            raise ReelbookError(
                f"These controls are for {self.kind.endpoint_id}, and cannot show a {type(value).__name__}."
            )
        self._draft.fill(request)
        self._json_problems.clear()
        for name in self._nodes:
            self._fill_widget(name)
        self._update_value()

    def send(self, content: Any, buffers: Any = None) -> None:
        """Do nothing: plain widgets send only their values to the page."""

    def in_background(self, name: str, function: Callable[[], None]) -> None:
        """Call a function in a new thread."""
        threading.Thread(target=function, name=f"reelbook-controls-{name}", daemon=True).start()

    def close(self) -> None:
        """Close all its widgets, with their layouts and styles."""
        for widget in self._own:
            widget.unobserve_all()
            widget.close()
        self._pictures.close()
        super().close()

    def _make_observer(self, name: str) -> Callable[[Any], None]:
        def on_change(change: Any) -> None:
            if not self._is_filling:
                self._read_widget(name)
                self._update_value()

        return on_change

    def _fill_widget(self, name: str) -> None:
        """Fill the widget of a field from the draft."""
        content = widget_value(self._nodes[name], *self._draft_value(name))
        self._is_filling = True
        try:
            if has_choices(self._nodes[name]):
                self._widgets[name].index = content
            else:
                self._widgets[name].value = content
        finally:
            self._is_filling = False

    def _draft_value(self, name: str) -> tuple[Any, ...]:
        return (self._draft.values[name],) if name in self._draft.values else ()

    def _read_widget(self, name: str) -> None:
        """Copy the value of a field's widget into the draft."""
        node, widget = self._nodes[name], self._widgets[name]
        self._json_problems.pop(name, None)
        try:
            typed = choice_to_edit(node, widget.index) if has_choices(node) else value_to_edit(node, widget.value)
        except NotJSON as error:
            self._json_problems[name] = Problem((name,), f"`{name}` is not JSON: {error}. Text stands in double quotes.", "json")  # fmt: skip
            typed = (widget.value,)
        self._draft.edit(name, *typed)
        # A picture pasted as a data URL is replaced by its short text, or the notebook would save all of it.
        if node["kind"] == "image" and self._draft_value(name) != typed:
            self._fill_widget(name)

    def _update_value(self) -> None:
        before, self._checked = self._checked, self._validate()
        if isinstance(self._checked, Input) and self._checked != before:
            old = before if isinstance(before, Input) else None
            self.notify_change(traitlets.Bunch(name="value", old=old, new=self._checked, owner=self, type="change"))

    def _validate(self) -> Input | InvalidInput:
        found = self._read_draft()
        messages: dict[str, list[str]] = {}
        for problem in found.problems if isinstance(found, InvalidInput) else ():
            at = str(problem.loc[0]) if problem.loc else ""
            messages.setdefault(at if at in self._problem_labels else next(iter(self._problem_labels), ""), []).append(
                problem.message
            )
        for name, label in self._problem_labels.items():
            text = " ".join(messages.get(name, ()))
            if label.value != text:
                label.value = text
                label.layout.display = None if text else "none"
        return found

    def _read_draft(self) -> Input | InvalidInput:
        try:
            found: Input | InvalidInput = self._draft.read()
        except InvalidInput as error:
            found = error
        if not self._json_problems:
            return found
        others = found.problems if isinstance(found, InvalidInput) else ()
        others = tuple(problem for problem in others if not problem.loc or problem.loc[0] not in self._json_problems)
        return InvalidInput(self.kind.__name__, [*self._json_problems.values(), *others])
