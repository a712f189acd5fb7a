"""A paid service as a `models.toml` names it: its address, and where its key is: `env:NAME`, `keyring:NAME` or `file:PATH`."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, StrictInt, ValidationInfo, WithJsonSchema

from reelbook.errors import ReelbookError
from reelbook.relay import KEYRING, Key

from ..weights.config import ConfigTable

FORMS = {"env": r"[A-Za-z_][A-Za-z0-9_]{0,63}", "keyring": r"[A-Za-z0-9_.@:/ -]{1,200}", "file": ".+"}
"""The kinds of references to a key, each with the form of what it names."""
_WHERE = '"env:NAME" for a variable, "keyring:NAME" for the system\'s keyring, or "file:PATH"'


def read_key(reference: object, folder: Path) -> Key:
    """The key that a reference leads to; relative paths begin at `folder`. No error contains the key."""
    kind, _, name = reference.partition(":") if isinstance(reference, str) else ("", "", "")
    name = name.strip()
    if not re.fullmatch(FORMS.get(kind, "(?!)"), name):
        del reference, kind, name  # Not quoted: it may be the key.
        raise ReelbookError(
            "key: this looks like the key itself, which does not belong in a file that is copied and shared: take it out, "
            f"and write where to find it: {_WHERE}."
        )
    if kind == "env":
        key = Key(os.environ.get(name, "").strip())
        problem = f"the variable {name} is not set, or empty. Set it where the service is started, such as with: export {name}=…"
    elif kind == "keyring":
        key, problem = _read_keyring(name)
    else:
        key, problem = _read_file(folder / Path(name).expanduser())
    if not key:
        raise ReelbookError(f"key: {problem}")
    return key


def _read_keyring(name: str) -> tuple[Key, str]:
    """The key, or why there is none."""
    try:
        import keyring

        words = f"the system's keyring has no key under {name!r}. Store it with: keyring set {KEYRING} {name!r}"
        return Key(keyring.get_password(KEYRING, name)), words
    except ImportError:
        return Key(None), "the system's keyring is read with an extra: pip install 'reelbook[keys]'."
    except keyring.errors.KeyringError as error:
        return Key(None), f"the system's keyring cannot be read ({type(error).__name__})."


def _read_file(path: Path) -> tuple[Key, str]:
    """The key, or why there is none."""
    try:
        if os.name == "posix" and path.stat().st_mode & 0o077 and path.is_file():
            words = f"others can read {path}, so the key in it is not safe. Make it yours alone: chmod 600 {path}"
            return Key(None), words
        return Key(path.read_text(encoding="utf-8").strip()), f"the file {path} is empty."
    except (OSError, UnicodeDecodeError) as error:
        return Key(None), f"the file {path} cannot be read ({getattr(error, 'strerror', 'it is not text')})."


def _check_address(address: str) -> str:
    try:
        parts = urlsplit(address)
        is_plain = not (parts.username or parts.password or parts.query or parts.fragment)
        is_good = is_plain and parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good:
        raise ReelbookError(
            'address is "https://host/…", as the service names it, without a user name, a password or a query. The key has '
            "a line of its own."
        )
    return address.rstrip("/")


def _find_key(reference: Any, info: ValidationInfo) -> Key:
    context: Any = info.context
    return read_key(reference, context["folder"])


class HostedService(ConfigTable):
    """`[services.NAME]`: a paid service, with the key that pays for its runs."""

    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,40}$")
    address: Annotated[str, AfterValidator(_check_address)] = Field(repr=False)
    key: Annotated[Key, BeforeValidator(_find_key), WithJsonSchema({"type": "string"})]
    at_once: StrictInt = Field(8, ge=1, le=256)
    """How many runs it works on at once."""
    charges_failures: StrictBool = True
    """Whether a run that failed or was cancelled counts with its price, where the service reports no charge."""

    @property
    def host(self) -> str:
        """Its host and port, for whoever runs the gateway."""
        return urlsplit(self.address).netloc

    @property
    def lane(self) -> str:
        """The name of the lane of its runs."""
        return f"hosted:{self.name}"

    @property
    def label(self) -> str:
        """What pages say of it: without its address."""
        return f"hosted ({self.name})"
