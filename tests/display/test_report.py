"""`table.reel.report(…)`: what is in the page, its plots and comparisons, and what it refuses."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import reelbook as rb
from reelbook.api import table_accessor  # noqa: F401  # Gives tables their `.reel`.
from reelbook.decide.ranking import find_clips
from reelbook.decide.ratings import Ratings
from reelbook.display.report.layout import choose_layout, find_axes
from reelbook.display.report.make_report import write_report
from reelbook.display.table_runs import group_runs
from reelbook.errors import ReelbookError
from reelbook.storage.run_identity import format_canonical
from tests.clips import film
from tests.display.stand_in import Read
from tests.storage.made import Made

MODEL = rb.TextToVideo.endpoint_id
ATTRIBUTES = re.compile(r'(?:src|href|poster)="([^"]*)"')


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Six films of one second or less."""
    folder = tmp_path_factory.mktemp("clips")
    return [str(film(folder / f"clip-{number}.mp4", frames=25 - 5 * (number % 2)).path) for number in range(6)]


def table_of(clips: Sequence[str | None], **columns: Any) -> pd.DataFrame:
    """A table of runs with these files, as a sweep leaves it."""
    asked = {"seed": range(len(clips)), "num_frames": 25, "prompt": "a paper boat", **columns}
    inputs = [
        rb.TextToVideo(prompt="a paper boat", seed=seed, num_frames=25) if isinstance(seed, int) else None
        for seed in asked["seed"]
    ]
    after = {
        "output_video": list(clips), "output_seed": range(len(clips)), "status": ["completed" if clip else "failed" for clip in clips],
        "credits": [53 if clip else 0 for clip in clips], "credits_source": "charged", "running_s": 2.0, "take": 0, "model": MODEL,
        "error_type": [None if clip else "image_load_error" for clip in clips], "error": [None if clip else "It is no picture." for clip in clips],
        "request_id": [f"request-{run}" for run in range(len(clips))], "input_json": [one and format_canonical(one) for one in inputs],
    }  # fmt: skip
    return pd.DataFrame({**asked, **{name: after[name] for name in after if name not in columns}}).rename_axis("run")


def page_of(table: Any, place: Path, *views: Any, **options: Any) -> str:
    """The page of a report."""
    return write_report(table, place / "x.html", views=list(views), **options).read_text(encoding="utf-8")


class TestPage:
    """One file."""

    def test_it_is_one_file_that_asks_for_nothing(self, clips: list[str], tmp_path: Path) -> None:
        """Every address in it is a place in it or its own content; no copy that was begun lies about."""
        page = page_of(table_of(clips), tmp_path)

        assert [path.name for path in tmp_path.iterdir()] == ["x.html"]
        assert {address.partition(":")[0] if address[0] != "#" else "#" for address in ATTRIBUTES.findall(page)} == {
            "data",
            "#",
        }
        assert page.count('src="data:video/mp4;base64,') == 6

    def test_only_its_own_scripts_may_run(self, clips: list[str], tmp_path: Path) -> None:
        """The policy names each script by its hash, and allows nothing from elsewhere."""
        page = page_of(table_of(clips), tmp_path)

        policy = html.unescape(re.findall(r'Content-Security-Policy" content="([^"]*)"', page)[0])
        scripts = re.findall(r'<script type="module">(.*?)</script>', page, re.DOTALL)
        hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'" for one in scripts]

        assert policy.startswith("default-src 'none'; ")
        assert f"script-src {' '.join(hashes)};" in policy
        assert "'unsafe-inline'" not in policy.partition("style-src")[0]
        assert "http" not in policy

    def test_its_name_ends_in_html(self, clips: list[str], tmp_path: Path) -> None:
        """Whatever was said, so that a browser opens it; a page that was there is replaced."""
        table = table_of(clips[:1])

        assert write_report(table, tmp_path / "boats").name == "boats.html"
        assert write_report(table, tmp_path / "deep" / "v1.2").name == "v1.2.html"
        assert write_report(table, str(tmp_path / "boats.HTM")).name == "boats.HTM"
        assert "another title" in write_report(table, tmp_path / "boats.html", title="another title").read_text()

    def test_it_tells_plan_totals_and_costs(self, clips: list[str], tmp_path: Path) -> None:
        """What varied and what was held, runs by their state, credits, seconds."""
        table = table_of([*clips[:5], None])
        table.attrs["reelbook"] = {"service": "https://host.example/api"}

        told = " ".join(Read(page_of(table, tmp_path)).text.split())

        assert "a paper boat" in told[:200]
        assert f"{MODEL} · made" in told
        assert "https://host.example/api" in told
        assert all(
            words in told
            for words in ("5 completed", "1 failed", "265", "seedrunscreditsper success", "seed60 · 1 · 2 · 3 · 4 · 5")
        )

    def test_a_run_that_failed_says_why(self, clips: list[str], tmp_path: Path) -> None:
        """In its place among the clips, and in its recipe."""
        page = Read(page_of(table_of([clips[0], None]), tmp_path))

        assert page.text.count("It is no picture.") >= 2
        assert len(page.all("video")) == 1

    def test_a_file_that_is_gone_is_told_without_its_folder(self, clips: list[str], tmp_path: Path) -> None:
        """The page goes to somebody else; the folders of its sender are nobody's business."""
        broken = tmp_path / "secret" / "broken.mp4"
        broken.parent.mkdir()
        broken.write_bytes(b"no film")

        page = page_of(table_of([clips[0], "/home/jane/secret/gone.mp4", str(broken)]), tmp_path)

        assert "its file is gone" in page
        assert "broken.mp4 cannot be read" in page
        assert "secret" not in page

    def test_it_tells_nothing_of_its_sender(self, clips: list[str], tmp_path: Path) -> None:
        """Neither folders, of results or of source pictures, nor the addresses that open files at the service."""
        table = table_of(
            clips[:2], output_video_url=["https://host.example/files/token-1", "https://host.example/files/token-2"],
            image_url=["/home/jane/plans/a.png", "C:\\jane\\plans\\b.png"], model=[rb.ImageToVideo.endpoint_id] * 2,
        )  # fmt: skip

        page = page_of(table, tmp_path)

        assert "a.png" in page
        assert [told for told in ("jane", "token-", str(Path(clips[0]).parent), str(tmp_path)) if told in page] == []

    def test_no_address_of_a_result_goes_out_at_any_depth(self, clips: list[str], tmp_path: Path) -> None:
        """A resize repeats its pictures in each size; also as JSON, as Python writes it, and in an array, they lose their addresses."""
        told = [{"name": "wide", "images": [{"url": "https://host.example/files/token-1", "width": 640}]}]
        table = table_of(
            clips[:2], output_results=[told, told], output_images_url=[["https://host.example/files/token-2"]] * 2,
            output_json=[json.dumps(told)] * 2, output_python=[repr(told)] * 2,
            output_array=pd.Series([np.array(told, dtype=object)] * 2, dtype=object),
            output_broken=["[{'url': 'https://host.example/files/token-3'", "see https://host.example/files/token-4"],
            output_zip=[{"archive_url": "/files/token-5", "count": 4}] * 2,
        )  # fmt: skip

        page = page_of(table, tmp_path)

        assert "token-" not in page
        assert "token-1" in str(table["output_results"][0])

    def test_runs_have_the_same_numbers_everywhere(self, clips: list[str], tmp_path: Path) -> None:
        """Of tables that were joined, the index says the same twice: cards, recipes and the table count anew, together."""
        both = pd.concat([table_of(clips[:2]), table_of(clips[2:4])])
        apart = pd.concat({"one": table_of(clips[:2]), "two": table_of(clips[2:4])})

        page, told = page_of(both, tmp_path), page_of(apart, tmp_path)

        index = json.loads(
            re.findall(r'<script type="application/json">(\{"key":"[^"]*","group":"[^"]*","rows".*?)</script>', page)[0]
        )["columns"][0]
        assert (index["name"], index["order"]) == ("run", [0, 1, 2, 3])
        assert re.findall(r'"rb-end">[^<]*</span><b>(.*?)</b>', page) == ["run 0", "run 1", "run 2", "run 3"]
        assert re.findall(r'"rb-end">[^<]*</span><b>(.*?)</b>', told) == [
            "run one 0",
            "run one 1",
            "run two 0",
            "run two 1",
        ]
        assert list(both.index) == [0, 1, 0, 1]

    def test_what_is_set_aside_is_not_told_as_spent(self, clips: list[str], tmp_path: Path) -> None:
        """Of a sweep under way: what it has cost so far, and apart from it what is set aside for the rest."""
        states, sources = ["completed", "running", "waiting"], ["charged", "estimated", "estimated"]
        table = table_of([clips[0], None, None], status=states, credits_source=sources, credits=[53, 53, 53])

        page = page_of(table, tmp_path)

        assert (
            '<dt>credits</dt><dd class="rb-number">53</dd><dd class="rb-soft">charged · 106 more set aside</dd>' in page
        )


class TestRecipes:
    """How to make each again."""

    def test_the_code_runs_the_same_input(self, clips: list[str], tmp_path: Path) -> None:
        """Pasted as it is."""
        page = page_of(table_of(clips), tmp_path)

        codes = [html.unescape(code) for code in re.findall(r"<code>(.*?)</code>", page, re.DOTALL)]
        spoken: list[rb.TextToVideo] = []
        for code in codes:
            if code.startswith("import"):
                exec(code.partition("\n\n")[2], {"rb": SimpleNamespace(TextToVideo=rb.TextToVideo, run=spoken.append)})

        assert spoken == [rb.TextToVideo(prompt="a paper boat", seed=seed, num_frames=25) for seed in range(6)]


class TestRefused:
    """What makes no report."""

    def test_a_table_that_names_no_files(self, tmp_path: Path) -> None:
        """It says which columns it wants; nothing is written."""
        with pytest.raises(ReelbookError, match="output_video"):
            write_report(pd.DataFrame({"seed": [1]}), tmp_path / "x.html")
        with pytest.raises(ReelbookError, match="nothing to report"):
            write_report(pd.DataFrame({"seed": [1], "output_video": [None]}), tmp_path / "x.html")
        assert list(tmp_path.iterdir()) == []

    def test_a_folder_is_no_name_for_a_page(self, clips: list[str], tmp_path: Path) -> None:
        """One that is there, or a path that ends like one: nothing is written beside it, and the way out is named."""
        (tmp_path / "mine").mkdir()

        for path in (str(tmp_path / "mine"), tmp_path / "mine", f"{tmp_path}/new/"):
            with pytest.raises(ReelbookError, match=r"is a folder.*report\.html"):
                write_report(table_of(clips[:1]), path)

        assert [path.name for path in tmp_path.iterdir()] == ["mine"]


class TestLayout:
    """Where the clips stand."""

    def test_two_axes_make_a_grid(self) -> None:
        """The one with fewer values across, the other down; numbers in their order."""
        table = table_of([None] * 6, seed=[3, 1, 2, 3, 1, 2], num_frames=[49, 49, 49, 97, 97, 97])

        layout = choose_layout(find_axes(table), 6)

        assert layout.across is not None
        assert layout.rows is not None
        assert layout.across.values == ("49 frames", "97 frames")
        assert layout.rows.values == ("seed 1", "seed 2", "seed 3")

    def test_what_moves_together_is_one_axis(self) -> None:
        """Zipped columns vary as one."""
        axes = find_axes(table_of([None] * 3, seed=[1, 2, 3], prompt=["a", "b", "c"]))

        assert [axis.columns for axis in axes] == [("seed", "prompt")]
        assert axes[0].values[0] == "seed 1 · a"

    def test_models_are_kept_apart(self, clips: list[str], tmp_path: Path) -> None:
        """Each has its plan and its clips; that there are several is said."""
        mixed: pd.DataFrame = pd.concat(
            [table_of(clips[:2]), table_of(clips[2:4], model=["svc/other"] * 2).drop(columns="prompt")]
        )

        page = page_of(mixed, tmp_path)

        assert [len(group.entries) for group in group_runs(mixed)] == [2, 2]
        assert "2 models: " in page
        assert page.count("<h3>") == 4


def test_a_report_is_shown_as_a_link_and_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below the notebook's folder; elsewhere no link of a page could reach it."""
    from reelbook.display.report.make_report import LinkedPath

    monkeypatch.chdir(tmp_path)
    page, elsewhere = LinkedPath("boats & <b>.html"), LinkedPath(tmp_path.parent / "boats.html")

    assert page._repr_html_() == (
        '<a href="./boats%20%26%20%3Cb%3E.html" target="_blank" rel="noopener">boats &amp; &lt;b&gt;.html</a>'
    )
    assert elsewhere._repr_html_() is None
    assert (page, str(page), page.suffix) == (Path("boats & <b>.html"), "boats & <b>.html", ".html")


class TestJudgements:
    """What people have judged, in a report."""

    def rate(self, table: pd.DataFrame, made: Made, question: str, kind: str = "pairs") -> Ratings:
        clips = find_clips(table, table["request_id"].tolist())
        return Ratings(table, clips, made.library.judgements, question=question, rater="Ana Example", kind=kind)

    def test_the_ranking_is_in_the_page(self, clips: list[str], tmp_path: Path) -> None:
        """With its question, intervals and what it says; without the names of people."""
        table = table_of(clips[:3], num_frames=[9, 17, 25])
        made = Made(tmp_path / "library")
        ratings = self.rate(table, made, "Which <script>alert(1)</script>?")
        for left, right in [(2, 0), (2, 1), (1, 0), (0, 1)] * 6:
            ratings.judge(left, right, "left")

        page = page_of(table, tmp_path, ratings=[ratings])
        made.close()

        part = page[page.index('<section id="ratings"') : page.index('<section id="costs"')]
        assert "Which &lt;script&gt;alert(1)&lt;/script&gt;?" in part
        assert "24 judgements of 3 clips by 1 person" in part
        assert "Settled: Row 2 is the best" in part
        runs = re.findall(r"row (.) · [^<]*\b(\d+) frames[^<]*</bdi>", part)
        assert (runs[0], sorted(runs)) == (("2", "25"), [("0", "9"), ("1", "17"), ("2", "25")])
        assert "12 of 12 won" in part
        assert "Ana Example" not in page


MAX_VIEW_BYTES = 130_000
"""Of a plot and a comparison together with their scripts and styles."""


@pytest.fixture(scope="module")
def table(clips: list[str]) -> Any:
    """Five runs, of which the last has failed, with a measure and the addresses of their files."""
    addresses = [f"https://host.example/{row}?token=1" for row in range(5)]
    return table_of([*clips[:4], None]).assign(sharpness=[0.4, 0.1, 0.3, 0.2, 0.5], output_video_url=addresses)


def payload_of(page: str) -> dict[str, Any]:
    """The data of the plot in a page."""
    return dict(
        json.loads(
            page.partition("data-rb-plot")[2].partition('<script type="application/json">')[2].partition("</script>")[0]
        )
    )


def test_all_views_use_the_files_that_the_page_has(table: Any, tmp_path: Path) -> None:
    """Each clip and poster is in it once, so that a plot and a comparison add little."""
    plain = page_of(table, tmp_path)

    page = page_of(table, tmp_path, table.reel.plot("seed", "sharpness"), table.reel.compare(0, 1))

    assert page.count("data:video/mp4;base64,") == plain.count("data:video/mp4;base64,") == 4
    assert len(page) - len(plain) < MAX_VIEW_BYTES
    assert "data:" not in str(payload_of(page)["posters"])
    read = Read(page)
    assert [one["data-rb-key"] for one in read.all("figure") if "data-rb-key" in one] == ["report 0 0", "report 1 0"]
    assert [words for words in ("Plot", "Comparison", "previews of the clips") if words not in read.text] == []
    assert 'class="rb-plot-still"' not in page


def test_the_points_are_those_of_the_rows_of_the_report(table: Any, tmp_path: Path) -> None:
    """Also of a table that was sorted, filtered and got another column after the plot was made of it."""
    other = table[table.sharpness < 0.45].sort_values("sharpness").assign(half=lambda rows: rows.sharpness / 2)

    page = page_of(table, tmp_path, other.reel.plot("half", "sharpness"))

    assert payload_of(page)["rows"] == [1, 3, 2, 0]
    assert re.findall(r'data-row="(\d)"[^>]*/>', page.partition("rb-drawing")[2])[:4] == ["1", "3", "2", "0"]


def test_a_plot_of_other_runs_is_refused(table: Any, tmp_path: Path) -> None:
    """Before anything is written; the message says what to do."""
    stranger = table.assign(request_id=[f"other-{row}" for row in range(5)])

    with pytest.raises(
        ReelbookError, match=r"5 of the 5 rows of this plot are not among them\. Plot the table that is reported"
    ):
        page_of(table, tmp_path, stranger.reel.plot("seed", "sharpness"))

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", ["plot", 7, [("seed", "sharpness")], {"a": 1}])
def test_what_is_no_view_is_refused(table: Any, tmp_path: Path, wrong: Any) -> None:
    """With an example of what is meant."""
    with pytest.raises(ReelbookError, match=r"views=\[table\.reel\.plot"):
        write_report(table, tmp_path / "x.html", views=wrong)


def test_no_folder_and_no_address_of_the_sender_is_in_it(table: Any, tmp_path: Path) -> None:
    """Neither of files, nor of pictures that inputs name, nor of files that are gone."""
    private = table.assign(
        image_url=["/home/ana/secret/a.png", "/home/ana/secret/b.png", *["/home/ana/secret/c.png"] * 3]
    )
    private["output_video"] = [*private.output_video[:3], "/home/ana/secret/gone.mp4", None]

    page = page_of(private, tmp_path, private.reel.plot("image_url", "seed", "output_video"), private.reel.compare())

    assert "/home/ana" not in page
    assert str(Path(table.output_video[0]).parent) not in page
    assert "host.example" not in page
    assert [word for word in ("a.png", "b.png", "gone.mp4") if word not in page] == []
    with pytest.raises(ReelbookError, match="has no column 'output_video_url'"):
        table.reel.plot("output_video_url", "seed")


def test_a_comparison_with_another_file_is_refused(table: Any, tmp_path: Path) -> None:
    """Before anything is written; the message names the file."""
    other = film(tmp_path / "other.mp4", frames=12).path

    with pytest.raises(ReelbookError, match=r"other\.mp4 is not among them.*table\.reel\.compare\(0, 1\)"):
        page_of(table, tmp_path, rb.compare(table.loc[[0]], other))

    assert not (tmp_path / "x.html").exists()
