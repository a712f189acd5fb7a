"""Synchronised clips: a group of players with one set of controls."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from .theme import Macros

if TYPE_CHECKING:
    from ..media.frame_index import FrameIndex

clips = Macros("clip.html")
STYLE = "clock.css"
"""The style sheet of a page with clips, once: `render_style(STYLE)`."""


@dataclass(frozen=True, slots=True)
class PlayedClip:
    """One player: its addresses, and the facts that a browser cannot know."""

    src: str
    """The address of the video; made here, never taken from a response. Empty if the kernel sends it."""
    poster: str
    """The address of the poster; empty for none."""
    width: int
    height: int
    frames: int
    rate: Fraction
    name: str
    """The label for screen readers."""
    index: FrameIndex | None = None
    """The index of the video at `src`, with which the page decodes it; without it, the browser plays it."""
    times: Sequence[float] = ()
    """The times of the frames of the original, if they are not evenly spaced; its copies are."""

    @property
    def markup(self) -> Markup:
        """The player, as wide as its container."""
        index = _compact(self.index.to_json()) if self.index else ""
        return clips.clip(self, index, _compact(self.times) if self.times else "")


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def render_synced_clips(body: Markup, *, name: str) -> Markup:
    """A body with the markup of clips, and a place for their controls.

    >>> clip = PlayedClip("a.mp4", "", 640, 360, 25, Fraction(24), "a boat")
    >>> page = render_synced_clips(clip.markup, name="1 clip")
    >>> 'data-frames="25" data-rate="24/1"' in page
    True
    """
    return clips.clock(name, body)
