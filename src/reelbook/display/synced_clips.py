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

SPEEDS = ((0.25, "¼ ×"), (0.5, "½ ×"), (1.0, "1 ×"), (2.0, "2 ×"))

# Drawn, because fonts may have coloured pictures for these characters.
_ICON = Markup(
    '<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false" class="{}"><path d="{}"/></svg>'
)
_PLAY, _PAUSE = _ICON.format("rb-on", "M4 2.5v11l9-5.5z"), _ICON.format("rb-off", "M4 3h3v10H4zM9 3h3v10H9z")
_BACK, _ON = _ICON.format("", "M3 3h2v10H3zM13 3v10L6 8z"), _ICON.format("", "M11 3h2v10h-2zM3 3v10l7-5z")
_LOOP = _ICON.format(
    "",
    "M4.5 4H11a2.5 2.5 0 0 1 2.5 2.5V8H12V6.5a1 1 0 0 0-1-1H4.5V7.5L1.5 4.75 4.5 2zM11.5 12H5a2.5 2.5 0 0 1-2.5-2.5V8H4v1.5a1 1 0 0 0 1 1h6.5V8.5l3 2.75-3 2.75z",
)

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
# Hidden in two ways, because a host that drops scripts may keep buttons, and drop `hidden`.
_TRANSPORT = Markup(
    '<div class="rb-transport" data-rb-transport hidden style="display:none">'
    '<div class="rb-line"><input type="range" min="0" max="{last}" value="0" step="1" data-rb-do="scrub" aria-label="frame">{marks}</div>'
    '<button type="button" data-rb-do="back" aria-label="One frame back" title="One frame back (←)">{back}</button>'
    '<button type="button" data-rb-do="play" aria-label="Play" title="Play or pause (Space)">{play}{pause}</button>'
    '<button type="button" data-rb-do="on" aria-label="One frame on" title="One frame on (→)">{on}</button>'
    '<span class="rb-told" data-rb-do="told"></span>'
    '<span class="rb-transport-more"><select data-rb-do="by" aria-label="the same in all clips" title="What is the same in all clips" hidden><option value="time">same time</option><option value="frame">same frame</option></select>'
    '<select data-rb-do="speed" aria-label="speed" title="Speed">{speeds}</select>'
    '<button type="button" data-rb-do="loop" aria-label="Loop" aria-pressed="true" title="Begin again at the end (L)">{loop}</button>'
    '<button type="button" data-rb-do="begin" aria-label="Begin of the range" aria-pressed="false" title="What plays begins at this frame; once more, all plays again ([)">[</button>'
    '<button type="button" data-rb-do="end" aria-label="End of the range" aria-pressed="false" title="What plays ends at this frame; once more, all plays again (])">]</button></span>'
    '<span class="rb-played" data-rb-do="note" role="status" hidden></span></div>'
)
_MARK = Markup('<i style="--at:{:.4f}" title="{} frames"></i>')


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


def render_synced_clips(body: Markup, clips: Sequence[PlayedClip], *, name: str) -> Markup:
    """Controls around a body that contains the markup of these clips.

    >>> clip = PlayedClip("a.mp4", "", 640, 360, 25, Fraction(24), "a boat")
    >>> page = render_synced_clips(clip.markup, [clip], name="1 clip")
    >>> 'data-frames="25" data-rate="24/1"' in page, 'max="24"' in page
    (True, True)
    """
    return _ROOT.format(name, body, render_transport(clips))


def render_transport(clips: Sequence[PlayedClip]) -> Markup:
    """The time line and the buttons of a group of clips, hidden until a script gives them a clock."""
    rate = max(clip.rate for clip in clips)
    ends = sorted({round(clip.frames / clip.rate * rate) for clip in clips})
    last = max(ends[-1] - 1, 1)
    # A mark on the time line at the end of each clip but the longest.
    marks = Markup("").join(_MARK.format((end - 1) / last, end) for end in ends[:-1])
    speeds = Markup("").join(
        Markup('<option value="{}"{}>{}</option>').format(speed, Markup(" selected") if speed == 1 else "", words)
        for speed, words in SPEEDS
    )
    return _TRANSPORT.format(
        last=last, marks=marks, speeds=speeds, back=_BACK, play=_PLAY, pause=_PAUSE, on=_ON, loop=_LOOP
    )
