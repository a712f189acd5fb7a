"""The recipes of a report: for each run its input as code and as JSON, and how it was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from ..formatting import STATE_SIGNS, format_credits, format_duration, join_with_dots, shorten
from .report_entries import Entry, Group
from .report_media import PageMedia

FOLD = Markup(
    '<details id="again-{}"><summary><b>{}</b> <span class="rb-soft"><bdi>{}</bdi></span>'
    '<span class="rb-end">{}</span></summary><div class="rb-recipe">{}{}{}</div></details>'
)
FACTS = Markup("<dl>{}</dl>")
FACT = Markup("<dt>{}</dt><dd><bdi>{}</bdi></dd>")
CODE = Markup(
    '<div class="rb-code"><button type="button" data-copy hidden>Copy</button><pre tabindex="0" aria-label="{}"><code>{}</code></pre></div>'
)
JSON = Markup('<details class="rb-json"><summary>Input as JSON</summary>{}</details>')
LABEL = "input of {}"


def render_recipes(groups: Sequence[Group], media: Mapping[Path, PageMedia], made_by: Mapping[str, str]) -> Markup:
    """A folded section for each run."""
    folds = [fold for group in groups for fold in _render_folds(group, media, made_by)]
    note = Markup('<p class="rb-soft rb-only-paper">{}</p>').format(
        "The page itself has the input of every run, as code and as JSON."
    )
    return Markup('{}<div class="rb-folds">{}</div>').format(note, Markup("").join(folds))


def _render_folds(group: Group, media: Mapping[Path, PageMedia], made_by: Mapping[str, str]) -> Iterator[Markup]:
    for number, entry in enumerate(group.entries):
        label = join_with_dots(*(shorten(axis.values[axis.codes[number]], 60) for axis in group.axes))
        facts = Markup("").join(FACT.format(name, value) for name, value in _facts(entry, made_by))
        links = [
            Markup('<dt>file</dt><dd><a href="{}">{}</a></dd>').format(address, address.rpartition("/")[2])
            for file in entry.files
            if (address := media[file.path].original)
        ]
        state = f"{STATE_SIGNS.get(entry.status, '')} {entry.status}".strip()
        code = f"import reelbook as rb\n\n{entry.code}" if entry.code else ""
        json_text = entry.json
        yield FOLD.format(
            entry.place, entry.name, label, state,
            FACTS.format(Markup("{}{}").format(facts, Markup("").join(links))),
            CODE.format(LABEL.format(entry.name), code) if code else "",
            JSON.format(CODE.format(LABEL.format(entry.name), json_text)) if json_text else "",
        )  # fmt: skip


def _facts(entry: Entry, made_by: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    service = entry.text("service")
    maker = made_by.get(service, service) if service else next(iter(made_by.values()), "")
    worked = format_duration(entry.running) if entry.running is not None else ""
    found = {
        "model": entry.model, "seed": "" if entry.seed is None else str(entry.seed), "request id": entry.request_id or "",
        "engine": entry.engine or "", "made by": maker, "error": entry.error,
        "credits": join_with_dots(format_credits(entry.credits, entry.credits_source), entry.credits_source), "took": worked,
        "marks": entry.marks,
    }  # fmt: skip
    yield from ((name, value) for name, value in found.items() if value)
