"""A file as a figure: player or picture, a strip of its frames, a caption, and actions.

It displays and plays without its script and style sheet, which an untrusted notebook drops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from ..errors import ReelbookError
from ..media import derived_cache, stills
from ..media.bounded_open import TooLarge
from ..settings import options
from . import embedding, run_text
from .embedding import EmbeddedPart, data_uri
from .fact_table import SMALL_STYLE, render_code, render_details, render_dotted, render_fact_table
from .formatting import format_path, join_with_dots, shorten
from .original_links import get_link_key
from .poster_player import render_open_attributes
from .run_text import MAX_PROMPT_LENGTH, RunText
from .strip_html import strip_jpeg
from .theme import render_script, render_style

if TYPE_CHECKING:
    from ..media.local_file import LocalFile

MAX_HEIGHT, MAX_ROW_HEIGHT, MIN_PLAYER_WIDTH = 480, 168, 240
"""Pixels: the height of a figure by itself and in a row with others, and the width that a player's buttons need."""
MIN_CAPTION_WIDTH = 120
MAX_POSTER_SIDE, MAX_SMALL_SIDE = 640, 320
GAP = 16

CAPTION_STYLE = f"{SMALL_STYLE};margin:6px 0 0;overflow-wrap:anywhere;font-variant-numeric:tabular-nums"
BDI = Markup("<bdi>{}</bdi>")
NOTE = Markup('<span data-rb-note="">{}</span>')
NOTHING = Markup("")
ROW = Markup('<div style="display:flex;flex-wrap:wrap;max-width:{}px;gap:0 {}px">{}</div>')
# Two dollar signs in untrusted text must not become a formula.
FIGURE = Markup(
    '<figure class="rb rb-figure mathjax_ignore tex2jax_ignore" data-rb-figure="" data-lm-suppress-shortcuts="true"{} '
    'style="margin:4px 0 8px;max-width:{}px">{}</figure>'
)


def file_figure(file: LocalFile, *, many: bool = False) -> str:
    """The figure of a file. `many`: it is displayed among others, so that only a picture is embedded."""
    known = run_text.describe_file(file)
    return render_with_assets(render_figure(file, known, width=options.max_width, many=many))


def render_gallery(files: Sequence[LocalFile]) -> str:
    """Figures of many files in rows, with one style sheet and one script."""
    from ..media.posters import get_posters

    get_posters([file.path for file in files], longest=MAX_SMALL_SIDE)  # Several at the same time.
    # Two beside each other at least.
    width = min(MAX_SMALL_SIDE, max(MIN_PLAYER_WIDTH, (options.max_width - GAP) // 2))
    figures = [render_figure(file, run_text.describe_file(file), width=width, many=True) for file in files]
    return render_with_assets(ROW.format(options.max_width, GAP, Markup("").join(figures)))


def render_with_assets(*figures: Markup) -> str:
    """Figures with their style sheet and script."""
    body = Markup("").join(figures)
    has_posters = "data-rb-opens" in body
    style = render_style("figure.css", *(["player.css"] if has_posters else []))
    return str(style + body + render_script("gallery.js" if has_posters else "figure.js"))


def render_figure(file: LocalFile, known: RunText, *, width: int, many: bool = False, is_alone: bool = True) -> Markup:
    """The figure of a file. If it is not alone it is lower, and the shared caption of its run is left out."""
    facts = run_text.format_media_facts(file)
    width = min(width, MAX_SMALL_SIDE) if many and is_alone else width
    if is_alone:
        facts = [known.seed, *facts, known.credits, known.made_by]
    prompt = known.prompt if is_alone else ""
    advice = Markup("")
    try:
        box = _fit_box(file, width, MAX_HEIGHT if is_alone else MAX_ROW_HEIGHT)
        width = width if is_alone else max(box[0], MIN_CAPTION_WIDTH)
        facts = [*facts, stills.format_colour_note(file.path)]
        body, embedded = _body(file, join_with_dots(shorten(known.prompt, MAX_PROMPT_LENGTH), *facts), box, many)
    except TooLarge as error:
        body, embedded = Markup(""), EmbeddedPart(note=f"{error.words}; the file is {format_path(file.path)}")
    except (ReelbookError, OSError) as error:
        body, embedded = (
            _render_stored_poster(file, width),
            EmbeddedPart(note=_format_trouble(error, known.attach_code)),
        )
        advice = render_code(known.attach_code) if known.attach_code else advice
    foot = (
        render_caption(prompt, facts, embedded.note)
        + advice
        + (render_actions(known, file) if is_alone else render_actions(RunText(), None))
    )
    return FIGURE.format(_data(file, embedded), width, body + foot)


def render_shared_caption(known: RunText, *, width: int) -> Markup:
    """The caption and actions that the files of one run share."""
    foot = render_caption(known.prompt, [known.seed, known.credits, known.made_by]) + render_actions(known, None)
    return FIGURE.format(Markup(""), width, foot)


def render_caption(prompt: str, facts: Sequence[str], note: str = "", *, tag: str = "figcaption") -> Markup:
    """The text under a figure, in an element of this kind. The script removes the note where it no longer holds."""
    # A prompt may be written from right to left; <bdi> keeps that from turning the facts around.
    pieces = [
        BDI.format(shorten(prompt, MAX_PROMPT_LENGTH)) if prompt else "",
        *facts,
        NOTE.format(note) if note else "",
    ]
    line = render_dotted(pieces)
    whole = join_with_dots(shorten(prompt, 20_000), *facts, note)
    return Markup('<{0} style="{1}" title="{2}">{3}</{0}>').format(tag, CAPTION_STYLE, whole, line)


def render_actions(known: RunText, file: LocalFile | None) -> Markup:
    """Code and details of a file, folded; the script adds the actions that need it."""
    parts = []
    if known.code:
        parts.append(render_details("Code", render_code(known.code)))
    tables = [render_fact_table(facts, caption=name, size=12) for name, facts in _tables(known, file) if facts]
    if tables:
        parts.append(render_details("Details", Markup("").join(tables)))
    return Markup(
        '<div class="rb-actions" style="display:flex;flex-wrap:wrap;gap:0 16px;font-size:12px;margin-top:2px">{}</div>'
    ).format(Markup("").join(parts))


def _tables(known: RunText, file: LocalFile | None) -> list[tuple[str, list[tuple[str, str]]]]:
    place = [] if file is None else [("file", format_path(file.path))]
    return [("Inputs", list(known.inputs)), ("Outputs", [*known.outputs, *place])]


def _data(file: LocalFile, embedded: EmbeddedPart) -> Markup:
    """The data attributes for the script, made only of numbers and fixed names."""
    data = Markup("")
    if file.is_video and embedded.content:
        rate = file.probe.rate
        data += Markup(' data-rb-rate="{}" data-rb-frames="{}"').format(float(rate or 24), file.probe.frames)
    if embedded.content:
        data += Markup(' data-rb-save="{}"').format(_save_name(file, embedded))
        data += Markup(' data-rb-whole=""') if embedded.is_whole else _original(file, embedded)
    return data


def _original(file: LocalFile, embedded: EmbeddedPart) -> Markup:
    """The data attributes by which the script replaces a copy by the original file, and the size of the copy."""
    size = embedding.format_pixels(embedded.size) if embedded.size else ""
    key = get_link_key(file.path)
    data = Markup(' data-rb-preview="{}"').format(size)
    if key:
        data += Markup(' data-rb-original="{}" data-rb-name="{}"').format(key, file.make_name())
    return data


def _save_name(file: LocalFile, embedded: EmbeddedPart) -> str:
    name = file.make_name()
    if embedded.is_whole:
        return name
    return name.rpartition(".")[0] + "_preview" + (".mp4" if file.is_video else ".jpg")


def _body(file: LocalFile, text: str, size: tuple[int, int], many: bool) -> tuple[Markup, EmbeddedPart]:
    """The player or picture of a file, and what of the file is embedded."""
    width, height = size
    # The shape is reserved before anything has loaded, so that nothing jumps.
    box = f"display:block;width:{width}px;max-width:100%;height:auto;aspect-ratio:{width}/{height};border-radius:6px"
    if not file.is_video:
        embedded = embedding.embed_picture(file, width, many=many)
        picture = Markup('<img src="{}" data-rb-media="" width="{}" height="{}" alt="{}" style="{}">')
        content = data_uri(embedded.mime_type, embedded.content)
        return picture.format(content, width, height, text, box) if embedded.content else Markup(""), embedded
    embedded = embedding.embed_clip(file, many=many)
    poster = _poster(file, MAX_SMALL_SIDE if many and width <= MAX_SMALL_SIDE else MAX_POSTER_SIDE)
    if many and not embedded.content:
        return _still(poster, width, height, text, box, render_open_attributes(file.path)), embedded
    frames = Markup(
        '<img src="{}" alt="six frames over time: {}" style="display:block;width:{}px;max-width:100%;margin-top:4px;border-radius:6px">'
    ).format(data_uri("image/jpeg", strip_jpeg(file)), text, width)
    if not embedded.content:
        return _still(poster, width, height, text, box) + frames, embedded
    player = Markup(
        '<video src="{}" poster="{}" controls muted loop playsinline preload="metadata" width="{}" height="{}" '
        'title="{}" aria-label="{}" style="{}"></video>'
    ).format(data_uri(embedded.mime_type, embedded.content), poster, width, height, text, text, box)
    return player + (Markup("") if many else frames), embedded


def _still(address: str, width: int, height: int, text: str, box: str, data: Markup = NOTHING) -> Markup:
    return Markup('<img src="{}" width="{}" height="{}" alt="{}" style="{}"{}>').format(
        address, width, height, text, box, data
    )


def _poster(file: LocalFile, longest: int) -> str:
    return data_uri("image/jpeg", file.poster(longest=longest))


def _render_stored_poster(file: LocalFile, max_width: int) -> Markup:
    """The stored poster of a file that is lost or broken; empty if there is none."""
    from ..media.posters import FOLDER

    for place in derived_cache.find_cached(str(file.path), FOLDER):
        content = derived_cache.read_cached(place, lambda found: found.startswith(b"\xff\xd8\xff"))
        if content:
            style = f"display:block;max-width:min(100%,{max_width}px);height:auto;border-radius:6px"
            return Markup('<img src="{}" alt="what it looked like" style="{}">').format(
                data_uri("image/jpeg", content), style
            )
    return Markup("")


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
