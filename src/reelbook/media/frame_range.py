"""A range of a clip's frames, exact to the frame: decoded, and encoded as an MP4 or a GIF of these frames alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, cast

import av
import numpy as np
from av import VideoFrame, VideoStream
from av.filter import Graph

from ..errors import ReelbookError
from . import video_colours
from .bounded_open import check_range, open_video
from .previews import ENCODER
from .stills import decode_marked, read_packets, shrink_frame

if TYPE_CHECKING:
    from av.filter.context import FilterContext

GIF_TICK, MIN_GIF_TICKS = Fraction(1, 100), 2
"""Its unit of time, and for how many a frame is displayed at least: browsers slow shorter ones down."""
_OPTIONS = {"crf": "10", "preset": "veryfast"}
"""Quality so high that a difference from the original is not visible."""


def decode_range(path: str | Path, first: int, last: int) -> Iterator[VideoFrame]:
    """The frames from number `first` to `last`, in order, as they are in the file.

    They are count by their order in the container, never by a rate, and decoded from the keyframe that they need.
    """
    with open_video(path, to_decode=False) as (container, stream):
        marks = read_packets(container, stream)
    times = sorted(mark.pts for mark in marks if not mark.is_discard)
    check_range(len(times), first, last)
    wanted = {*times[first : last + 1]}
    count = 0
    for frame, _ in decode_marked(path, marks, wanted):
        count += 1
        yield frame
    if count < len(wanted):
        raise ReelbookError(f"{path} has frames that cannot be read. rb.attach downloads it again.")


def encode_clip(source: str | Path, target: Path, first: int, last: int) -> None:
    """Write an MP4 with exactly these frames in their size, at their times, in colours tagged as the source's."""
    with open_video(source, to_decode=False) as (_, clip):
        base = clip.time_base or Fraction(1, 24)
        rate = clip.average_rate or clip.guessed_rate or Fraction(24)
    # The index stands at the front, so that a browser can play it while it loads.
    with av.open(str(target), "w", format="mp4", options={"movflags": "+faststart"}) as container:
        # PyAV's types know the stream's class only for a literal encoder name.
        stream = cast(VideoStream, container.add_stream(ENCODER, rate=rate, options=_OPTIONS))
        begin: int | None = None
        for frame in decode_range(source, first, last):
            colours = video_colours.get_colours(frame)
            pts = frame.pts or 0
            if begin is None:
                begin = pts
                # Not turned itself: a player turns it as it turns the source.
                stream.set_display_rotation(frame.rotation)
                stream.width, stream.height = frame.width, frame.height
                # 4:2:0 stores colours for pairs of pixels.
                stream.pix_fmt = "yuv444p" if frame.width % 2 or frame.height % 2 else "yuv420p"
                stream.codec_context.time_base = base
                video_colours.tag(stream.codec_context, video_colours.get_encodable_colours(colours))
            size = stream.width, stream.height
            frame = video_colours.resize_frame(frame, colours, size, pixel_format=str(stream.pix_fmt))
            frame.pts, frame.time_base = pts - begin, base
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def encode_gif(source: str | Path, target: Path, first: int, last: int, *, longest: int) -> None:
    """Write an endless GIF with exactly these frames, made smaller to at most `longest` pixels a side.

    FFmpeg's filters choose one palette for all of them, and its encoder leaves out what does not change. The frames are
    decoded twice, so that only one is in memory at a time.
    """
    with open_video(source, to_decode=False) as (_, clip):
        rate = clip.average_rate or clip.guessed_rate or Fraction(24)
    palette = _choose_palette(_shrink(source, first, last, longest))
    graph, before = None, -MIN_GIF_TICKS
    with av.open(str(target), "w", format="gif") as container:
        stream = container.add_stream("gif", rate=100)
        for frame, seconds in _shrink(source, first, last, longest):
            if graph is None:
                # The graph is named so that it lives as long as its steps.
                graph, pictures, sink = _make_palette_graph(palette, frame)
                stream.width, stream.height, stream.pix_fmt = frame.width, frame.height, "pal8"
            before = max(round(seconds * 100), before + MIN_GIF_TICKS)
            frame.pts, frame.time_base = before, GIF_TICK
            pictures.push(frame)
            drawn = cast(VideoFrame, sink.pull())
            drawn.pts, drawn.time_base = before, GIF_TICK
            for packet in stream.encode(drawn):
                # Of the last one: the others' are those between their times.
                packet.duration = max(MIN_GIF_TICKS, round(100 / rate))
                container.mux(packet)
        container.mux(stream.encode())


def _shrink(source: str | Path, first: int, last: int, longest: int) -> Iterator[tuple[VideoFrame, float]]:
    """The frames in RGB within a square, each with its seconds since the first."""
    begin: float | None = None
    with open_video(source, to_decode=False) as (_, clip):
        for frame in decode_range(source, first, last):
            seconds = float((frame.pts or 0) * (frame.time_base or 0))
            begin = seconds if begin is None else begin
            picture = np.asarray(shrink_frame(frame, clip.codec_context, (longest, longest)))
            yield VideoFrame.from_ndarray(picture, format="rgb24").reformat(format="rgb32"), seconds - begin


def _choose_palette(frames: Iterable[tuple[VideoFrame, float]]) -> VideoFrame:
    """The 256 colours that suit all frames, as a small picture; only one frame is in memory at a time."""
    graph = Graph()
    source: FilterContext | None = None
    for number, (frame, _) in enumerate(frames):
        if source is None:
            source = _add_source(graph, frame)
            _join(source, graph.add("palettegen", "reserve_transparent=0"), graph.add("buffersink"))
            graph.configure()
        frame.pts, frame.time_base = number, GIF_TICK
        graph.push(frame)
    graph.push(None)
    return cast(VideoFrame, graph.pull())


def _make_palette_graph(palette: VideoFrame, like: VideoFrame) -> tuple[Graph, FilterContext, FilterContext]:
    """A graph that draws pictures like this one in the colours of a palette: itself, its source and its sink."""
    graph = Graph()
    pictures, colours = _add_source(graph, like), _add_source(graph, palette)
    use, sink = graph.add("paletteuse", "dither=sierra2_4a:diff_mode=rectangle"), graph.add("buffersink")
    _join(pictures, use, sink)
    colours.link_to(use, 0, 1)
    graph.configure()
    palette.pts, palette.time_base = 0, GIF_TICK
    colours.push(palette)
    colours.push(None)
    return graph, pictures, sink


def _add_source(graph: Graph, frame: VideoFrame) -> FilterContext:
    return graph.add_buffer(width=frame.width, height=frame.height, format=frame.format, time_base=GIF_TICK)


def _join(*steps: FilterContext) -> None:
    for one, following in pairwise(steps):
        one.link_to(following)
