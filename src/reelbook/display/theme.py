"""Style sheets and scripts of pages and widgets, from the `assets` folder of a package."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from markupsafe import Markup

# Scripts of another package may use those of this one.
_IMPORT = re.compile(r'^import \{[^}]*\} from "(?:\./|((?:\.\./)+display/assets/))([\w.]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async |function |class |const ))", re.MULTILINE)
# Complete lines only; no string in the scripts matches.
_COMMENT = re.compile(r"^[ \t]*(?://[^\n]*|/\*(?:(?!\*/).)*\*/[ \t]*)\n", re.MULTILINE | re.DOTALL)


@cache
def read_asset(name: str, package: str = __package__) -> str:
    """The text of a style sheet or script, `tokens.css` for instance, from the assets of a package."""
    return files(package).joinpath("assets", name).read_text(encoding="utf-8")


def render_style(*names: str) -> Markup:
    """A `<style>` element with the ten colours and these style sheets."""
    return Markup("<style>{}</style>").format(Markup("".join(map(minify_style, ("tokens.css", *names)))))


def render_script(*names: str) -> Markup:
    """A `<script>` element with these scripts and all that they import, as one module."""
    return Markup('<script type="module">{}</script>').format(Markup(bundle_scripts(*names)))


@cache
def bundle_scripts(*names: str, package: str = __package__) -> str:
    """The text of these scripts after that of all their imports, each once: a notebook has no URL to import from.

    Top-level names are therefore shared by all files of a bundle.
    """
    texts: dict[str, str] = {}
    for name in names:
        _collect_scripts(name, texts, package)
    return "".join(texts.values())


def _collect_scripts(name: str, texts: dict[str, str], package: str) -> None:
    if name in texts:
        return
    text = read_asset(name, package)
    for is_ours, needed in _IMPORT.findall(text):
        _collect_scripts(needed, texts, __package__ if is_ours else package)
    texts[name] = _EXPORT.sub("", _COMMENT.sub("", _IMPORT.sub("", text))).strip() + "\n"


@cache
def minify_style(name: str, package: str = __package__) -> Markup:
    """A style sheet without comments and redundant whitespace, because every output of a notebook contains it."""
    return Markup(
        re.sub(r"\s*([{};,])\s+", r"\1", re.sub(r"/\*.*?\*/", "", read_asset(name, package), flags=re.DOTALL)).strip()
    )
