"""The SVG of a plot for a page: themed, without names that another plot on the page could have, each point with its row."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from xml.etree import ElementTree

from markupsafe import Markup

from .plot_drawing import POINTS_ID, Drawing, Palette, write_figure

PAGE = Palette("#010203", "#010204", "#010205", "#010206", "#010207")
"""Stand for the colours of the page, which matplotlib cannot name."""

PAGE_COLOURS = {
    PAGE.ink: "currentColor", PAGE.soft: "var(--rb-soft,currentColor)", PAGE.line: "var(--rb-line,currentColor)",
    PAGE.paper: "var(--rb-paper,none)", PAGE.accent: "var(--rb-accent,currentColor)",
}  # fmt: skip
SVG, XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"

_FONT = re.compile(r"font-family:[^;]*(;\s*|$)")
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_LONG_PATH = re.compile(r"\s+")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")


def render_svg(drawing: Drawing, rows: Sequence[Sequence[int]], label: str, name: str) -> Markup:
    """The drawing as an SVG element with the class `name`; `rows` are the rows of each series, in the order of its points."""
    content = write_figure(drawing.figure, "svg")
    root = ElementTree.fromstring(content)
    mark = hashlib.sha1(content, usedforsecurity=False).hexdigest()[:8]
    for place, of_series in enumerate(rows):
        _number_points(root.find(f".//{SVG}g[@id='{POINTS_ID}-{place}']"), of_series)
    for element in root.iter():
        _simplify(element, mark)
    width, height = (float(value) for value in root.attrib["viewBox"].split()[2:])
    root.attrib.clear()
    root.attrib |= {
        "class": f"rb-drawing {name}", "viewBox": f"0 0 {width:g} {height:g}", "role": "img", "aria-label": label,
        "style": "stroke-linejoin:round;stroke-linecap:butt;overflow:visible",
        "data-box": " ".join(f"{value:.1f}" for value in drawing.box),
    }  # fmt: skip
    for defs in root.findall("defs"):
        # Its style would be that of all drawings on the page.
        for style in defs.findall("style"):
            defs.remove(style)
    root.tail = None
    text = ElementTree.tostring(root, encoding="unicode", short_empty_elements=True)
    return Markup(re.sub(r">\s+<", "><", text))


def _number_points(group: ElementTree.Element | None, rows: Sequence[int]) -> None:
    """Give each shape of a series its row, and the series the style that all of them have."""
    if group is None:
        return  # A picture of many points.
    shapes = list(group.iter(f"{SVG}use"))
    if len(shapes) != len(rows):
        return
    styles = {shape.attrib.get("style", "") for shape in shapes}
    for shape, row in zip(shapes, rows, strict=True):
        shape.attrib["data-row"] = str(row)
        if len(styles) == 1:
            shape.attrib.pop("style", None)
    if len(styles) == 1:
        group.attrib["style"] = styles.pop()


def _simplify(element: ElementTree.Element, mark: str) -> None:
    """Change an element in place: no namespace, short numbers, colours of the page, and names of this drawing alone."""
    element.tag = element.tag.removeprefix(SVG)
    found = dict(element.attrib)
    element.attrib.clear()
    for name, value in found.items():
        name = name.removeprefix(XLINK)
        if name == "id":
            if value.startswith(POINTS_ID):
                element.attrib["class"] = POINTS_ID
            elif element.tag != "g":
                element.attrib["id"] = f"{mark}-{value}"
            continue
        if name == "href" and value.startswith("#"):
            value = f"#{mark}-{value[1:]}"
        if not value.startswith("data:"):
            value = _NUMBER.sub(lambda digits: f"{float(digits[0]):.2f}".rstrip("0").rstrip("."), value)
        value = _REFERENCE.sub(rf"url(#{mark}-\1)", value)
        if name == "style":
            value = _FONT.sub("", value).replace(": ", ":").replace("; ", ";")
            for stand_in, colour in PAGE_COLOURS.items():
                value = value.replace(stand_in, colour)
        element.attrib[name] = _LONG_PATH.sub(" ", value) if name == "d" else value
