"""Readable file names for what a run made: its prompt or source picture, seed, format and size."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from ..models.smart_resize import find_format_name

MAX_NAME_LETTERS = 48
_PICTURE = re.compile(r"(?:.*[/\\])?([^/\\]+)\.(?:png|jpe?g|webp|gif|bmp|tiff?|heic|avif)(?:\?.*)?", re.IGNORECASE)
_FRAME = re.compile(r"(?:still|last frame) of (.+?)(?:\.\w{2,4})?")
_HASH = re.compile(r"[0-9a-f]{32,64}")


def slug(text: str) -> str:
    """The letters and digits of a text, of any script, joined by hyphens; a long one ends with a whole word.

    >>> slug("../../A paper boat, at dusk!"), slug("Ein Boot für zwei"), slug("=HYPERLINK(…)")
    ('a-paper-boat-at-dusk', 'ein-boot-für-zwei', 'hyperlink')
    """
    plain = unicodedata.normalize("NFC", text).casefold()
    words = "".join(letter if letter.isalnum() else " " for letter in plain).split()
    whole = "-".join(words)
    name = whole[:MAX_NAME_LETTERS]
    if "-" in name and whole[MAX_NAME_LETTERS : MAX_NAME_LETTERS + 1] not in ("", "-"):
        name = name.rpartition("-")[0]
    # Some systems limit bytes; about a hundred are within all limits.
    while len(name.encode()) > 2 * MAX_NAME_LETTERS:
        name = name[:-1]
    return name.strip("-")


def name_words(facts: Mapping[str, Any]) -> str:
    """What a run is about: the prompt, else the name of its source picture, else its model.

    A resize is about its picture, whatever extra instruction it was given.

    >>> name_words({"model": "a/text-to-video", "input": {"prompt": "A boat"}}), name_words({"model": "a/upscale"})
    ('a-boat', 'upscale')
    >>> name_words({"model": "svc/smart-resize", "input": {"target_sizes": ["1x1"], "prompt": "wide"}, "source": "Sea.png"})
    'sea'
    """
    values = _get_input(facts)
    prompt = "" if is_resize(facts) else str(values.get("prompt") or "")
    model = str(facts.get("model") or "").rstrip("/").rpartition("/")[2]
    return slug(prompt) or slug(find_picture_name(facts.get("source"))) or slug(model)


def name_size(facts: Mapping[str, Any], size: tuple[int, int] | None) -> str:
    """The size of a file; for a resize, after the name of the format.

    >>> name_size({"input": {"target_sizes": ["1080x1920"]}}, (1080, 1920)), name_size({}, (1280, 720))
    ('story_1080x1920', '1280x720')
    """
    if size is None:
        return ""
    text = f"{size[0]}x{size[1]}"
    name = find_format_name(text) if is_resize(facts) else None
    return f"{slug(name)}_{text}" if name else text


def make_file_name(facts: Mapping[str, Any], size: tuple[int, int] | None) -> str:
    """The name of a file that a run made, without its suffix.

    >>> make_file_name({"input": {"prompt": "A paper boat"}, "seed": 7}, (1280, 720))
    'a-paper-boat_seed-7_1280x720'
    """
    seed = facts.get("seed")
    has_seed = seed is not None and not is_resize(facts)
    return "_".join(filter(None, (name_words(facts), slug(f"seed {seed}") if has_seed else "", name_size(facts, size))))


def is_resize(facts: Mapping[str, Any]) -> bool:
    """Whether a run brought one picture to several sizes."""
    return "target_sizes" in _get_input(facts)


def find_picture_name(text: Any) -> str:
    """The name of a picture, given as its path, address or label, without folder and suffix; empty where it has none.

    >>> [find_picture_name(text) for text in ("/home/ana/Lighthouse.png", "sha256:00ff", "last frame of boat.mp4")]
    ['Lighthouse', '', 'boat']
    """
    if not isinstance(text, str) or len(text) > 4_096:
        return ""
    match = _FRAME.fullmatch(text) or _PICTURE.fullmatch(text)
    return match[1] if match and not _HASH.fullmatch(match[1]) else ""


def _get_input(facts: Mapping[str, Any]) -> Mapping[str, Any]:
    values = facts.get("input")
    return values if isinstance(values, Mapping) else {}
