"""A file as a figure: player or picture, a strip of its frames, one line that says what it is, and quiet actions.

Without our script and style sheet, which a notebook that nobody trusts has lost, it shows and plays all the same.
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
from .embedding import Embedded, uri
from .fact_table import SMALL, code_block, dotted, fact_table, folded
from .formatting import cut, joined
from .original_links import word_for
from .poster_player import opens
from .run_text import LONGEST_LEAD, Told
from .strip_html import strip
from .theme import script, style

if TYPE_CHECKING:
    from ..media.local_file import LocalFile

HEIGHT, LOW, LEAST_PLAYER = 480, 168, 240
"""The height that a figure may fill, by itself and in a row with others, and the width that a player's buttons need."""
LEAST_CAPTION = 120
POSTER_LONGEST, SMALL_LONGEST = 640, 320
GAP = 16

CAPTION = f"{SMALL};margin:6px 0 0;overflow-wrap:anywhere;font-variant-numeric:tabular-nums"
BDI = Markup("<bdi>{}</bdi>")
NOTE = Markup('<span data-rb-note="">{}</span>')
NOTHING = Markup("")
ROW = Markup('<div style="display:flex;flex-wrap:wrap;max-width:{}px;gap:0 {}px">{}</div>')
# In what is a stranger's, two dollar signs are no formula.
FIGURE = Markup(
    '<figure class="rb rb-figure mathjax_ignore tex2jax_ignore" data-rb-figure="" data-lm-suppress-shortcuts="true"{} '
    'style="margin:4px 0 8px;max-width:{}px">{}</figure>'
)


def file_figure(file: LocalFile, *, many: bool = False) -> str:
    """A file with all that is known of it. `many` says that others are shown beside it, so that it brings a picture only."""
    known = run_text.of_file(file)
    return page(figure(file, known, width=options.max_width, many=many))


def gallery(files: Sequence[LocalFile]) -> str:
    """Many files in rows, each with what is known of it; one style sheet and one script for all of them."""
    from ..media.posters import posters

    posters([file.path for file in files], longest=SMALL_LONGEST)  # Several at the same time.
    # Two beside each other at least.
    width = min(SMALL_LONGEST, max(LEAST_PLAYER, (options.max_width - GAP) // 2))
    figures = [figure(file, run_text.of_file(file), width=width, many=True) for file in files]
    return page(ROW.format(options.max_width, GAP, Markup("").join(figures)))


def page(*figures: Markup) -> str:
    """Figures with their style sheet and their script."""
    body = Markup("").join(figures)
    has_posters = "data-rb-opens" in body
    scripts = ["figure.js", *(["opens.js"] if has_posters else [])]
    return str(style("figure.css", *(["player.css"] if has_posters else [])) + body + script(*scripts))


def figure(file: LocalFile, known: Told, *, width: int, many: bool = False, is_alone: bool = True) -> Markup:
    """One file. If it is not alone it stands low in a row, and what its run has in common with others is said elsewhere."""
    facts = run_text.measures(file)
    width = min(width, SMALL_LONGEST) if many and is_alone else width
    if is_alone:
        facts = [known.seed, *facts, known.credits]
    lead = known.lead if is_alone else ""
    advice = Markup("")
    try:
        box = _box(file, width, HEIGHT if is_alone else LOW)
        width = width if is_alone else max(box[0], LEAST_CAPTION)
        facts = [*facts, stills.colour_words(file.path)]
        body, shown = _body(file, joined(cut(known.lead, LONGEST_LEAD), *facts), box, many)
    except TooLarge as error:
        body, shown = Markup(""), Embedded(note=f"{error.words}; the file is {file.path}")
    except (ReelbookError, OSError) as error:
        body, shown = _what_is_left(file, width), Embedded(note=_trouble(error, known.again))
        advice = code_block(known.again) if known.again else advice
    foot = caption(lead, facts, shown.note) + advice + (actions(known, file) if is_alone else actions(Told(), None))
    return FIGURE.format(_data(file, shown), width, body + foot)


def common(known: Told, *, width: int) -> Markup:
    """What several files of one run have in common."""
    foot = caption(known.lead, [known.seed, known.credits]) + actions(known, None)
    return FIGURE.format(Markup(""), width, foot)


def caption(lead: str, facts: Sequence[str], note: str = "") -> Markup:
    """The words under a figure. Our script takes the note away where it does not hold any more."""
    # A lead may be written from right to left; <bdi> keeps that from turning the facts around.
    pieces = [BDI.format(cut(lead, LONGEST_LEAD)) if lead else "", *facts, NOTE.format(note) if note else ""]
    line = dotted(pieces)
    whole = joined(cut(lead, 20_000), *facts, note)
    return Markup('<figcaption style="{}" title="{}">{}</figcaption>').format(CAPTION, whole, line)


def actions(known: Told, file: LocalFile | None) -> Markup:
    """What can be done with it; our script adds what needs one."""
    parts = []
    if known.code:
        parts.append(folded("Code", code_block(known.code)))
    tables = [fact_table(facts, caption=name, size=12) for name, facts in _tables(known, file) if facts]
    if tables:
        parts.append(folded("Details", Markup("").join(tables)))
    return Markup(
        '<div class="rb-actions" style="display:flex;flex-wrap:wrap;gap:0 16px;font-size:12px;margin-top:2px">{}</div>'
    ).format(Markup("").join(parts))


def _tables(known: Told, file: LocalFile | None) -> list[tuple[str, list[tuple[str, str]]]]:
    place = [] if file is None else [("file", str(file.path))]
    return [("Inputs", list(known.asked)), ("Outputs", [*known.answered, *place])]


def _data(file: LocalFile, shown: Embedded) -> Markup:
    """What our script needs to know, in numbers and a name that we have made."""
    data = Markup("")
    if file.is_video and shown.content:
        rate = file.probe.rate
        data += Markup(' data-rb-rate="{}" data-rb-frames="{}"').format(float(rate or 24), file.probe.frames)
    if shown.content:
        data += Markup(' data-rb-save="{}"').format(_save_name(file, shown))
        data += Markup(' data-rb-whole=""') if shown.is_whole else _original(file, shown)
    return data


def _original(file: LocalFile, shown: Embedded) -> Markup:
    """What our script needs to put the file itself in the place of its copy, and how large that is."""
    size = embedding.words_of(shown.size) if shown.size else ""
    word = word_for(file.path)
    data = Markup(' data-rb-preview="{}"').format(size)
    if word:
        data += Markup(' data-rb-original="{}" data-rb-name="{}"').format(word, run_text.download_name(file))
    return data


def _save_name(file: LocalFile, shown: Embedded) -> str:
    name = run_text.download_name(file)
    if shown.is_whole:
        return name
    return name.rpartition(".")[0] + "_preview" + (".mp4" if file.is_video else ".jpg")


def _body(file: LocalFile, text: str, size: tuple[int, int], many: bool) -> tuple[Markup, Embedded]:
    """What is shown of a file, and what the page holds of it."""
    width, height = size
    # The shape is reserved before anything has loaded, so that nothing jumps.
    box = f"display:block;width:{width}px;max-width:100%;height:auto;aspect-ratio:{width}/{height};border-radius:6px"
    if not file.is_video:
        shown = embedding.picture(file, width, many=many)
        picture = Markup('<img src="{}" data-rb-media="" width="{}" height="{}" alt="{}" style="{}">')
        content = uri(shown.kind, shown.content)
        return picture.format(content, width, height, text, box) if shown.content else Markup(""), shown
    shown = embedding.clip(file, many=many)
    poster = _poster(file, SMALL_LONGEST if many and width <= SMALL_LONGEST else POSTER_LONGEST)
    if many and not shown.content:
        return _still(poster, width, height, text, box, opens(file.path)), shown
    frames = Markup(
        '<img src="{}" alt="six frames over time: {}" style="display:block;width:{}px;max-width:100%;margin-top:4px;border-radius:6px">'
    ).format(uri("image/jpeg", strip(file)), text, width)
    if not shown.content:
        return _still(poster, width, height, text, box) + frames, shown
    player = Markup(
        '<video src="{}" poster="{}" controls muted loop playsinline preload="metadata" width="{}" height="{}" '
        'title="{}" aria-label="{}" style="{}"></video>'
    ).format(uri(shown.kind, shown.content), poster, width, height, text, text, box)
    return player + (Markup("") if many else frames), shown


def _still(address: str, width: int, height: int, text: str, box: str, data: Markup = NOTHING) -> Markup:
    return Markup('<img src="{}" width="{}" height="{}" alt="{}" style="{}"{}>').format(
        address, width, height, text, box, data
    )


def _poster(file: LocalFile, longest: int) -> str:
    return uri("image/jpeg", file.poster(longest=longest))


def _what_is_left(file: LocalFile, most_width: int) -> Markup:
    """The poster of a file that is lost or broken, if one was made while it was whole."""
    from ..media.posters import FOLDER

    for place in derived_cache.all_of(str(file.path), FOLDER):
        content = derived_cache.find(place, lambda found: found.startswith(b"\xff\xd8\xff"))
        if content:
            style = f"display:block;max-width:min(100%,{most_width}px);height:auto;border-radius:6px"
            return Markup('<img src="{}" alt="what it looked like" style="{}">').format(
                uri("image/jpeg", content), style
            )
    return Markup("")


def _trouble(error: Exception, again: str) -> str:
    """Why a file cannot be shown, and how to get it again."""
    if isinstance(error, OSError) and not isinstance(error, ReelbookError):
        words = f"{cut(error.filename or 'The file', 300)} cannot be read ({error.strerror})."
    else:
        words = str(error)
    return f"{words.partition(' Pick the run up')[0]} This fetches it again:" if again else words


def _box(file: LocalFile, most_width: int, most_height: int) -> tuple[int, int]:
    """The size on the page: the file's own where that fits, and never too small for a player's buttons."""
    probe = file.probe
    shrink = min(1.0, most_width / probe.width, most_height / probe.height)
    if file.is_video and most_height == HEIGHT:
        shrink = max(shrink, min(LEAST_PLAYER, most_width) / probe.width)
    return max(1, round(probe.width * shrink)), max(1, round(probe.height * shrink))
