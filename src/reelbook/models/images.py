"""Source pictures as values of an input: paths, addresses and pictures in memory."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import PurePath
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, GetCoreSchemaHandler, ValidationInfo, ValidatorFunctionWrapHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from ..errors import InvalidInput, Problem, ReelbookError
from .json_schema import rules_at, schema_of
from .picture_encoding import NotAPicture, encode_picture, has_picture_method, is_encodable
from .value_types import Text, is_wire_json

PictureKind = Literal["path", "memory", "library"]
Place = tuple[str | int, ...]

_ADDRESS = re.compile(r"https?://|data:|file_[0-9a-f]+\Z", re.IGNORECASE)
"""Addresses that a service reads itself: http(s), `data:`, or the `file_id` of an upload."""
_IN_LIBRARY = re.compile(r"sha256:([0-9a-f]{64})\Z")


class Image(str):
    """A source picture that a service cannot fetch itself: a local file, or a picture in memory.

    It is a `str` of its JSON representation: the path, or `sha256:…` for content that was in memory. Two pictures with
    the same text are equal, so those in memory are compared by content. A path is read when the run is sent, not
    before.

    >>> Image.of("boat.png")
    'boat.png'
    >>> Image.of("boat.png").kind, Image.of("https://example.org/boat.png") == "https://example.org/boat.png"
    ('path', True)
    """

    __slots__ = ("content", "kind", "label", "sha256")

    kind: PictureKind
    """Location: a `path` on this machine, in `memory`, or in the `library`."""
    sha256: str | None
    """The hash of its content; None for a path, whose content is not known yet."""
    label: str
    """A short label for display."""
    content: bytes | None
    """The bytes of the file, for a picture in memory."""

    is_picture = True
    """Marks it, so that fields for plain text reject it."""

    def __new__(
        cls,
        path: Any,
        /,
        *,
        kind: PictureKind = "path",
        sha256: str | None = None,
        label: str = "",
        content: bytes | None = None,
    ) -> Self:
        if not isinstance(path, str):
            words = (
                "Give a picture to `Image.of`, which takes a path, an address, bytes, a PIL image, an array and more."
            )
            raise InvalidInput("Image", [Problem((), words, "picture")])
        image = super().__new__(cls, path)
        image.kind, image.sha256, image.label, image.content = kind, sha256, label or path, content
        return image

    @classmethod
    def of(cls, value: Any) -> str:
        """An `Image` from a value; an address that a service reads itself stays plain text.

        Takes a path, an address, bytes, an open file, a PIL image, an array (height × width, with 1, 3 or 4 channels;
        uint8, bool, or floats from 0 to 1), a matplotlib figure, a file of the service, or an earlier result.
        """
        try:
            return parse_picture(value)
        except NotAPicture as error:
            raise InvalidInput("Image", [Problem((), f"The picture {error}", "picture")]) from None

    @classmethod
    def from_library(cls, sha256: str) -> Self:
        """A picture that was sent before, by the hash of its content."""
        if not _IN_LIBRARY.match(f"sha256:{sha256}"):
            words = f"A picture in the library is named by 64 hexadecimal digits, and not {str(sha256)[:80]!r}."
            raise InvalidInput("Image", [Problem(("sha256",), words, "picture")])
        return cls(f"sha256:{sha256}", kind="library", sha256=sha256, label=f"picture {sha256[:12]}")

    @classmethod
    def _in_memory(cls, content: bytes, label: str) -> Self:
        sha256 = hashlib.sha256(content).hexdigest()
        return cls(f"sha256:{sha256}", kind="memory", sha256=sha256, label=label, content=content)

    def __repr__(self) -> str:
        # Source code, so that evaluating an input's `repr` gives an equal input.
        return str.__repr__(self) if self.sha256 is None else f"Image.from_library({self.sha256!r})"


def is_picture(value: Any) -> bool:
    """Whether a value is meant as one picture, though it may turn out to be a bad one.

    >>> is_picture("boat.png"), is_picture({"url": "boat.png"})
    (True, False)
    """
    return isinstance(value, (str, os.PathLike)) or _is_service_file(value) or is_encodable(value)


def parse_picture(value: Any) -> str:
    """What `Image.of` returns; raises `NotAPicture`, whose text continues after the name of a field."""
    if isinstance(value, Image):
        return value
    if isinstance(value, str):
        return _parse_text(str.__str__(value))
    if _is_service_file(value):
        return _address_of(value)
    if isinstance(value, os.PathLike) and not has_picture_method(value):
        path = os.fsdecode(value)
        return Image(path, label=PurePath(path).name)
    try:
        return Image._in_memory(*encode_picture(value))
    except NotAPicture:
        raise
    except ReelbookError as error:
        raise NotAPicture(f"could not be read. {error}") from error
    except Exception as error:
        # An object of any library may raise anything while it is converted.
        raise NotAPicture(f"could not be read: {str(error)[:300] or type(error).__name__}.") from error


def _parse_text(text: str) -> str:
    if _ADDRESS.match(text):
        return text
    if known := _IN_LIBRARY.match(text):
        return Image.from_library(known[1])
    if not text:
        raise NotAPicture("is empty. Give a path, an address, or a picture.")
    return Image(text, label=PurePath(text).name)


def _is_service_file(value: Any) -> bool:
    """Whether a value is a file of a response. Not tested by its class, which would be a circular import."""
    return isinstance(value, BaseModel) and isinstance(getattr(value, "url", None), str) and hasattr(value, "file_name")


def _address_of(file: Any) -> str:
    if str(file.content_type or "").lower().startswith("video/"):
        raise NotAPicture("is a video. Give one of its pictures: run.video for its last one, or run.video.still(0.5).")
    return str(file.url)


class PictureField:
    """Validates a source picture: in Python from any supported value, in a service from text, which stays unchanged."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_wrap_validator_function(
            self._validated,
            handler(source),
            serialization=core_schema.plain_serializer_function_ser_schema(str, when_used="json"),
        )

    def _validated(self, value: Any, as_text: ValidatorFunctionWrapHandler, info: ValidationInfo) -> str:
        if is_wire_json(info):
            return str(as_text(value))
        try:
            return self.read(value, as_text)
        except NotAPicture as error:
            raise PydanticCustomError("picture", "{reason}", {"reason": str(error)}) from None

    def read(self, value: Any, as_text: ValidatorFunctionWrapHandler) -> str:
        """The picture in a value of Python; raises `NotAPicture`."""
        picture = parse_picture(value)
        # Validation as text finds unpaired surrogates, which can neither be sent nor written.
        plain = str(as_text(str(picture)))
        return picture if isinstance(picture, Image) else plain


Picture = Annotated[Text, PictureField(), Field(json_schema_extra={"x-media": "image"})]
"""A source picture: an `Image`, or as plain text an http(s) or `data:` address or the `file_id` of an upload.

`x-media` marks the field as a picture for forms.
"""


def pictures_of(request: BaseModel) -> list[tuple[Place, str]]:
    """Every source picture in an input with its field path: an `Image`, or an address.

    >>> from reelbook.models.images_to_video import ImagesToVideo
    >>> pictures_of(ImagesToVideo(images=["a.png"]))
    [(('images', 0, 'url'), 'a.png')]
    """
    model = type(request)
    return list(_find_pictures(model if _has_picture_rules(model) else None, request, ()))


def _find_pictures(model: type[BaseModel] | None, value: Any, place: Place) -> Iterator[tuple[Place, str]]:
    """The pictures in a value; without a model only those that are an `Image`."""
    if isinstance(value, Image):
        yield place, value
    elif isinstance(value, str):
        # Only the first entries of a list can have rules of their own.
        if (
            model
            and value
            and _takes_picture(model, tuple(min(step, 9) if isinstance(step, int) else step for step in place))
        ):
            yield place, value
    elif isinstance(value, BaseModel):
        for attribute, field in type(value).model_fields.items():
            item = getattr(value, attribute)
            if isinstance(item, (str, BaseModel, tuple, dict)):
                yield from _find_pictures(model, item, (*place, field.alias or attribute))
        yield from _find_pictures(model, value.model_extra, place)
    elif isinstance(value, (tuple, dict)):
        for step, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _find_pictures(model, item, (*place, step))


@lru_cache(maxsize=4096)
def _takes_picture(model: type[BaseModel], place: Place) -> bool:
    """Whether a text in this place is the address of a picture."""
    return any(is_picture_rule(rule) for rule in rules_at(schema_of(model), place))


@lru_cache(maxsize=256)
def _has_picture_rules(model: type[BaseModel]) -> bool:
    """Whether a picture may stand somewhere as an address."""
    return "'x-media': 'image'" in str(schema_of(model))


def is_picture_rule(rule: Mapping[str, Any]) -> bool:
    """Whether a rule is that of a picture."""
    return rule.get("x-media") == "image"


def replace_pictures(wire: dict[str, Any], pictures: Mapping[Place, Any]) -> dict[str, Any]:
    """Replace the pictures in an input's JSON in place, and return it.

    >>> replace_pictures({"images": [{"url": "a.png"}]}, {("images", 0, "url"): "https://example.org/a.png"})
    {'images': [{'url': 'https://example.org/a.png'}]}
    """
    for place, value in pictures.items():
        holder: Any = wire
        for step in place[:-1]:
            holder = holder[step]
        holder[place[-1]] = value
    return wire


def unwrap_pictures(value: Any, make: Callable[[str], Any] = "sha256:{}".format) -> Any:
    """An input as the ledger stores it, with each of its pictures made from its hash; by default a text."""
    if isinstance(value, dict):
        if value.keys() == {"sha256"}:
            return make(value["sha256"])
        return {name: unwrap_pictures(item, make) for name, item in value.items()}
    return [unwrap_pictures(item, make) for item in value] if isinstance(value, list) else value
