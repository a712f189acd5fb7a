"""A file as a figure, drawn by templates/figure.html: player or picture, a strip of its frames, a caption, and actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..errors import ReelbookError
from ..media.bounded_open import TooLarge
from ..settings import options
from . import embedding, run_text
from .embedding import EmbeddedPart, data_uri, strip_jpeg
from .formatting import format_path, join_with_dots, shorten
from .original_links import get_link_key, render_open_attributes
from .run_text import MAX_PROMPT_LENGTH, RunText
from .theme import Macros, render_script, render_style

if TYPE_CHECKING:
    from ..media.local_file import LocalFile

MAX_HEIGHT, MAX_ROW_HEIGHT, MIN_PLAYER_WIDTH = 480, 168, 240
"""Pixels: the height of a figure by itself and in a row with others, and the width that a player's buttons need."""
MIN_CAPTION_WIDTH = 120
MAX_POSTER_SIDE, MAX_SMALL_SIDE = 640, 320

figures = Macros("figure.html")


def file_figure(file: LocalFile, *, many: bool = False) -> str:
    """The figure of a file. `many`: it is displayed among others, so that only a picture is embedded."""
    return render_media([file], run_text.describe_file(file), many=many)


def render_media(media: Sequence[LocalFile], known: RunText, *, many: bool = False) -> str:
    """The files of one run, with style sheet and script: one as a figure, several in rows, with what they share below."""
    if len(media) == 1:
        body = render_figure(media[0], known, many=many)
    else:
        each = [render_figure(file, known, many=True, is_alone=False) for file in media]
        caption = figures.caption(known.prompt, [known.seed, known.credits, known.made_by])
        body = figures.row(options.max_width, each) + figures.figure({}, options.max_width, "", known, caption)
    has_posters = "data-rb-opens" in body
    style = render_style("figure.css", *(["player.css"] if has_posters else []))
    return str(style + body + render_script("gallery.js" if has_posters else "figure.js"))


def render_figure(file: LocalFile, known: RunText, *, many: bool, is_alone: bool = True) -> Markup:
    """The figure of a file. If it is not alone it is lower, and the shared caption of its run is left out."""
    facts = run_text.format_media_facts(file)
    width = min(options.max_width, MAX_SMALL_SIDE) if many and is_alone else options.max_width
    if is_alone:
        facts = [known.seed, *facts, known.credits, known.made_by]
    shown, embedded, advice = Markup(""), EmbeddedPart(), ""
    try:
        box = _fit_box(file, width, MAX_HEIGHT if is_alone else MAX_ROW_HEIGHT)
        width = width if is_alone else max(box[0], MIN_CAPTION_WIDTH)
        shown, embedded = _show(file, join_with_dots(shorten(known.prompt, MAX_PROMPT_LENGTH), *facts), box, many)
    except TooLarge as error:
        embedded = EmbeddedPart(note=f"{error.words}; the file is {format_path(file.path)}")
    except (ReelbookError, OSError) as error:
        advice = known.attach_code
        embedded = EmbeddedPart(note=_format_trouble(error, known.attach_code))
    caption = figures.caption(known.prompt if is_alone else "", facts, embedded.note)
    whose, path = (known, format_path(file.path)) if is_alone else (RunText(), "")
    return figures.figure(_list_data(file, embedded), width, shown, whose, caption, advice, path)


def _list_data(file: LocalFile, embedded: EmbeddedPart) -> dict[str, Any]:
    """The data attributes for the script: how to step and save, and what replaces a copy by the original file."""
    if not embedded.content:
        return {}
    data: dict[str, Any] = {}
    if file.is_video:
        data = {"data-rb-rate": float(file.probe.rate or 24), "data-rb-frames": file.probe.frames}
    name = file.make_name()
    if embedded.is_whole:
        return {**data, "data-rb-save": name, "data-rb-whole": ""}
    copy = name.rpartition(".")[0] + "_preview" + (".mp4" if file.is_video else ".jpg")
    size = embedding.format_pixels(embedded.size) if embedded.size else ""
    data |= {"data-rb-save": copy, "data-rb-preview": size}
    key = get_link_key(file.path)
    return {**data, "data-rb-original": key, "data-rb-name": name} if key else data


def _show(file: LocalFile, text: str, size: tuple[int, int], many: bool) -> tuple[Markup, EmbeddedPart]:
    """The player or picture of a file, or a still of a clip that does not play; and what of the file is embedded."""
    poster, strip, opens = "", "", Markup("")
    if file.is_video:
        part = embedding.embed_clip(file, many=many)
        longest = MAX_SMALL_SIDE if many and size[0] <= MAX_SMALL_SIDE else MAX_POSTER_SIDE
        poster = data_uri("image/jpeg", file.poster(longest=longest))
        strip = "" if many else data_uri("image/jpeg", strip_jpeg(file))
        kind = "video" if part.content else "still"
        if many and not part.content:
            opens = render_open_attributes(file.path)
    else:
        part, kind = embedding.embed_picture(file, size[0], many=many), "picture"
    address = data_uri(part.mime_type, part.content) if part.content else poster
    return figures.media(kind, address, poster, strip, *size, text, opens), part


def _format_trouble(error: Exception, attach_code: str) -> str:
    """Why a file cannot be displayed, and how to get it again."""
    if isinstance(error, OSError) and not isinstance(error, ReelbookError):
        words = f"{shorten(error.filename or 'The file', 300)} cannot be read ({error.strerror})."
    else:
        words = str(error)
    return f"{words.partition(' Pick the run up')[0]} This fetches it again:" if attach_code else words


def _fit_box(file: LocalFile, max_width: int, max_height: int) -> tuple[int, int]:
    """Width and height on the page: the file's own where that fits, and never too small for a player's buttons."""
    probe = file.probe
    shrink = min(1.0, max_width / probe.width, max_height / probe.height)
    if file.is_video and max_height == MAX_HEIGHT:
        shrink = max(shrink, min(MIN_PLAYER_WIDTH, max_width) / probe.width)
    return max(1, round(probe.width * shrink)), max(1, round(probe.height * shrink))
