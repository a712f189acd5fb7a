"""Lists of prompts from a template with placeholders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from string import Formatter
from typing import Any

from ...models.base import Input
from ...models.problems import format_literal
from ..sweep_errors import usage_error
from .axes import Assignment, Table
from .axis_values import coerce_axis_values
from .field_paths import get_fields, parse_field_path


@dataclass(frozen=True, slots=True)
class Template:
    """A text with gaps and the words for each gap; every combination is one text, the last gap varying fastest."""

    text: str
    words: Mapping[str, tuple[Any, ...]]
    name: str = "prompt"
    """The field that receives the text."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The gaps, and the field that receives the text."""
        return (*self.words, self.name)

    @property
    def labels(self) -> frozenset[str]:
        """The gaps, which are columns of the table."""
        return frozenset(self.words)

    def __len__(self) -> int:
        return prod(map(len, self.words.values()))

    def __iter__(self) -> Iterator[str]:
        return (str(setting.values[self.name]) for setting in self._settings(self.name))

    def for_field(self, name: str) -> Template:
        """The same template for another field."""
        return replace(self, name=name)

    def table(self, model: type[Input]) -> Table:
        """One setting for each text."""
        for gap in self.words:
            if gap in get_fields(model):
                raise usage_error(
                    f"The gap {{{gap}}} has the name of a field of the model; give the gap another name.",
                    "named_twice",
                    gap,
                )
        name = parse_field_path(model, self.name).name
        return Table((*self.words, name), list(self._settings(name)))

    def _settings(self, name: str) -> Iterator[Assignment]:
        for words in product(*self.words.values()):
            filled = dict(zip(self.words, words, strict=True))
            yield Assignment({name: self.text.format_map(filled)}, filled)


def template(text: str, /, **words: Any) -> Template:
    """Fill the gaps of a prompt with every combination of the words, which also become columns of the table.

    >>> list(template("a {colour} boat in {weather}", colour=["red", "blue"], weather=["rain"]))
    ['a red boat in rain', 'a blue boat in rain']
    """
    gaps = _gaps(text)
    for gap in gaps:
        if gap not in words:
            raise usage_error(
                f"The template has a gap {{{gap}}} and no words for it; add {gap}=[…], "
                "or write {{ and }} where braces are meant.",
                "template_words",
                gap,
            )
    for name in words:
        if name not in gaps:
            raise usage_error(f"The template has no gap {{{name}}} for the words of `{name}`.", "template_words", name)
    return Template(text, {gap: coerce_axis_values(gap, words[gap]) for gap in gaps})


def _gaps(text: str) -> list[str]:
    """The distinct names of the gaps in a template."""
    if not isinstance(text, str):
        raise usage_error(f"A template is a text with gaps, not {format_literal(text)}.", "template")
    try:
        parts = list(Formatter().parse(text))
    except ValueError as error:
        raise usage_error(
            f"The template {format_literal(text)} cannot be read: {error}. Write {{{{ and }}}} where braces are meant.",
            "template",
        ) from error
    gaps = [(name, spec, conversion) for _, name, spec, conversion in parts if name is not None]
    for name, spec, conversion in gaps:
        if not name.isidentifier() or spec or conversion:
            raise usage_error(f"The gap {{{name}}} in the template needs a plain name, such as {{colour}}.", "template")
    return list(dict.fromkeys(name for name, _, _ in gaps))
