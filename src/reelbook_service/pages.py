"""The pages of the service: each a template in the folder `templates`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from reelbook.util.printable import format_count, format_line

from .class_report import format_time


def format_moment(seconds: float) -> Markup:
    """A moment of the service's own clock."""
    moment = datetime.fromtimestamp(seconds).isoformat(timespec="minutes")
    return Markup('<time datetime="{}">{}</time>').format(moment, format_time(seconds))


_environment = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
)
_environment.filters |= {"moment": format_moment, "line": format_line, "kind": lambda text: text.replace("_", " ")}
_environment.globals["count"] = format_count


def render(template: str, **facts: Any) -> str:
    """The page that a template makes of facts; their texts are escaped."""
    return _environment.get_template(template).render(**facts)
