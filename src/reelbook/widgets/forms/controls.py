"""The fields of a model as plain ipywidgets, for people who lay out their own."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets
import traitlets

from ...errors import InvalidInput, ReelbookError
from ...models.base import Input
from .drafts import TYPED, Draft
from .fields import Node, sheet_of
from .pictures import Pictures

if TYPE_CHECKING:
    from .shop import Shop

FEW_CHOICES, MOST_LETTERS = 4, 40
LEFT = "left to the service"


class _Value(traitlets.TraitType[Any, Any]):
    """The inputs as a trait, so that `observe` and `interactive_output` work as with any control."""

    def get(self, obj: Any, cls: Any = None) -> Any:
        return obj.checked()

    def set(self, obj: Any, value: Any) -> None:
        obj.fill(value)


class Controls(widgets.VBox):  # type: ignore[misc]  # ipywidgets has no types.
    """One plain widget for each field, with what is wrong with it below: `controls["seed"]` is the widget of a field.

    Put the widgets wherever you like; `controls.value` has the inputs as soon as all of them are right.
    """

    value = _Value()
    """The inputs. `InvalidInput` names the fields that are not right yet."""

    def __init__(self, kind: type[Input], *, shop: Shop, value: Input | None = None) -> None:
        self.kind, self.shop = kind, shop
        self._sheet = sheet_of(kind)
        self._nodes: dict[str, Node] = {node["name"]: node for node in self._sheet["fields"]}
        self._draft = Draft(kind, self._sheet, Pictures(self))
        self._is_filling = False
        self._last: Input | InvalidInput
        self._widgets = {name: _widget(node) for name, node in self._nodes.items()}
        # Labels, because they show text as text: an HTML widget would run what stands in a title.
        self._words = {name: widgets.Label(layout={"display": "none"}) for name in self._nodes}
        rows = [widgets.VBox([self._widgets[name], self._words[name]]) for name in self._nodes]
        super().__init__(children=rows)
        for name, widget in self._widgets.items():
            widget.observe(self._follow(name), "value")
        self._last = self._judged()
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
        """The values that differ from what is left alone."""
        return dict(self._draft.values)

    def checked(self) -> Input:
        """The inputs, or `InvalidInput`."""
        if isinstance(self._last, InvalidInput):
            raise InvalidInput(self._last.model, self._last.problems)
        return self._last

    def fill(self, value: Any) -> None:
        """Show these inputs, or a mapping of fields."""
        request = value if isinstance(value, self.kind) else self.kind(**value) if isinstance(value, Mapping) else None
        if request is None:
            raise ReelbookError(
                f"These controls are for {self.kind.endpoint_id}, and cannot show a {type(value).__name__}."
            )
        self._draft.fill(request)
        self._is_filling = True
        try:
            for name, widget in self._widgets.items():
                widget.value = _shown(self._nodes[name], self._draft.values.get(name))
        finally:
            self._is_filling = False
        self._judge()

    def send(self, content: Any, buffers: Any = None) -> None:
        """Nothing is told to a page beyond the values of the widgets."""

    def in_background(self, name: str, function: Callable[[], None]) -> None:
        """Do something in a thread of its own."""
        threading.Thread(target=function, name=f"reelbook-controls-{name}", daemon=True).start()

    def close(self) -> None:
        """Close every widget of it."""
        for row in self.children:
            for widget in (*row.children, row):
                widget.unobserve_all()
                widget.close()
        super().close()

    def _follow(self, name: str) -> Callable[[Any], None]:
        def changed(change: Any) -> None:
            if not self._is_filling:
                typed = _typed(self._nodes[name], change["new"])
                self._draft.edit(name, *typed)
                self._judge()

        return changed

    def _judge(self) -> None:
        before, self._last = self._last, self._judged()
        if isinstance(self._last, Input) and self._last != before:
            old = before if isinstance(before, Input) else None
            self.notify_change(traitlets.Bunch(name="value", old=old, new=self._last, owner=self, type="change"))

    def _judged(self) -> Input | InvalidInput:
        wrong: dict[str, list[str]] = {}
        try:
            found: Input | InvalidInput = self._draft.read()
        except InvalidInput as error:
            found = error
            for problem in error.problems:
                wrong.setdefault(str(problem.loc[0]) if problem.loc else next(iter(self._nodes)), []).append(
                    problem.message
                )
        for name, label in self._words.items():
            words = " ".join(wrong.get(name, ()))
            if label.value != words:
                label.value = words
                label.layout.display = None if words else "none"
        return found


def _widget(node: Node) -> Any:
    """The plain widget of a field, at its default."""
    told = {"description": node["label"], "tooltip": node.get("help", ""), "style": {"description_width": "initial"}}
    value, kind = _shown(node, None), node["kind"]
    if kind == "check" and isinstance(value, bool):
        return widgets.Checkbox(value=value, **told)
    if _is_listed(node):
        options = [(choice["label"], choice["value"]) for choice in node["choices"]]
        few = len(options) <= FEW_CHOICES and sum(len(label) for label, _ in options) <= MOST_LETTERS
        return (widgets.ToggleButtons if few else widgets.Dropdown)(options=options, value=value, **told)
    if kind == "whole" and isinstance(value, int):
        return widgets.IntText(value=value, **told)
    if kind == "real" and isinstance(value, float):
        return widgets.FloatText(value=value, step=node.get("step", 0.05), **told)
    long = node.get("long") or kind in ("list", "object", "json", "either", "again")
    hint = LEFT if not node.get("required") and node.get("default") is None else ""
    return (widgets.Textarea if long else widgets.Text)(value=value, placeholder=hint, **told)


def _is_listed(node: Node) -> bool:
    """Whether a field is one of some choices, and always one of them."""
    return node["kind"] == "choice" and any(choice["value"] == node.get("default") for choice in node["choices"])


def _shown(node: Node, value: Any) -> Any:
    """What the widget of a field shows for a value of the draft."""
    value = node.get("default") if value is None else value
    kind = node["kind"]
    if (kind == "check" and isinstance(node.get("default"), bool)) or _is_listed(node):
        return value
    if kind in ("whole", "real") and isinstance(node.get("default"), (int, float)) and isinstance(value, (int, float)):
        return float(value) if kind == "real" else value
    if value is None:
        return ""
    if isinstance(value, dict) and set(value) == {TYPED}:
        return value[TYPED]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _typed(node: Node, value: Any) -> tuple[Any, ...]:
    """What stands in a widget as an edit of the draft: nothing where the field is left alone."""
    kind, default = node["kind"], node.get("default")
    if isinstance(value, str) and kind not in ("text", "image") and not _is_listed(node):
        if not value.strip():
            return ()
        try:
            value = json.loads(value)
        except ValueError:
            # Not JSON: the class says what is wrong with the text.
            return (value,) if kind != "json" else ({TYPED: value},)
        return (value,) if kind != "json" else ({TYPED: json.dumps(value)},)
    if value == "" and (node.get("required") or default is None):
        return ()
    return () if value == default and not node.get("required") else (value,)
