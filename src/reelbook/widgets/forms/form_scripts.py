"""The script of a form: the modules that its fields need, bundled and compressed."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

from ...display.synced_clips import PlayedClip, render_transport
from ...display.theme import bundle_scripts, minify_style

PACKAGE = __package__
CORE = ("form_plain.js", "form_plain_choice.js", "form.js")
CORE_STYLES = ("form.css", "form_plain.css", "form_runs.css", "form_sweep.css")
NESTED = {"list", "object", "either", "again"}

SPECIAL: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "nested": (("form_nested.js",), ("form_nested.css",)),
    "image": (("form_image.js",), ("form_image.css",)),
    "timeline": (("form_image.js", "form_timeline.js"), ("form_image.css", "form_timeline.css")),
    "sizes": (("form_sizes.js",), ("form_special.css", "form_sizes.css")),
    "prompt": (("form_prompt.js",), ("form_prompt.css",)),
    "seed": (("form_special.js",), ("form_special.css",)),
    "duration": (("form_special.js",), ("form_special.css",)),
    "aspect": (("form_special.js",), ("form_special.css",)),
    "frames": (("form_special_frames.js",), ("form_special.css",)),
    "loras": (("form_special_loras.js",), ("form_special.css",)),
}
"""The scripts and style sheets that only some forms need."""

NO_CLIP = PlayedClip("", "", 16, 9, 2, Fraction(1), "")
"""For the buttons of a clock whose clips come later."""


def pack_form_script(sheet: Mapping[str, Any]) -> tuple[str, bytes]:
    """The name and the compressed source of the module that draws this form."""
    return _pack(frozenset(_find_needs(sheet["fields"])))


def _find_needs(nodes: Iterable[Any]) -> set[str]:
    found: set[str] = set()
    for node in nodes:
        if not isinstance(node, Mapping):
            continue
        special = node.get("special")
        if special in SPECIAL:
            found.add(str(special))
        if node.get("kind") == "image":
            found.add("image")
        # A special control may fall back to the one of its kind.
        if node.get("kind") in NESTED and special not in ("sizes", "timeline"):
            found.add("nested")
        found |= _find_needs([node.get("item"), *node.get("fields", ()), *node.get("forms", ())])
    return found


@cache
def _pack(needs: frozenset[str]) -> tuple[str, bytes]:
    scripts = [*CORE, *(name for need in sorted(needs) for name in SPECIAL[need][0])]
    styles = [*CORE_STYLES, *(name for need in sorted(needs) for name in SPECIAL[need][1])]
    text = bundle_scripts(*dict.fromkeys(scripts), package=PACKAGE)
    has_clock = "timeline" in needs
    shared = ("tokens.css", "clock.css") if has_clock else ("tokens.css",)
    style = "".join(
        [*map(minify_style, shared), *(minify_style(name, package=PACKAGE) for name in dict.fromkeys(styles))]
    )
    known = {"FORM_STYLE": style, **({"FORM_TRANSPORT": str(render_transport([NO_CLIP]))} if has_clock else {})}
    source = f"{_format_constants(known)}{text}export default {{ render: renderForm }};\n"
    # Without a timestamp, so that the same script always has the same name.
    packed = gzip.compress(source.encode(), 9, mtime=0)
    return hashlib.sha256(packed).hexdigest()[:16], packed


def _format_constants(texts: Mapping[str, str]) -> str:
    return "".join(f"const {name} = {json.dumps(text)};\n" for name, text in texts.items())


STUDIO_STYLES = ("form.css", "form_runs.css", "studio.css")


@cache
def pack_studio_script() -> tuple[str, bytes]:
    """The name and the compressed source of the module that draws the head and the gallery of a studio."""
    style = "".join(
        [
            minify_style("tokens.css"),
            *(minify_style(name, package=PACKAGE) for name in STUDIO_STYLES),
            # Last, because forms hide what is hidden, and a comparison displays some of it.
            *map(minify_style, ("clock.css", "compare.css")),
        ]
    )
    text = bundle_scripts("studio.js", package=PACKAGE)
    source = f"{_format_constants({'STUDIO_STYLE': style})}{text}export default {{ render: renderStudio }};\n"
    packed = gzip.compress(source.encode(), 9, mtime=0)
    return hashlib.sha256(packed).hexdigest()[:16], packed
