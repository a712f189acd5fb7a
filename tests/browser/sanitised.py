"""A notebook as sites show it that trust nobody: no script, no style, no player, only words and pictures."""

from __future__ import annotations

import re
from html import escape
from html.parser import HTMLParser
from typing import Any

# What public renderers of notebooks and READMEs let through: text, tables, links, pictures.
KEPT = frozenset(
    [
        "a",
        "abbr",
        "b",
        "bdi",
        "bdo",
        "blockquote",
        "br",
        "caption",
        "code",
        "col",
        "colgroup",
        "dd",
        "del",
        "details",
        "dfn",
        "div",
        "dl",
        "dt",
        "em",
        "figcaption",
        "figure",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "i",
        "img",
        "ins",
        "kbd",
        "li",
        "mark",
        "ol",
        "p",
        "pre",
        "q",
        "rp",
        "rt",
        "ruby",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "summary",
        "sup",
        "table",
        "tbody",
        "td",
        "tfoot",
        "th",
        "thead",
        "time",
        "tr",
        "tt",
        "u",
        "ul",
        "var",
        "wbr",
    ]
)
EMPTIED = frozenset({"script", "style", "title", "template", "noscript", "textarea", "iframe", "object", "video", "audio", "select", "svg", "math", "canvas"})  # fmt: skip
"""Of these not even the content stays; of other elements that are removed, the words do."""
VOID = frozenset({"br", "col", "hr", "img", "wbr"})
ATTRIBUTES = frozenset(
    [
        "abbr",
        "align",
        "alt",
        "colspan",
        "datetime",
        "dir",
        "headers",
        "height",
        "href",
        "hspace",
        "itemprop",
        "lang",
        "name",
        "nowrap",
        "open",
        "rel",
        "rowspan",
        "scope",
        "span",
        "src",
        "start",
        "summary",
        "tabindex",
        "title",
        "type",
        "valign",
        "value",
        "vspace",
        "width",
    ]
)
ADDRESS = re.compile(r"(https?:|mailto:|#|/(?!/)|[\w.-]+(/|$))", re.IGNORECASE)
PICTURE = re.compile(r"data:image/(png|jpeg|gif|webp);base64,", re.IGNORECASE)
RICHEST = ("text/html", "image/svg+xml", "image/png", "image/jpeg", "text/plain")


class _Sieve(HTMLParser):
    """Writes down again what may stay."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.kept: list[str] = []
        self._inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in EMPTIED:
            self._inside.append(tag)
        if tag in KEPT and not self._inside:
            self.kept.append(f"<{tag}{''.join(_attribute(tag, name, value or '') for name, value in attrs)}>")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._inside:
            while self._inside.pop() != tag:
                pass
        elif tag in KEPT - VOID and not self._inside:
            self.kept.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if not self._inside:
            self.kept.append(escape(data))


def sanitised(html: str) -> str:
    """The HTML without what could run, play, load or be laid out."""
    sieve = _Sieve()
    sieve.feed(html)
    sieve.close()
    return "".join(sieve.kept)


def page_of(notebook: Any) -> str:
    """A page with the outputs of a notebook, each in the richest form that such a site shows."""
    cells = [
        f'<section class="jp-CodeCell"><div class="jp-OutputArea">{"".join(map(_output, cell.outputs))}</div></section>'
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]
    return f"<!doctype html><meta charset=utf-8><title>notebook</title><body>{''.join(cells)}"


def _output(output: Any) -> str:
    if output.output_type == "stream":
        return f"<pre>{escape(output.text)}</pre>"
    data = output.get("data", {})
    kind = next((kind for kind in RICHEST if data.get(kind)), None)
    if kind is None:
        return ""
    if kind == "text/html":
        return f"<div>{sanitised(data[kind])}</div>"
    if kind == "text/plain":
        return f"<pre>{escape(data[kind])}</pre>"
    return f'<img alt="output" src="data:{kind};base64,{data[kind].strip()}">'


def _attribute(tag: str, name: str, value: str) -> str:
    if name not in ATTRIBUTES:
        return ""
    if name == "src" and not (PICTURE.match(value) or ADDRESS.match(value)):
        return ""
    if name == "href" and not ADDRESS.match(value):
        return ""
    return f' {name}="{escape(value)}"'
