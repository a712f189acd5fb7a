"""A page without a browser: it edits a form by the messages that a page sends, and reads what the kernel answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import count
from typing import Any, cast

from reelbook.current import Session
from reelbook.errors import InvalidInput
from reelbook.models.base import Input
from reelbook.widgets.forms.form import Form

ABSENT = object()
"""Stands for a field that goes back to its default."""
MAX_EXACT = 2**53
"""The largest whole number up to which JavaScript knows every one."""


class Page:
    """One page that shows one form."""

    def __init__(self, kind: type[Input]) -> None:
        self.form = Form(kind, session=Session())
        self._counter = count(1)
        self.tell({"do": "here", "view": "v"})

    def tell(self, content: Mapping[str, Any]) -> None:
        """What the page sends, as JSON and back, as it travels."""
        self.form._handle_custom_msg(json.loads(json.dumps(content)), [])

    def edit(self, name: str, value: Any = ABSENT) -> None:
        """One field gets a value as somebody typed it, or goes back to its default."""
        self.send(name) if value is ABSENT else self.send(name, typed(value, self.node(name)))

    def send(self, name: str, *value: Any) -> None:
        """One field gets a value as it is; the kernel has heard it when this ends."""
        number = next(self._counter)
        others = {other: typed for other, typed in self.form.draft.items() if other != name}
        self.tell(edit("v", number, **others, **({name: value[0]} if value else {})))
        assert self.form.state["n"] == number

    def show(self, values: Mapping[str, Any]) -> None:
        """The whole form has these values and no others."""
        for name in [name for name in self.form.draft if name not in values]:
            self.edit(name)
        for name, value in values.items():
            if name not in self.form.draft or not _same(self.form.draft[name], typed(value, self.node(name))):
                self.edit(name, value)

    def node(self, name: str) -> dict[str, Any]:
        """What the page draws for a field."""
        return next(node for node in self.form.sheet["fields"] if node["name"] == name)

    @property
    def names(self) -> list[str]:
        """The fields that the page draws, in its order."""
        return [node["name"] for node in self.form.sheet["fields"]]

    @property
    def places(self) -> list[list[Any]]:
        """Where problems stand."""
        return [problem["at"] for problem in self.form.state["problems"]]

    def value(self) -> Input | None:
        """The inputs as the form has them; None where it refuses them."""
        try:
            return cast(Input, self.form.value)
        except InvalidInput:
            return None


def edit(view: str, number: int, /, **values: Any) -> dict[str, Any]:
    """The message by which a page says what was typed."""
    return {"do": "edit", "view": view, "n": number, "draft": values}


def typed(value: Any, node: Mapping[str, Any]) -> Any:
    """A value as the control of this node sends it."""
    match node["kind"]:
        case "json":
            return json.dumps(value)
        case "list" if isinstance(value, list):
            return [typed(item, node["item"]) for item in value]
        case "object" if isinstance(value, dict):
            known = {field["name"]: field for field in node["fields"]}
            return {name: typed(item, known.get(name, {"kind": "json"})) for name, item in value.items()}
        case "whole" | "real" if isinstance(value, (int, float)) and not isinstance(value, bool):
            return _number(value)
        case _:
            return value


def _same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _number(value: float) -> Any:
    """A number as JavaScript has it: 24.0 is 24, and what it cannot hold exactly travels as text."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < MAX_EXACT else value
    return value if abs(value) <= MAX_EXACT else str(value)
