"""Every display with a text of a stranger's wherever it takes one: what goes to the page, by the name of the display."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pandas as pd

import reelbook as rb
from reelbook.api.table_accessor import Reel
from reelbook.decide.race.sentences import Contender, End, RaceProgress, RaceState
from reelbook.display.cards import (
    client_card,
    estimate_table,
    format_file,
    input_card,
    library_card,
    models_table,
    output_card,
    provenance_table,
    uncertain_table,
)
from reelbook.display.compare.comparison_html import render_comparison
from reelbook.display.cost_chart import render_costs
from reelbook.display.explorer_card import explorer_bundle
from reelbook.display.figure import file_figure
from reelbook.display.judge_panel import judge_bundle
from reelbook.display.plots.plot_html import Plot, plot_bundle
from reelbook.display.race_card import format_race, render_race
from reelbook.display.ratings_card import RankedRow, render_ranking
from reelbook.display.report.clip_grid import grid_bundle, make_clip_grid
from reelbook.display.run_card import final_bundle, interrupted_bundle, progress_bundle
from reelbook.display.run_text import format_file as local_line
from reelbook.display.sweep_panel import HINT, format_plan, panel_bundle, plan_card
from reelbook.display.tables.table_html import table_bundle
from reelbook.errors import DownloadFailed, RunCancelled, RunFailed, Unreachable
from reelbook.media.local_file import LocalFile
from reelbook.media.metadata.provenance import Provenance
from reelbook.models.base import File, Input
from reelbook.models.catalog import Estimate, Line
from reelbook.models.text_to_video import LoRA, TextToVideoOutput
from reelbook.storage.library import Uncertain
from reelbook.storage.run_status import STATUSES
from reelbook.sweeps.plan import Plan, Row
from reelbook.sweeps.progress import Group, Progress, Result
from tests.clips import film
from tests.display.stand_in import run_of
from tests.support import png

Bundle = Mapping[str, Any]
"""One output, by MIME type."""


@dataclass(frozen=True)
class Media:
    """A clip, a picture, and a folder for more."""

    folder: Path
    clip: LocalFile
    picture: LocalFile


def media_in(folder: Path) -> Media:
    """Small files to be shown with any words."""
    picture = folder / "picture.png"
    picture.write_bytes(png(64, 48))
    return Media(
        folder, film(folder / "clip.mp4", frames=6), LocalFile(picture, File(url="http://127.0.0.1/files/p.png"))
    )


def outputs(name: str, media: Media, texts: Sequence[str]) -> list[Bundle]:
    """All outputs of a display for these texts."""
    # The client lets no half of a surrogate pair in; a table of somebody's own may hold one.
    let_in = [_let_in(text) for text in texts]
    if name == "table":
        return list(_tables(media, texts))
    if name == "plot":
        return list(_plots(media, texts))
    if name == "costs":
        return list(_costs(let_in))
    if name == "viewers":
        return list(_viewers(media, let_in))
    return [bundle for text in let_in[:: SELDOM.get(name, 1)] for bundle in _BY_TEXT[name](media, text)]


def asked(text: str) -> Input:
    """An input as an old library may hold it: nobody has checked its texts."""
    lora = LoRA.model_construct(path=text, weight_name=text, scale=0.5)
    return rb.TextToVideo.model_construct(prompt=text, negative_prompt=text, loras=(lora,))


def hostile_table(media: Media, texts: Sequence[str]) -> pd.DataFrame:
    """A table of runs of which every word was written by a stranger; one row for each text."""
    count = len(texts)
    frame = pd.DataFrame(
        {
            "prompt": texts,
            "note": list(reversed(texts)),
            "output_video": [str(media.clip.path), None] * (count // 2) + [None] * (count % 2),
            "output_seed": range(count),
            "status": ["completed", "failed"] * (count // 2) + ["failed"] * (count % 2),
            "credits": [53] * count,
            "credits_source": ["charged"] * count,
            "error_type": texts,
            "error": texts,
            "request_id": texts,
            "model": texts,
        },
        index=pd.Series(texts, dtype=object, name=texts[0]),
        dtype=object,
    )
    frame.attrs["reelbook"] = {
        "model": texts[0],
        "service": texts[0],
        "axes": list(texts[:3]),
        "labels": list(texts[:3]),
    }
    return frame


def _client(_: Media, text: str) -> Iterator[Bundle]:
    def fails() -> None:
        raise Unreachable(text, text)

    account = {"name": text, "credits_available": text, "credits_spent": 3}
    told = SimpleNamespace(
        base_url=text, library=text, is_embedded=False, account=lambda: account, features=lambda: {text}
    )
    for client in (told, SimpleNamespace(**{**vars(told), "account": fails})):
        yield {"text/html": client_card(cast(Any, client))}


def _estimate(_: Media, text: str) -> Iterator[Bundle]:
    lines = (Line(text, credits=Decimal(53)), Line(text, factor=Decimal(2)))
    yield {"text/html": estimate_table(Estimate(53, lines, text, cast(Any, text)))}


def _provenance(_: Media, text: str) -> Iterator[Bundle]:
    words = {"engine": text, "engine_version": text, "request_id": text, "credits_source": text, "service": text}
    for values in ({"values": {text: text, "prompt": text}}, {"input": asked(text)}):
        known = Provenance(model=text, seed=7, credits=53, **cast(Any, {**words, **values}))
        yield {"text/html": provenance_table(known)}


def _library(media: Media, text: str) -> Iterator[Bundle]:
    last = pd.DataFrame({
        "prompt": text, "model": text, "status": text, "credits": 53, "credits_source": text, "seed": text,
        "created": pd.Timestamp("2026-01-01", tz="UTC"), "output_video": [str(media.clip.path), None], "output_images": None,
    })  # fmt: skip
    summary = pd.DataFrame({"runs": [7], "credits": [53], "estimated": [0]}, index=[text])
    library = SimpleNamespace(folder=Path(text), size=7, summary=lambda: summary, latest=lambda: last)
    yield {"text/html": library_card(cast(Any, library))}


def _uncertain(_: Media, text: str) -> Iterator[Bundle]:
    class Lost(Uncertain):
        what = text

    entry = SimpleNamespace(id=3, input="{}", sent=1.7e9, created=1.7e9, price=53, error=text, model=text)
    yield {"text/html": uncertain_table([Lost(cast(Any, entry), cast(Any, None))])}


def _plan(_: Media, text: str) -> Iterator[Bundle]:
    base = cast(Any, SimpleNamespace(endpoint_id=text, changed=lambda: {text: text, "other": text}))
    columns = (text, "prompt")
    rows = tuple(Row(number, None, base, problem=text, given=dict.fromkeys(columns, text)) for number in range(2))
    plan = Plan(base, columns, rows)
    yield {"text/html": plan_card(plan), "text/plain": format_plan(plan)}


def _panel(media: Media, text: str) -> Iterator[Bundle]:
    counts = {**dict.fromkeys(STATUSES, 0), "completed": 1, "failed": 1, "running": 1}
    for state in ("running", "done"):
        progress = Progress(
            state=state, reason=text, counts=counts, from_library=1, spent=53, reserved=0, spent_now=53,
            reserved_now=0, budget=None, spend=None, per_minute=1.0, seconds_left=1.0, elapsed=1.0, failures=(Group(text, 1, 3, text),), results=(Result(3, media.picture.path, {text: text}),),
        )  # fmt: skip
        yield panel_bundle(progress, hint=HINT)


def _race(_: Media, text: str) -> Iterator[Bundle]:
    contenders = tuple(Contender(number, {text: text}, 1.0, 0.5, 1.5, 0.5, 2, 0, 106) for number in range(2))
    for state in (RaceState.JUDGING, RaceState.DONE):
        progress = RaceProgress(
            state=state, axes=(text,), contenders=contenders, score=text, is_judged=False, rounds=1, runs=4, repeats=8, free=0, spent=212, earlier=0,
            spent_now=106, budget=424, whole=424, sure=0.95, chance=0.5, is_decided=False, elapsed=1.0, end=End.STOPPED, reason=text, block=text,
        )  # fmt: skip
        yield {"text/plain": format_race(progress), "text/html": render_race(progress)}


def _input(_: Media, text: str) -> Iterator[Bundle]:
    yield {"text/html": input_card(asked(text))}


def _models(_: Media, text: str) -> Iterator[Bundle]:
    known = {
        "id": text,
        "name": text,
        "purpose": text,
        "description": text,
        "category": text,
        "minimum_credits": text,
    }
    yield {"text/html": models_table([known, {"id": text}])}


def _answer(media: Media, text: str) -> Iterator[Bundle]:
    file = File.model_construct(url=text, content_type=text, file_name=text, file_size=7)
    named = File.model_validate({"url": "data:text/html,x", "content_type": text, "file_name": text, text or "x": text})
    for one in (file, named):
        yield {"text/html": output_card(one), "text/plain": format_file(one)}
        yield {"text/html": output_card(TextToVideoOutput.model_construct(video=one, prompt=text, seed=7, x=text))}


def _file(media: Media, text: str) -> Iterator[Bundle]:
    facts = {
        "model": text, "input": {"prompt": text, "seed": text, text: text}, "seed": text, "request_id": text, "credits": 53,
        "credits_source": text, "service": text,
    }  # fmt: skip
    lost = media.folder / f"{_as_name(text)}.mp4"
    named = media.folder / f"{_as_name(text)}.png"
    if not named.exists():
        named.write_bytes(media.picture.path.read_bytes())
    for path in (named, lost):
        file = LocalFile(path, File.model_construct(url=text, content_type=text, file_name=text), facts=facts)
        yield {"text/html": file_figure(file), "text/plain": local_line(file)}


def _run(media: Media, text: str) -> Iterator[Bundle]:
    yield progress_bundle(_under_way(text, "IN_PROGRESS"))
    yield _ended(run_of(status="failed", failure=RunFailed(text, text, text), **_words(text)), text)
    done = run_of(media.clip, media.picture, **_words(text))
    vars(done)["output"] = TextToVideoOutput.model_construct(video=media.clip.source, prompt=text, seed=7, x=text)
    yield _ended(done, text)


def _run_otherwise(media: Media, text: str) -> Iterator[Bundle]:
    """What is made of the same words and differs in a few places."""
    yield progress_bundle(_under_way(text, "IN_QUEUE"))
    yield interrupted_bundle(_under_way(text, "IN_PROGRESS"))
    refused = RunFailed(text, f"prompt {text}", "content_policy_violation")
    for failure in (refused, DownloadFailed(text, text, text)):
        yield _ended(run_of(status="failed", failure=failure, **_words(text)), text)
    yield _ended(run_of(status="cancelled", failure=RunCancelled(text), **_words(text)), text)
    yield _ended(run_of(media.clip, **_words(text)), text)


def _words(text: str) -> dict[str, Any]:
    return {
        "logs": [text, text],
        "request_id": text,
        "endpoint_id": text,
        "progress": (0.5, text),
        "credits_source": text,
    }


def _under_way(text: str, status: str) -> Any:
    run = run_of(status=status, **_words(text))
    vars(run)["input"] = asked(text)
    return run


def _explorer(media: Media, text: str) -> Iterator[Bundle]:
    facts = {
        "model": text,
        "input": {"prompt": text, text: text},
        "seed": text,
        "request_id": text,
        "credits": 53,
        "credits_source": text,
    }
    for file in (media.clip, media.picture):
        yield explorer_bundle(LocalFile(file.path, File(url=""), facts).explore(), key=text)


def _judge(media: Media, text: str) -> Iterator[Bundle]:
    row = RankedRow(text, 1.0, 0.5, 1.5, text, str(media.clip.path))
    for ranking in (None, render_ranking([row, row], columns=(text, text, text))):
        yield judge_bundle(text, "pairs", key=text, group=text, summary=text, ranking=ranking)


_BY_TEXT: Mapping[str, Callable[[Media, str], Iterable[Bundle]]] = {
    "client": _client, "estimate": _estimate, "provenance": _provenance, "library": _library, "uncertain": _uncertain,
    "plan": _plan, "panel": _panel, "race": _race, "input": _input, "models": _models, "answer": _answer, "file": _file, "run": _run,
    "run otherwise": _run_otherwise, "explorer": _explorer, "judge": _judge,
}  # fmt: skip
SELDOM = {"run otherwise": 6, "explorer": 6, "judge": 6}
"""Where every sixth text does, because the same functions have had them all."""
NAMES = (*_BY_TEXT, "table", "costs", "plot", "viewers")
"""The displays."""


def _tables(media: Media, texts: Sequence[str]) -> Iterator[Bundle]:
    yield table_bundle(hostile_table(media, texts))
    texts = [_let_in(text) for text in texts]  # pandas takes no other names of columns.
    # Hostile names of columns, of which a table shows some and offers all; and files that are none.
    wide = pd.DataFrame({text: [text, place] for place, text in enumerate(texts)}, dtype=object)
    wide["output_video"] = [media.clip.path.as_posix(), texts[1]]
    yield table_bundle(wide)
    several = pd.DataFrame([list(texts[:8])], columns=pd.MultiIndex.from_arrays([texts[:8], texts[8:16]]))
    yield table_bundle(several, key=texts[0])


def _plots(media: Media, texts: Sequence[str]) -> Iterator[Bundle]:
    for start in range(0, len(texts), 24):
        part = list(texts[start : start + 24])
        table = hostile_table(media, part)
        yield plot_bundle(Plot(table, "prompt", "note", "model"), key=part[0], group=part[0])
    # Hostile names of columns.
    named = [_let_in(text) or "none" for text in texts]
    wide = pd.DataFrame({text: [text, place] for place, text in enumerate(named)}, dtype=object)
    columns = list(wide.columns)
    yield plot_bundle(Plot(wide, columns[0], columns[1 % len(columns)], columns[-1]))


def _costs(texts: Sequence[str]) -> Iterator[Bundle]:
    for start in range(0, len(texts), 24):
        part = list(texts[start : start + 24])
        frame = pd.DataFrame({part[0]: part, "status": "completed", "credits": 53, "credits_source": "estimated"})
        yield {"text/html": render_costs(frame.reel.cost(part[0]))}


def _viewers(media: Media, texts: Sequence[str]) -> Iterator[Bundle]:
    """A grid of clips by hostile values, large ones and tabs too, and a comparison of the first ones."""
    for start in range(0, len(texts) - 1, 12):
        table = hostile_table(media, texts[start : start + 12]).reset_index(drop=True).assign(model="svc/x")
        table.attrs["reelbook"]["axes"] = ["prompt", "note"]
        yield grid_bundle(make_clip_grid(table, key=texts[start], parts={"tabs": "prompt"}))
        yield grid_bundle(make_clip_grid(table, view="one"))
        pair = table.iloc[[0, 0]].reset_index(drop=True).assign(prompt=list(table["prompt"][:2]))
        yield {"text/html": render_comparison(Reel(pair).compare())}


def _ended(run: Any, text: str) -> Bundle:
    vars(run)["input"] = asked(text)
    return final_bundle(run)


def _let_in(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _as_name(text: str) -> str:
    """The text as the name of a file, as far as a disk takes it."""
    return (
        text.replace("/", "∕").replace("\x00", "").encode("utf-8", "replace")[:200].decode("utf-8", "ignore") or "none"
    )
