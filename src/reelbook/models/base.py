"""Base classes of all model inputs and outputs."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from ..errors import InvalidInput, Problem
from ..util.printable import printable
from .problems import problems_of
from .signatures import present

WIRE: Mapping[str, bool] = {"wire": True}
"""The validation context of a service: JSON must match the schema exactly, without tolerance for rounding noise."""


def _first_paragraph(schema: dict[str, Any]) -> None:
    """Remove docstring examples from a JSON schema, whose readers may not know Python."""
    if "description" in schema:
        schema["description"] = schema["description"].partition("\n\n")[0]


class Part(BaseModel):
    """A small immutable value inside an input, such as one LoRA."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
        json_schema_extra=_first_paragraph,
    )

    # `self` is positional-only, because a described model may have a field of that name.
    def __init__(self, /, *by_position: Any, **values: Any) -> None:
        if by_position:
            # Python's own error for a second one, or for one that is also given by its name.
            values = dict(**type(self).__signature__.bind_partial(*by_position).arguments, **values)
        try:
            self.__pydantic_validator__.validate_python(values, self_instance=self)
        except ValidationError as error:
            raise InvalidInput(type(self).__name__, problems_of(type(self), error)) from None

    # Tells pydantic that this constructor only rewords errors: a part nested in an input is then
    # validated without it, and keeps its path (`loras[0].scale`) in the input's own error.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        super().__pydantic_init_subclass__(**options)
        if cls.model_fields:
            present(cls, cls.model_json_schema(), cls.__doc__ or "", f"rb.{cls._spelling()}")

    def __dir__(self) -> list[str]:
        # Leave out the methods of pydantic, which would clutter completion.
        own = {name for kind in type(self).__mro__ if issubclass(kind, Part) for name in vars(kind)}
        return sorted({*type(self).model_fields, *(name for name in own if not name.startswith(("_", "model_")))})

    def __setattr__(self, name: str, value: Any) -> None:
        kind = type(self).__name__
        words = f"`{name}` cannot be set: a {kind} never changes; make a new one, of an input with .revised({name}=…)."
        raise InvalidInput(kind, [Problem((name,), words, "frozen")])

    def __repr__(self) -> str:
        changed = self.changed()
        is_plain = all(name.isascii() and name.isidentifier() and not keyword.iskeyword(name) for name in changed)
        arguments = ", ".join(f"{name}={value!r}" for name, value in changed.items()) if is_plain else f"**{changed!r}"
        return f"{self._spelling()}({arguments})"

    __str__ = __repr__

    @classmethod
    def _spelling(cls) -> str:
        """The Python expression for this class."""
        return cls.__name__

    def __getitem__(self, name: str) -> Any:
        """The value of a field, by its name in JSON.

        >>> from reelbook.models.text_to_video import TextToVideo
        >>> TextToVideo(prompt="a paper boat")["resolution"]
        '720p'
        """
        return self._values()[name]

    def _values(self) -> dict[str, Any]:
        """All values by their names in JSON."""
        own = {name: getattr(self, attribute) for attribute, name in _names_in(type(self)).items()}
        return {**own, **(self.model_extra or {})}

    def changed(self) -> dict[str, Any]:
        """The fields that differ from their defaults.

        >>> from reelbook.models.text_to_video import LoRA
        >>> LoRA(path="watercolour", scale=1).changed()
        {'path': 'watercolour'}
        """
        names, fields = _names_in(type(self)), type(self).model_fields.items()
        defaults = {names[key]: field.get_default() for key, field in fields if not field.is_required()}
        return {
            name: value
            for name, value in self._values().items()
            # To a service 1 and True differ.
            if name not in defaults or (type(value), value) != (type(defaults[name]), defaults[name])
        }


@lru_cache(maxsize=1024)
def _names_in(kind: type[Part]) -> dict[str, str]:
    """The name in JSON of each attribute; a described model may have names that no attribute can have."""
    return {key: key if field.alias is None else field.alias for key, field in kind.model_fields.items()}


class Input(Part):
    """Base class of inputs: immutable, hashable, and strict, because a typo must not cost credits."""

    endpoint_id: ClassVar[str] = ""
    """The model this input belongs to."""

    def revised(self, /, **changes: Any) -> Self:
        """The same input with some fields changed, validated again.

        >>> from reelbook.models.text_to_video import TextToVideo
        >>> TextToVideo(prompt="a paper boat").revised(seed=8)
        TextToVideo(prompt='a paper boat', seed=8)
        """
        # Not model_copy(update=...), which would skip validation.
        names = _names_in(type(self))
        return type(self)(**{**self._values(), **{names.get(key, key): value for key, value in changes.items()}})

    def wire(self) -> dict[str, Any]:
        """The JSON object that the service receives: defaults included, nulls omitted.

        >>> from reelbook.models.images_to_video import ImagesToVideo
        >>> ImagesToVideo(images=["https://example.org/a.png"]).wire()
        {'images': [{'url': 'https://example.org/a.png', 'frames': 24}], 'fps': 24.0}
        """
        return self.model_dump(mode="json", exclude_none=True)


def parse_count(value: Any) -> int | None:
    """A count, also from text or from 3.0; None for anything else.

    >>> [parse_count(value) for value in (3, 3.0, "3", True, -1, "three", None)]
    [3, 3, 3, None, None, None, None]
    """
    try:
        count = Decimal(str(value)[:40])
        return int(count) if 0 <= count < 10**18 and count == int(count) else None
    except ArithmeticError:
        return None


# A malformed optional field of an answer counts as missing, so that a paid run is still followed and fetched.
Count = Annotated[int | None, BeforeValidator(parse_count)]
Words = Annotated[str | None, BeforeValidator(lambda value: value if isinstance(value, str) else None)]


class Output(BaseModel):
    """Base class of outputs. Fields outside the specification are preserved."""

    model_config = ConfigDict(frozen=True, extra="allow", use_attribute_docstrings=True)
    _local_files: tuple[Any, ...] = ()
    """The files of a run's output on this machine."""

    if TYPE_CHECKING:
        # Undeclared fields are preserved, so any attribute may exist.
        def __getattr__(self, name: str) -> Any: ...

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        # `repr` escapes values, but not the names of fields that a service adds.
        return ((name and printable(name), value) for name, value in super().__repr_args__())

    @property
    def files(self) -> tuple[File, ...]:
        """All files in this output, in order, including those in fields outside the specification."""
        return tuple(_files_in([value for _, value in self]))


class File(Output):
    """A file at the service, ready to be fetched."""

    url: str
    """Where to fetch it."""
    content_type: Words = None
    """Its MIME type, as far as the service says."""
    file_name: Words = None
    """Its name; the service makes one up where nobody gave one."""
    file_size: Count = None
    """Its size in bytes."""


def _files_in(values: Iterable[Any]) -> Iterator[File]:
    for value in values:
        if isinstance(value, File):
            yield value
        elif isinstance(value, dict) and isinstance(value.get("url"), str):
            yield File.model_validate(value)
        elif isinstance(value, (list, tuple)):
            yield from _files_in(value)
