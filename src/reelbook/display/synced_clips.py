"""Synchronised clips: a group of players with one set of controls."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

if TYPE_CHECKING:
    from ..media.frame_index import FrameIndex

STYLE = "clock.css"
"""The style sheet of a page with clips, once: `render_style(STYLE)`."""

# The poster is under the video: it is visible until there is something to play, where nothing plays, and on paper.
_CLIP = Markup(
    '<div class="rb-clip" data-rb-clip data-frames="{frames}" data-rate="{rate}"{index} style="aspect-ratio:{width}/{height}">{poster}{video}</div>'
)
_VIDEO = Markup(
    '<video src="{src}" width="{width}" height="{height}" controls muted playsinline disablepictureinpicture preload="none" '
    'aria-label="{name}" tabindex="-1"></video>'
)
_INDEX, _TIMES = Markup(' data-index="{}"'), Markup(' data-times="{}"')
_POSTER = Markup('<img src="{}" alt="{}" width="{}" height="{}" decoding="async">')

_ROOT = Markup(
    '<div class="rb rb-clock mathjax_ignore tex2jax_ignore" data-rb-clock data-lm-suppress-shortcuts="true" role="group" tabindex="0" '
    'aria-label="{}" aria-keyshortcuts="Space ArrowLeft ArrowRight Home End L [ ]">{}{}</div>'
)
TRANSPORT = Markup("<div data-rb-transport></div>")
"""Where a script puts the time line and the buttons of its clock."""


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
        size = {"width": self.width, "height": self.height}
        poster = _POSTER.format(self.poster, self.name, *size.values()) if self.poster else ""
        rate = f"{self.rate.numerator}/{self.rate.denominator}"
        index = _INDEX.format(_compact(self.index.to_json())) if self.index else ""
        times = _TIMES.format(_compact(self.times)) if self.times else ""
        video = _VIDEO.format(src=self.src, name=self.name, **size) if self.src else ""
        return _CLIP.format(
            frames=self.frames, rate=rate, poster=poster, video=video, index=Markup(index) + times, **size
        )


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def render_synced_clips(body: Markup, *, name: str) -> Markup:
    """A body with the markup of clips, and a place for their controls.

    >>> clip = PlayedClip("a.mp4", "", 640, 360, 25, Fraction(24), "a boat")
    >>> page = render_synced_clips(clip.markup, name="1 clip")
    >>> 'data-frames="25" data-rate="24/1"' in page
    True
    """
    return _ROOT.format(name, body, TRANSPORT)
