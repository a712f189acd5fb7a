"""The fields of a model as plain ipywidgets, for people who lay out their own."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets
import traitlets

from ...errors import InvalidInput, Problem, ReelbookError
from ...models.base import Input
from .drafts import Draft
from .fields import Node, sheet_of
from .pictures import Pictures
from .travelling import TYPED, is_typed

if TYPE_CHECKING:
    from .shop import Shop

FEW_CHOICES, MOST_LETTERS = 4, 40
LONG_JSON = 60
LEFT = "left to the service"


class Unset(Enum):
    """What a list of choices holds beside its values."""

    LEFT = LEFT
    """The field is not sent at all."""
    NONE = "none"
    """The field is sent, and is null."""


class _Value(traitlets.TraitType[Any, Any]):
    """The inputs as a trait, so that `observe` and `interactive_output` work as with any control."""

    def get(self, obj: Any, cls: Any = None) -> Any:
        return obj.checked()

    def set(self, obj: Any, value: Any) -> None:
        obj.fill(value)


class Controls(widgets.VBox):  # type: ignore[misc]  # ipywidgets has no types.
    """One plain widget for each field, with what is wrong with it below: `controls["seed"]` is the widget of a field.

    Put the widgets wherever you like; `controls.value` has the inputs as soon as all of them are right. Numbers, choices
    and texts have the widgets one expects. Lists, objects and numbers that may be left out are typed as JSON, and a field
    that is empty is left alone. `controls.value = boat` fills the widgets, `controls.observe(function, "value")` follows
    them, and a field is followed like any widget.

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

    value = _Value()
    """The inputs. `InvalidInput` names the fields that are not right yet."""

    def __init__(self, kind: type[Input], *, shop: Shop, value: Input | None = None) -> None:
        self.kind, self.shop = kind, shop
        sheet = sheet_of(kind)
        self._nodes: dict[str, Node] = {node["name"]: node for node in sheet["fields"]}
        self._pictures = Pictures(self)
        self._draft = Draft(kind, sheet, self._pictures)
        self._unread: dict[str, Problem] = {}
        """Fields in which something stands that is not JSON and has to be."""
        self._is_filling = False
        self._last: Input | InvalidInput
        self._widgets = {name: _widget(node) for name, node in self._nodes.items()}
        # Labels, because they show text as text: an HTML widget would run what stands in a title.
        self._words = {name: widgets.Label(layout={"display": "none"}) for name in self._nodes}
        rows = [widgets.VBox([self._widgets[name], self._words[name]]) for name in self._nodes]
        super().__init__(children=rows)
        shown = [*self._widgets.values(), *self._words.values(), *rows]
        styles = [widget.style for widget in shown if widget.has_trait("style")]
        self._own = [*shown, *styles, *(widget.layout for widget in (*shown, self))]
        """All that is closed with it; ipywidgets leaves layouts and styles open."""
        for name, widget in self._widgets.items():
            # Of choices the place: among them, 1 and true are two.
            widget.observe(self._follow(name), "index" if _is_listed(self._nodes[name]) else "value")
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

    def words(self, name: str) -> str:
        """What is wrong with a field, as it stands below it; empty where it is right."""
        self[name]
        return str(self._words[name].value)

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
        self._unread.clear()
        for name in self._nodes:
            self._show(name)
        self._judge()

    def send(self, content: Any, buffers: Any = None) -> None:
        """Nothing is told to a page beyond the values of the widgets."""

    def in_background(self, name: str, function: Callable[[], None]) -> None:
        """Do something in a thread of its own."""
        threading.Thread(target=function, name=f"reelbook-controls-{name}", daemon=True).start()

    def close(self) -> None:
        """Close every widget of it, with the layouts and styles that came with them."""
        for widget in self._own:
            widget.unobserve_all()
            widget.close()
        self._pictures.close()
        super().close()

    def _follow(self, name: str) -> Callable[[Any], None]:
        def changed(change: Any) -> None:
            if not self._is_filling:
                self._read(name)
                self._judge()

        return changed

    def _show(self, name: str) -> None:
        """Put into the widget of a field what its draft says."""
        shown = _shown(self._nodes[name], *self._of(name))
        self._is_filling = True
        try:
            if _is_listed(self._nodes[name]):
                self._widgets[name].index = shown
            else:
                self._widgets[name].value = shown
        finally:
            self._is_filling = False

    def _of(self, name: str) -> tuple[Any, ...]:
        return (self._draft.values[name],) if name in self._draft.values else ()

    def _read(self, name: str) -> None:
        """Put into the draft what stands in the widget of a field."""
        node, widget = self._nodes[name], self._widgets[name]
        self._unread.pop(name, None)
        try:
            typed = _chosen(node, widget.index) if _is_listed(node) else _typed(node, widget.value)
        except _NoJSON as error:
            self._unread[name] = Problem((name,), f"`{name}` is not JSON: {error}. Text stands in double quotes.", "json")  # fmt: skip
            typed = (widget.value,)
        self._draft.edit(name, *typed)
        # A picture that was pasted as an address is kept here: whole, it would be saved with the notebook.
        if node["kind"] == "image" and self._of(name) != typed:
            self._show(name)

    def _judge(self) -> None:
        before, self._last = self._last, self._judged()
        if isinstance(self._last, Input) and self._last != before:
            old = before if isinstance(before, Input) else None
            self.notify_change(traitlets.Bunch(name="value", old=old, new=self._last, owner=self, type="change"))

    def _judged(self) -> Input | InvalidInput:
        found = self._found()
        wrong: dict[str, list[str]] = {}
        for problem in found.problems if isinstance(found, InvalidInput) else ():
            at = str(problem.loc[0]) if problem.loc else ""
            wrong.setdefault(at if at in self._words else next(iter(self._words), ""), []).append(problem.message)
        for name, label in self._words.items():
            words = " ".join(wrong.get(name, ()))
            if label.value != words:
                label.value = words
                label.layout.display = None if words else "none"
        return found

    def _found(self) -> Input | InvalidInput:
        try:
            found: Input | InvalidInput = self._draft.read()
        except InvalidInput as error:
            found = error
        if not self._unread:
            return found
        others = found.problems if isinstance(found, InvalidInput) else ()
        others = tuple(problem for problem in others if not problem.loc or problem.loc[0] not in self._unread)
        return InvalidInput(self.kind.__name__, [*self._unread.values(), *others])


# Which widget a field has, and what stands in it.


def _widget(node: Node) -> Any:
    """The plain widget of a field, at its default."""
    told = {"description": node["label"], "tooltip": node.get("help", ""), "style": {"description_width": "initial"}}
    shown, kind = _shown(node), node["kind"]
    if _is_box(node):
        return widgets.Checkbox(value=shown, **told)
    if _is_listed(node):
        options = _options(node)
        few = len(options) <= FEW_CHOICES and sum(len(label) for label, _ in options) <= MOST_LETTERS
        return (widgets.ToggleButtons if few else widgets.Dropdown)(
            options=options, index=shown, equals=_is_same, **told
        )
    if _is_number(node):
        step = node.get("step") if isinstance(node.get("step"), (int, float)) else None
        if kind == "whole":
            return widgets.IntText(value=shown, step=step or 1, **told)
        # Without a step, a page takes any number.
        return widgets.FloatText(value=shown, step=step, **told)
    hint = LEFT if not node.get("required") and node.get("default") is None else ""
    short = kind in ("whole", "real") or (kind in ("text", "image") and not node.get("long"))
    return (widgets.Text if short else widgets.Textarea)(value=shown, placeholder=hint, **told)


def _is_box(node: Node) -> bool:
    """Whether a field is yes or no, and always one of them."""
    return node["kind"] == "check" and isinstance(node.get("default"), bool) and not node.get("nullable")


def _is_listed(node: Node) -> bool:
    """Whether a field is one of a list."""
    return node["kind"] in ("choice", "constant", "check") and not _is_box(node)


def _is_number(node: Node) -> bool:
    """Whether a field is a number, and always one."""
    default = node.get("default")
    is_one = isinstance(default, (int, float)) and not isinstance(default, bool)
    return node["kind"] in ("whole", "real") and is_one and not node.get("nullable")


def _options(node: Node) -> list[tuple[str, Any]]:
    """What a field is one of, as a page shows it and as it is here."""
    match node["kind"]:
        case "check":
            values = [("yes", True), ("no", False)]
        case "constant":
            values = [(_text(node["value"]), node["value"])]
        case _:
            values = [(choice["label"], choice["value"]) for choice in node["choices"]]
    labels = [label for label, _ in values]
    options: list[tuple[str, Any]] = [
        (label if labels.count(label) == 1 else json.dumps(value), value) for label, value in values
    ]
    if node.get("nullable"):
        options.insert(0, (Unset.NONE.value, Unset.NONE))
    if not any(_is_same(value, _default(node)) for _, value in options):
        options.insert(0, ("choose …" if node.get("required") else LEFT, Unset.LEFT))
    return options


def _default(node: Node) -> Any:
    """What a field has that is left alone."""
    return node["default"] if node.get("default") is not None else Unset.LEFT


def _shown(node: Node, *value: Any) -> Any:
    """What the widget of a field shows for a value of the draft, or for none; of a list, the place in it."""
    default, kind = node.get("default"), node["kind"]
    if _is_listed(node):
        wanted = _default(node) if not value else Unset.NONE if value[0] is None else value[0]
        places = (place for place, (_, one) in enumerate(_options(node)) if _is_same(one, wanted))
        return next(places, None)
    now = value[0] if value else default
    if now is None:
        return "null" if value and kind not in ("text", "image") else ""
    if _is_box(node):
        return bool(now)
    if _is_number(node):
        # What is too long for a page is a text in the draft.
        return int(now) if kind == "whole" else float(now)
    if kind in ("text", "image"):
        return str(now)
    if kind in ("whole", "real") and isinstance(now, str):
        return now
    return _text(now) if kind == "either" else _written(now)


def _chosen(node: Node, place: int | None) -> tuple[Any, ...]:
    """A choice as an edit of the draft: nothing where the field is left alone."""
    if place is None:
        return ()
    value = _options(node)[place][1]
    if value is Unset.LEFT or (_is_same(value, _default(node)) and not node.get("required")):
        return ()
    return (None,) if value is Unset.NONE else (value,)


def _typed(node: Node, value: Any) -> tuple[Any, ...]:
    """What stands in a widget as an edit of the draft: nothing where the field is left alone. `_NoJSON` says why it is none."""
    default, kind = node.get("default"), node["kind"]
    if _is_box(node) or _is_number(node):
        # What is no number is a text, of which the class says that it is none.
        is_finite = not isinstance(value, float) or math.isfinite(value)
        return () if value == default else (value if is_finite else str(value),)
    if kind in ("text", "image"):
        is_left = value == default or (value == "" and default is None)
        return () if is_left or (value == "" and node.get("required")) else (value,)
    if not value.strip():
        return ()
    if kind == "json":
        # As text, which the draft reads with all its digits.
        is_default = default is not None and value == _written(default)
        return () if is_default else ({TYPED: value},)
    try:
        found = _of_json(value)
    except _NoJSON:
        if kind in ("list", "object"):
            raise
        # The class says what is wrong with the text, if anything is.
        found = value
    return () if default is not None and _is_same(found, default) else (found,)


class _NoJSON(ValueError):
    """Why a text is not JSON."""


def _of_json(text: str) -> Any:
    def refused(word: str) -> Any:
        raise _NoJSON(f"{word} is no number there")

    def number(word: str) -> float:
        return float(word) if math.isfinite(float(word)) else refused(word)

    try:
        return json.loads(text, parse_constant=refused, parse_float=number)
    except (ValueError, RecursionError) as error:
        raise _NoJSON(str(error) if isinstance(error, (json.JSONDecodeError, _NoJSON)) else "it is too long or too deep") from None  # fmt: skip


def _text(value: Any) -> str:
    """A value where JSON and plain text may both stand: a text that would be read as JSON stands in quotes."""
    if not isinstance(value, str):
        return _written(value)
    try:
        _of_json(value)
    except _NoJSON:
        return value if value.strip() else json.dumps(value)
    return json.dumps(value, ensure_ascii=False)


def _written(value: Any) -> str:
    """A value as JSON for a person."""
    plain = _unpacked(value)
    if is_typed(value) and isinstance(plain, str):
        return str(value[TYPED])
    short = json.dumps(plain, ensure_ascii=False)
    return short if len(short) <= LONG_JSON else json.dumps(plain, ensure_ascii=False, indent=2)


def _unpacked(value: Any) -> Any:
    """A value of the draft without the wrapping of what was typed as JSON."""
    if is_typed(value):
        try:
            return _of_json(value[TYPED])
        except _NoJSON:
            return value[TYPED]
    if isinstance(value, dict):
        return {name: _unpacked(item) for name, item in value.items()}
    return [_unpacked(item) for item in value] if isinstance(value, list) else value


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: 1 is not true."""
    if isinstance(one, Unset) or isinstance(other, Unset):
        return one is other
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
