"""References to a key: `env:NAME`, `keyring:NAME` or `file:PATH`, in place of the key itself."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from reelbook.errors import ReelbookError
from reelbook.relay import KEYRING, Key

FORMS = '"env:NAME" for a variable, "keyring:NAME" for the system\'s keyring, or "file:PATH"'
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_NAME = re.compile(r"[A-Za-z0-9_.@:/ -]{1,200}")


class BadKeyReference(ReelbookError, ValueError):
    """A reference to a key that cannot be used; its text never contains the key."""


def read_key(reference: object, folder: Path) -> Key:
    """The key that a reference leads to; relative paths begin at `folder`."""
    kind, _, name = reference.partition(":") if isinstance(reference, str) else ("", "", "")
    readers = {"env": _from_environment, "keyring": _from_keyring, "file": _from_file}
    if kind not in readers:
        # Not quoted: it may be the key.
        del reference, kind, name
        raise BadKeyReference(
            "this looks like the key itself, which does not belong in a file that is copied and shared: take it out, "
            f"and write where to find it: {FORMS}."
        )
    return readers[kind](name.strip(), folder)


def _from_environment(name: str, folder: Path) -> Key:
    if not _VARIABLE.fullmatch(name):
        del name
        raise BadKeyReference(
            'behind "env:" comes the name of a variable, such as TEACHER_KEY, and not the key itself.'
        )
    if not os.environ.get(name, "").strip():
        raise BadKeyReference(
            f"the variable {name} is not set, or empty. Set it where the service is started, such as with: export {name}=…"
        )
    return Key(os.environ[name])


def _from_keyring(name: str, folder: Path) -> Key:
    if not _NAME.fullmatch(name):
        del name
        raise BadKeyReference('behind "keyring:" comes the name under which the key is stored.')
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        raise BadKeyReference("the system's keyring is read with an extra: pip install 'reelbook[keys]'.") from None
    try:
        key = Key(keyring.get_password(KEYRING, name))
    except KeyringError as error:
        raise BadKeyReference(f"the system's keyring cannot be read ({type(error).__name__}).") from None
    if not key:
        raise BadKeyReference(
            f"the system's keyring has no key under {name!r}. Store it with: keyring set {KEYRING} {name!r}"
        )
    return key


def _from_file(name: str, folder: Path) -> Key:
    path = folder / Path(name).expanduser()
    try:
        facts = path.stat()
        if not name or not stat.S_ISREG(facts.st_mode):
            raise BadKeyReference('behind "file:" comes the path of a file with nothing but the key in it.')
        if os.name == "posix" and facts.st_mode & 0o077:
            raise BadKeyReference(
                f"others can read {path}, so the key in it is not safe. Make it yours alone: chmod 600 {path}"
            )
        key = Key(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise BadKeyReference(f"the file {path} cannot be read ({why}).") from None
    if not key:
        raise BadKeyReference(f"the file {path} is empty.")
    return key
