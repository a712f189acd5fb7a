"""The look of pages and widgets: style sheets and scripts of ours, which lie beside this module."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from markupsafe import Markup

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w.]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async |function |class |const ))", re.MULTILINE)
# Of whole lines only, which no text in a script of ours looks like.
_COMMENT = re.compile(r"^[ \t]*(?://[^\n]*|/\*(?:(?!\*/).)*\*/[ \t]*)\n", re.MULTILINE | re.DOTALL)


@cache
def asset(name: str, room: str = __package__) -> str:
    """The text of a style sheet or a script of ours, `tokens.css` for instance; from the assets of a package."""
    return files(room).joinpath("assets", name).read_text(encoding="utf-8")


def style(*names: str) -> Markup:
    """A `<style>` element with the ten colours and these style sheets."""
    return Markup("<style>{}</style>").format(Markup("".join(map(small, ("tokens.css", *names)))))


def script(*names: str) -> Markup:
    """A `<script>` element with these scripts and all that they import, as one module."""
    return Markup('<script type="module">{}</script>').format(Markup(module(*names)))


@cache
def module(*names: str, room: str = __package__) -> str:
    """The text of these scripts after that of all they import, each once: a notebook has no address to import from.

    Every name at the top of a file is therefore one for all the files of a module.
    """
    texts: dict[str, str] = {}
    for name in names:
        _gather(name, texts, room)
    return "".join(texts.values())


def _gather(name: str, texts: dict[str, str], room: str) -> None:
    if name in texts:
        return
    text = asset(name, room)
    for needed in _IMPORT.findall(text):
        _gather(needed, texts, room)
    texts[name] = _EXPORT.sub("", _COMMENT.sub("", _IMPORT.sub("", text))).strip() + "\n"


@cache
def small(name: str, room: str = __package__) -> Markup:
    """A style sheet without comments and needless space: it is kept in every notebook that shows something."""
    return Markup(
        re.sub(r"\s*([{};,])\s+", r"\1", re.sub(r"/\*.*?\*/", "", asset(name, room), flags=re.DOTALL)).strip()
    )
