"""How each run of a report can be made again: its input as code and as JSON, its seed, and who made it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from ..formatting import MARKS, cut, duration, format_credits, joined
from .report_entries import Entry, Group
from .report_media import Shown

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


def recipes(groups: Sequence[Group], media: Mapping[Path, Shown], service: str | None) -> Markup:
    """One fold for each run."""
    folds = [fold for group in groups for fold in _folds(group, media, service)]
    note = Markup('<p class="rb-soft rb-only-paper">{}</p>').format(
        "The page itself has the input of every run, as code and as JSON."
    )
    return Markup('{}<div class="rb-folds">{}</div>').format(note, Markup("").join(folds))


def _folds(group: Group, media: Mapping[Path, Shown], service: str | None) -> Iterator[Markup]:
    for number, entry in enumerate(group.entries):
        label = joined(*(cut(axis.values[axis.codes[number]], 60) for axis in group.axes))
        facts = Markup("").join(FACT.format(name, value) for name, value in _facts(entry, service))
        links = [
            Markup('<dt>file</dt><dd><a href="{}">{}</a></dd>').format(address, address.rpartition("/")[2])
            for file in entry.files
            if (address := media[file.path].whole)
        ]
        state = f"{MARKS.get(entry.status, '')} {entry.status}".strip()
        code = f"import reelbook as rb\n\n{entry.code}" if entry.code else ""
        told = entry.json
        yield FOLD.format(
            entry.place, entry.name, label, state,
            FACTS.format(Markup("{}{}").format(facts, Markup("").join(links))),
            CODE.format(LABEL.format(entry.name), code) if code else "",
            JSON.format(CODE.format(LABEL.format(entry.name), told)) if told else "",
        )  # fmt: skip


def _facts(entry: Entry, service: str | None) -> Iterator[tuple[str, str]]:
    worked = duration(entry.running) if entry.running is not None else ""
    found = {
        "model": entry.model, "seed": "" if entry.seed is None else str(entry.seed), "request id": entry.request_id or "",
        "engine": entry.engine or "", "service": service or "", "error": entry.error,
        "credits": joined(format_credits(entry.credits, entry.credits_source), entry.credits_source), "took": worked,
        "marks": entry.marks,
    }  # fmt: skip
    yield from ((name, value) for name, value in found.items() if value)
