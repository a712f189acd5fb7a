"""The page of a report: totals, plan, clips, costs, table, and recipes."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

import pandas as pd
from markupsafe import Markup

from ..._version import __version__
from ...decide.ratings import Ratings
from ...media.posters import make_thumbnail
from ...settings import options
from ...util.printable import format_count
from ..compare.comparison import Comparison
from ..embedding import data_uri
from ..fact_table import render_dotted
from ..formatting import STATE_SIGNS, format_credits, format_duration, join_with_dots, shorten
from ..plots.plot_html import Plot
from ..theme import read_static, render_script, render_style
from . import clip_grid
from .clip_grid import ClipGrid
from .layout import VariedInput
from .rating_section import render_rating_section
from .report_entries import ModelRuns, ReportRun
from .report_media import MAX_CLIP_SIDE, PageMedia
from .report_views import KEY, ReportViews
from .shared_table import rename_files

MAX_VALUES = 12
THUMB, SMALL_THUMB, MANY = (96, 54), (64, 36), 60
"""Pixels of a poster in the table, with up to `MANY` files and with more."""
MAX_PLOTS = 3
REPORT_COSTS = ("runs", "credits", "credits_per_success")
"""The columns of costs in a report, whose tables stand side by side."""
MAX_TITLE_LENGTH, MAX_GIVEN_LENGTH = 90, 200
"""Characters of a generated title, and of one that is passed."""

# Scripts by their hashes: an injected script does not run, even if something was not escaped.
POLICY = (
    "default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data: blob:{beside}; media-src data: blob:{beside}; connect-src{connect}; "
    "base-uri 'none'; form-action 'none'"
)
PAGE = Markup(
    '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    '<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="generator" content="{generator}">\n'
    '<meta name="referrer" content="no-referrer">\n<title>{title}</title>\n{style}\n</head>\n'
    '<body class="rb rb-report{theme}">\n<main>\n{body}</main>\n{scripts}\n</body>\n</html>\n'
)
GENERATOR = "reelbook"
HEAD = Markup('<header><h1><bdi>{}</bdi></h1><p class="rb-soft">{}</p>{}</header>\n')
SECTION = Markup('<section id="{0}" aria-labelledby="{0}-head"><h2 id="{0}-head">{1}</h2>{2}</section>\n')
FOOT = Markup('<footer class="rb-soft">Written {} by reelbook {}.{}</footer>\n')
FACT = Markup('<div><dt>{}</dt><dd class="rb-number">{}</dd>{}</div>')
SMALL = Markup('<dd class="rb-soft">{}</dd>')
FOLD = Markup(
    '<details id="again-{}"><summary><b>{}</b> <span class="rb-soft"><bdi>{}</bdi></span>'
    '<span class="rb-end">{}</span></summary><div class="rb-recipe">{}{}{}</div></details>'
)
FACTS = Markup("<dl>{}</dl>")
RECIPE_FACT = Markup("<dt>{}</dt><dd><bdi>{}</bdi></dd>")
CODE = Markup(
    '<div class="rb-code"><button type="button" data-copy hidden>Copy</button><pre tabindex="0" aria-label="{}"><code>{}</code></pre></div>'
)
JSON = Markup('<details class="rb-json"><summary>Input as JSON</summary>{}</details>')
LINE = Markup('<tr><th scope="row"><bdi>{}</bdi></th><td class="rb-count">{}</td><td>{}</td></tr>')


@dataclass(frozen=True)
class ReportContent:
    """The content of a page."""

    table: pd.DataFrame
    groups: Sequence[ModelRuns]
    media: Mapping[Path, PageMedia]
    title: str | None
    made_by: Mapping[str, str]
    """Who made the runs, in words, by the names of the services."""
    is_folder: bool
    views: ReportViews
    ratings: Sequence[Ratings] = ()
    standings: Markup | None = None
    """What a race says of the settings; None for a table alone."""

    @property
    def entries(self) -> list[ReportRun]:
        """All runs in the order of the table."""
        return sorted((entry for group in self.groups for entry in group.entries), key=lambda entry: entry.place)

    @property
    def html(self) -> str:
        """The page as HTML."""
        title = shorten(self.title or _format_title(self.groups), MAX_GIVEN_LENGTH)
        body = Markup("").join(
            [
                HEAD.format(title, _render_about(self), _render_totals(self)),
                _render_section("standings", "Standings", self.standings or Markup("")),
                _render_section(
                    "plan",
                    "Plan",
                    Markup("").join(_render_group_plan(group, is_alone=len(self.groups) == 1) for group in self.groups),
                ),
                _render_section(
                    "clips", _format_clips_heading(self.media), ClipGrid(self.groups, self.media, picks=KEY).markup
                ),
                *_render_views(self),
                _render_section("ratings", "Judgements", render_rating_section(self.ratings)),
                _render_section("costs", "Costs", _render_costs(self)),
                _render_section("runs", "Runs", _render_runs(self)),
                _render_section(
                    "again", "How to make each again", _render_recipes(self.groups, self.media, self.made_by)
                ),
                FOOT.format(_format_moment(datetime.now(UTC)), __version__, _format_media_note(self)),
            ]
        )
        script, digest = _make_script()
        return str(
            PAGE.format(
                policy=_format_policy(digest, is_folder=self.is_folder), generator=f"{GENERATOR} {__version__}", title=title,
                style=render_style(*_list_styles(self.views.kinds)), theme=f" rb-{options.theme}" if options.theme != "auto" else "", body=body,
                scripts=script,
            )
        )  # fmt: skip


def _list_styles(kinds: Collection[type]) -> list[str]:
    """The style sheets that the page needs."""
    from ..compare import comparison_html
    from ..plots import plot_html
    from ..tables import table_html

    modules = {Plot: plot_html, Comparison: comparison_html}
    parts = [table_html, clip_grid, *(module for kind, module in modules.items() if kind in kinds)]
    return [*dict.fromkeys(name for part in parts for name in part.STYLES), "costs.css", "report.css"]


def _make_script() -> tuple[Markup, str]:
    """The script element of the page, and the hash of its text for the policy."""
    digest = base64.b64encode(hashlib.sha256(read_static("report.js").encode()).digest()).decode()
    return render_script("report.js"), f"'sha256-{digest}'"


def _format_policy(digest: str, *, is_folder: bool) -> str:
    return POLICY.format(
        scripts=digest,
        beside=" 'self' file:" if is_folder else "",
        connect=" 'self'" if is_folder else " 'none'",
    )


def _render_section(name: str, head: str, body: Markup) -> Markup:
    return SECTION.format(name, head, body) if body else Markup("")


def _render_views(report: ReportContent) -> list[Markup]:
    """The plots and comparisons, in the order in which they were passed."""
    found = report.views.render(report.entries, report.media, _make_file_names(report))
    return [_render_section(f"views-{place}", head, body) for place, (head, body) in enumerate(found, 1)]


def _format_title(groups: Sequence[ModelRuns]) -> str:
    prompts = {" ".join((entry.text("prompt") or "").split()) for group in groups for entry in group.entries}
    prompt = prompts.pop() if len(prompts) == 1 else ""
    if prompt:
        return shorten(prompt, MAX_TITLE_LENGTH)
    runs = sum(len(group.entries) for group in groups)
    names = {group.model.rpartition("/")[2] or group.model for group in groups} - {""}
    return f"{format_count(runs, 'run')} of {' and '.join(sorted(names))}" if names else format_count(runs, "run")


def _render_about(report: ReportContent) -> Markup:
    """Models, dates, and service."""
    models = [group.model for group in report.groups if group.model]
    moments = [entry.made_at for entry in report.entries if entry.made_at is not None]
    parts = [
        f"{len(models)} models: {', '.join(models)}" if len(models) > 1 else "".join(models),
        f"made {_format_days(min(moments), max(moments))}" if moments else "",
        f"by {', '.join(dict.fromkeys(report.made_by.values()))}" if report.made_by else "",
    ]
    return render_dotted([Markup("<bdi>{}</bdi>").format(part) for part in parts if part])


def _render_totals(report: ReportContent) -> Markup:
    """Runs by status, credits, and seconds."""
    entries, figures = report.entries, list[Markup]()
    counts = Counter(entry.status for entry in entries if entry.status)
    states = [
        Markup('<span class="rb-state"><span class="rb-{}" aria-hidden="true">{}</span> {} {}</span>').format(
            status.replace(" ", "-") if status in STATE_SIGNS else "odd", STATE_SIGNS.get(status, "·"), f"{count:,}", status
        )
        for status, count in counts.most_common()
    ]  # fmt: skip
    figures.append(FACT.format("runs", f"{len(entries):,}", SMALL.format(Markup(" ").join(states)) if states else ""))
    known = [entry for entry in entries if entry.credits is not None and not entry.is_unsettled]
    reserved = sum(entry.credits or 0 for entry in entries if entry.is_unsettled)
    if known or reserved:
        estimated = sum(entry.credits or 0 for entry in known if entry.credits_source != "charged")
        total = sum(entry.credits or 0 for entry in known)
        note = join_with_dots(
            f"{estimated:,} of them estimated" if estimated else "charged" if known else "",
            f"{reserved:,} more set aside" if reserved else "",
        )
        figures.append(FACT.format("credits", f"{'≈ ' if estimated else ''}{total:,}", SMALL.format(note)))
    clips = [clip for entry in entries for file in entry.files if (clip := report.media[file.path].clip) is not None]
    if clips:
        seconds = sum(float(clip.frames / clip.rate) for clip in clips)
        note = f"{format_count(len(clips), 'clip')}, {sum(clip.frames for clip in clips):,} frames"
        figures.append(FACT.format("video", format_duration(seconds), SMALL.format(note)))
    spent = [entry.running for entry in entries if entry.running is not None]
    if spent:
        figures.append(
            FACT.format(
                "computing",
                format_duration(sum(spent)),
                SMALL.format(f"{format_duration(sum(spent) / len(spent))} a run"),
            )
        )
    return Markup('<dl class="rb-totals">{}</dl>').format(Markup("").join(figures))


def _render_group_plan(group: ModelRuns, *, is_alone: bool) -> Markup:
    lines = [LINE.format(axis.name, f"{len(axis.values):,}", _render_values(axis)) for axis in group.axes]
    lines += [
        LINE.format(name, "", Markup("<bdi>{}</bdi>").format(shorten(value, 600)))
        for name, value in group.common.items()
    ]
    if not lines:
        return Markup("")
    head = "" if is_alone else Markup("<h3><bdi>{}</bdi></h3>").format(group.model or "another model")
    return Markup('{}<table class="rb-plan"><tbody>{}</tbody></table>').format(head, Markup("").join(lines))


def _render_values(axis: VariedInput) -> Markup:
    """The values of an axis; of many, the first and last."""
    many = len(axis.bare) > MAX_VALUES
    texts = [*axis.bare[: MAX_VALUES // 2], "…", *axis.bare[-MAX_VALUES // 2 :]] if many else axis.bare
    value = Markup("<bdi>{}</bdi>")
    return render_dotted([value.format(shorten(text, 160)) for text in texts])


def _format_clips_heading(media: Mapping[Path, PageMedia]) -> str:
    return "Clips" if any(one.clip for one in media.values()) or not media else "Pictures"


def _render_costs(report: ReportContent) -> Markup:
    """A table for each axis."""
    if not {"status", "credits"} <= set(report.table.columns):
        return Markup("")
    plots = [plot for name in _choose_cost_columns(report.groups) if (plot := _render_plot(report.table, name))]
    return Markup('<div class="rb-plots">{}</div>').format(Markup("").join(plots)) if plots else Markup("")


def _choose_cost_columns(groups: Sequence[ModelRuns]) -> Iterator[str]:
    """The columns to group costs by: the model if there are several, else the axes with the fewest values."""
    if len(groups) > 1:
        yield "model"
        return
    axes = sorted(groups[0].axes, key=lambda axis: len(axis.values))
    shared = [axis for axis in axes if len(axis.values) < len(groups[0].entries)]
    yield from [axis.columns[0] for axis in shared or axes[:1]][:MAX_PLOTS]


def _render_plot(table: pd.DataFrame, name: str) -> Markup:
    from ...sweeps.cost import compute_costs
    from ..cost_chart import render_cost_table

    try:
        costs = compute_costs(table, name)
    # Values that cannot be grouped have no table; the rest of the page does not fail.
    except (TypeError, ValueError):
        return Markup("")
    return Markup('<div class="rb">{}</div>').format(render_cost_table(costs, REPORT_COSTS))


def _render_runs(report: ReportContent) -> Markup:
    from ..tables.table_html import render_table_markup
    from ..tables.table_media import KnownPoster

    names = _make_file_names(report)
    posters = {
        names[str(path)]: KnownPoster(address, one.width, one.height)
        for path, one in report.media.items()
        if (address := _table_poster(report, path, one))
    }
    clips = (
        {names[str(path)]: one.original for path, one in report.media.items() if one.original}
        if report.is_folder
        else None
    )
    table = rename_files(report.table, names)
    live = render_table_markup(table, key=KEY, posters=posters, clips=clips)
    return Markup('<div class="rb-live">{}</div>{}').format(live, _render_paper_table(report))


def _make_file_names(report: ReportContent) -> dict[str, str]:
    """The name of each file on the page: that of its copy beside the page, else its own."""
    names: dict[str, str] = {}
    for number, (path, one) in enumerate(report.media.items()):
        name = unquote(one.original.rpartition("/")[2]) or path.name
        names[str(path)] = f"{number}-{name}" if name in names.values() else name
    return names


def _table_poster(report: ReportContent, path: Path, one: PageMedia) -> str:
    if report.is_folder or not one.poster:
        return one.poster
    small = make_thumbnail(path, *(THUMB if len(report.media) <= MANY else SMALL_THUMB))
    return data_uri("image/jpeg", small) if small else ""


def _render_paper_table(report: ReportContent) -> Markup:
    """The table for print: all rows, with few columns."""
    names = [axis.name for axis in report.groups[0].axes] if len(report.groups) == 1 else ["model"]
    words = _get_axis_values(report.groups)
    rows = [
        Markup("<tr><td>{}</td>{}<td>{} {}</td><td>{}</td><td>{}</td></tr>").format(
            entry.name.removeprefix("run "),
            Markup("").join(Markup("<td><bdi>{}</bdi></td>").format(shorten(word, 60)) for word in words[entry.place]),
            STATE_SIGNS.get(entry.status, ""), entry.status,
            "" if entry.credits is None else f"{entry.credits:,}", entry.request_id or "",
        )
        for entry in report.entries
    ]  # fmt: skip
    heads = Markup("").join(
        Markup("<th><bdi>{}</bdi></th>").format(name) for name in ("run", *names, "status", "credits", "request id")
    )
    table = Markup('<table class="rb-paper"><thead><tr>{}</tr></thead><tbody>{}</tbody></table>')
    return table.format(heads, Markup("").join(rows))


def _get_axis_values(groups: Sequence[ModelRuns]) -> dict[int, list[str]]:
    """The values of each run on the axes; with several models, its model."""
    if len(groups) > 1:
        return {entry.place: [group.model] for group in groups for entry in group.entries}
    return {
        entry.place: [axis.bare[axis.codes[number]] for axis in groups[0].axes]
        for number, entry in enumerate(groups[0].entries)
    }


def _format_media_note(report: ReportContent) -> str:
    where = (
        "The original files are in the folder media next to this page."
        if report.is_folder
        else f"What it shows are previews: of clips at most {MAX_CLIP_SIDE} pixels wide and high, of pictures {2 * MAX_CLIP_SIDE}."
    )
    return f" {where} It needs no network." if report.media else ""


def _format_moment(moment: datetime) -> str:
    return f"{moment.day} {moment:%B %Y}, {moment:%H:%M} UTC"


def _format_days(first: datetime, last: datetime) -> str:
    ends = [f"{moment.day} {moment:%B %Y}" for moment in (first.astimezone(UTC), last.astimezone(UTC))]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} – {ends[1]}"


# How to make each run again: its input as code and as JSON, and how it was made.


def _render_recipes(groups: Sequence[ModelRuns], media: Mapping[Path, PageMedia], made_by: Mapping[str, str]) -> Markup:
    """A folded section for each run."""
    folds = [fold for group in groups for fold in _render_folds(group, media, made_by)]
    note = Markup('<p class="rb-soft rb-only-paper">{}</p>').format(
        "The page itself has the input of every run, as code and as JSON."
    )
    return Markup('{}<div class="rb-folds">{}</div>').format(note, Markup("").join(folds))


def _render_folds(group: ModelRuns, media: Mapping[Path, PageMedia], made_by: Mapping[str, str]) -> Iterator[Markup]:
    for number, entry in enumerate(group.entries):
        label = join_with_dots(*(shorten(axis.values[axis.codes[number]], 60) for axis in group.axes))
        facts = Markup("").join(RECIPE_FACT.format(name, value) for name, value in _list_recipe_facts(entry, made_by))
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
            CODE.format(f"input of {entry.name}", code) if code else "",
            JSON.format(CODE.format(f"input of {entry.name}", json_text)) if json_text else "",
        )  # fmt: skip


def _list_recipe_facts(entry: ReportRun, made_by: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    service = entry.text("service")
    maker = made_by.get(service, service) if service else next(iter(made_by.values()), "")
    worked = format_duration(entry.running) if entry.running is not None else ""
    found = {
        "model": entry.model, "seed": "" if entry.seed is None else str(entry.seed), "request id": entry.request_id or "",
        "engine": entry.engine or "", "made by": maker, "error": entry.error,
        "credits": join_with_dots(format_credits(entry.credits, entry.credits_source, entry.status), entry.credits_source), "took": worked,
        "marks": entry.marks,
    }  # fmt: skip
    yield from ((name, value) for name, value in found.items() if value)
