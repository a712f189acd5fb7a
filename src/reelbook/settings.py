"""User options for displays and saved copies, set for the session or within a block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any, Literal, get_args

from .errors import ReelbookError
from .util.printable import suggest

Embed = Literal["poster", "preview", "full"]
Theme = Literal["auto", "light", "dark"]
_WORDS: dict[str, tuple[str, ...]] = {"embed": get_args(Embed), "theme": get_args(Theme)}
MIN_WIDTH, MAX_WIDTH = 240, 4096


@dataclass(frozen=True, slots=True)
class Signing:
    """The certificate chain and private key that sign copies, each as a path or `env:NAME`."""

    certificate: str
    key: str = field(repr=False)


class Options:
    """Options as attributes: `rb.options.embed = "full"`, or `with rb.options(embed="full"): …` for a block.

    >>> chosen = Options()
    >>> with chosen(embed="full"):
    ...     chosen.embed
    'full'
    >>> chosen
    options: embed='poster', theme='auto', max_width=640, sign=None
    """

    embed: Embed = "poster"
    """How much of a clip is embedded in the notebook: a `poster` (for a clip displayed alone, also a small copy), a
    `preview` of at most 150 kB per clip, or the `full` file of one that is displayed alone; of many, previews."""
    theme: Theme = "auto"
    """Colour theme of pages and pictures outside a notebook: the system's, light, or dark."""
    max_width: int = 640
    """Maximum width of one result in pixels."""
    sign: Signing | None = None
    """Your certificate chain and private key, as paths or `env:NAME`, for C2PA signatures of the copies of `save()` and
    `export()`: `rb.options.sign = ("chain.pem", "env:SIGNING_KEY")`. Files signed by their maker are left unchanged."""

    def __setattr__(self, name: str, value: Any) -> None:
        vars(self)[name] = _check_option(name, value)

    @contextmanager
    def __call__(self, **choices: Any) -> Iterator[Options]:
        """Set options for the duration of a block."""
        before = dict(vars(self))
        try:
            for name, value in choices.items():
                setattr(self, name, value)
            yield self
        finally:
            vars(self).clear()
            vars(self).update(before)

    def __repr__(self) -> str:
        return "options: " + ", ".join(f"{name}={getattr(self, name)!r}" for name in Options.__annotations__)


def _check_option(name: str, value: Any) -> Any:
    """Validate the value of an option and return it. No error contains a value of `sign`, which may be the key itself."""
    if name not in Options.__annotations__:
        names = [*Options.__annotations__]
        raise ReelbookError(f"There is no option `{name}`.{suggest(name, names)} The options are: {', '.join(names)}.")
    if name == "sign":
        return _parse_signing(value)
    if name in _WORDS:
        if isinstance(value, str) and value in _WORDS[name]:
            return value
        raise ReelbookError(f"`{name}` is {', '.join(map(repr, _WORDS[name]))}, and not {value!r}.")
    if type(value) is int and MIN_WIDTH <= value <= MAX_WIDTH:
        return value
    raise ReelbookError(f"`{name}` is a whole number from {MIN_WIDTH} to {MAX_WIDTH}, and not {value!r}.")


def _parse_signing(value: Any) -> Signing | None:
    if value is None or isinstance(value, Signing):
        return value
    parts = value if isinstance(value, (list, tuple)) else ()
    if len(parts) == 2 and all(isinstance(part, (str, PathLike)) for part in parts):
        certificate, key = (str(fspath(part)) for part in parts)
        if certificate and key and "-----BEGIN" not in certificate + key and "\n" not in certificate + key:
            return Signing(certificate, key)
    raise ReelbookError(
        '`sign` is None, or where your certificate chain and your private key are: ("chain.pem", "key.pem"), each a path or '
        "env:NAME for a variable of the environment. Never the key itself."
    )


options = Options()
