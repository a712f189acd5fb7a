"""Tables with pictures: what stands there without a script, what any DataFrame becomes, and what a notebook has to carry."""

from __future__ import annotations

import base64
import datetime
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import reelbook as rb
from reelbook.display import theme
from reelbook.display.tables import table_html
from reelbook.display.tables.table_columns import format_json, make_column, pack
from reelbook.display.tables.table_html import (
    STATIC_ROWS,
    format_table,
    render_table_markup,
)
from reelbook.display.theme import read_static
from reelbook.media import posters
from reelbook.media.previews import get_preview
from tests.clips import film
from tests.display.stand_in import Read, render_table
from tests.hostile import TEXTS

HUNDRED = 100


class Page(Read):
    """A page with a table: its cells row by row, its notes, and the data for its script."""

    def __init__(self, html: str) -> None:
        super().__init__(html)
        rows = re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL)
        self.rows = [[Read(cell).text for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)] for row in rows]
        self.lines = [Read(line).text for line in re.findall(r"<p class=.*?</p>", html, re.DOTALL)]
        self.payload: Any = json.loads(re.findall(r'<script type="application/json">(.*?)</script>', html)[0])

    @property
    def notes(self) -> str:
        return self.lines[-1]


def unpacked(value: Any) -> list[Any]:
    """What the script makes of packed values."""
    if isinstance(value, list):
        return value
    return [value["of"][at] for at in value["at"]] if "at" in value else value["of"] * value["n"]


def runs(count: int, **columns: Any) -> pd.DataFrame:
    """A table as a sweep gives it, without files."""
    status = ["completed", "failed"] * count
    table = pd.DataFrame(
        {
            "prompt": "a paper boat", "seed": range(count), "num_frames": 49, "frame_rate": 24, "resolution": "480p",
            "output_seed": range(count), "status": pd.Categorical(status[:count]), "credits": 53, "credits_source": "charged",
            "queued_s": np.linspace(0, 1, count), "request_id": [f"id-{row}" for row in range(count)],
        },
        index=pd.RangeIndex(count, name="run"),
    )  # fmt: skip
    return table.assign(**columns)


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two small clips."""
    folder = tmp_path_factory.mktemp("films")
    return [str(film(folder / f"{name}.mp4", frames=6).path) for name in ("one", "two")]


class TestWithoutScripts:
    """What is in the markup itself."""

    def test_the_first_rows_stand_there_with_their_posters(self, clips: list[str]) -> None:
        """A reader without scripts sees posters, states, what varies, and what it cost; and how many rows there are."""
        page = Page(render_table(runs(30, output_video=clips * 15)))

        assert page.rows[0] == ["poster", "run", "status", "seed", "credits", "seconds"]
        assert len(page.rows) == STATIC_ROWS + 1
        assert page.rows[2] == ["", "1", "✕ failed", "1", "53", "2.04"]
        assert page.lines[0] == "30 runs · 15 completed · 15 failed · 1,590 credits"
        assert page.notes == f"The first {STATIC_ROWS} of 30 rows."
        pictures = page.all("img")
        assert len(pictures) == STATIC_ROWS
        assert (pictures[0]["width"], pictures[0]["height"]) == ("64", "48")
        assert pictures[0]["alt"] == "a paper boat · seed 0 · 49 frames at 24/s · 2.0 s · 53 credits"
        assert pictures[1]["alt"] == "a paper boat · seed 1 · 49 frames at 24/s · 2.0 s · 53 credits · ✕ failed"

    def test_the_axes_of_the_sweep_come_first(self) -> None:
        """Where pandas has kept what the sweep knew, its axes stand before other columns that vary, in its order."""
        table = runs(4, sharpness=[0.5, 0.25, 1.0, 2.0])
        table.attrs["reelbook"] = {"axes": ["resolution", "seed", "gone"]}

        assert Page(render_table(table)).rows[0] == [
            "run",
            "status",
            "resolution",
            "seed",
            "sharpness",
            "credits",
            "seconds",
        ]

    def test_only_what_is_spent_is_summed(self) -> None:
        """While runs are under way, what is set aside for them is told apart; a clip that does not exist has no length."""
        states = ["completed", "running", "waiting", "uncertain", "failed"]
        sources = ["charged", "estimated", "estimated", "estimated", "charged"]
        table = runs(5, status=states, credits=[53, 53, 53, 53, 0], credits_source=sources)

        page = Page(render_table(table))
        seconds = next(one for one in page.payload["columns"] if one["name"] == "seconds")

        assert format_table(table).endswith("1 failed · 53 credits · 159 credits set aside")
        assert unpacked(seconds["order"]) == [2.04, None, None, None, None]
        assert (
            format_table(runs(1, status=["waiting"], credits_source="estimated"))
            == "1 run · 1 waiting · 53 credits set aside"
        )


class TestAnyTable:
    """Tables that no sweep has made."""

    ODD = pd.DataFrame(
        {
            "whole": pd.array([1, None, 2**62], dtype="Int64"),
            "real": [0.1 + 0.2, np.nan, np.inf],
            "flag": pd.array([True, None, False], dtype="boolean"),
            "kind": pd.Categorical(["low", None, "high"], categories=["low", "high"], ordered=True),
            "day": pd.to_datetime(pd.Series(["2026-01-02", None, "2025-01-02 10:00"]), format="mixed").dt.tz_localize(
                "Europe/Zurich"
            ),
            "lasts": pd.to_timedelta(["1 min", None, "2 s"]),
            "list": [[1, 2], None, [[]]],
            "dict": [{"path": "a"}, None, {}],
            "array": [np.zeros(3), None, np.zeros((2, 2))],
            "mixed": [1, "x", None],
            "bytes": [b"\xff", None, b""],
            "huge": ["x" * 5_000, None, ""],
            "date": [datetime.date(2026, 1, 2), None, datetime.date(2025, 1, 2)],
            "<b>": [1, 2, 3],
            7: [1, 2, 3],
            None: [1, 2, 3],
            ("a", "b"): [1, 2, 3],
        }
    )

    def test_cells_say_what_they_hold(self) -> None:
        """Numbers to six digits, times with their zone, lists as Python writes them, long texts cut; nothing is None."""
        words = {
            column.name: column.words for column in (make_column(name, self.ODD[name]) for name in self.ODD.columns)
        }

        assert words["whole"] == ["1", None, "4611686018427387904"]
        assert words["real"] == ["0.3", None, "inf"]
        assert words["flag"] == ["True", None, "False"]
        assert words["day"] == ["2026-01-02 00:00:00+01:00", None, "2025-01-02 10:00:00+01:00"]
        assert words["list"] == ["[1, 2]", None, "[[]]"]
        assert words["dict"] == ["{'path': 'a'}", None, "{}"]
        assert words["mixed"] == ["1", "x", None]
        assert words["huge"] == ["x" * 2_000 + "… (5,000 characters)", None, ""]
        assert list(words)[-4:] == ["<b>", "7", "None", "a / b"]
        order = {name: make_column(name, self.ODD[name]).order for name in ("whole", "flag", "kind", "day", "list")}
        assert order == {
            "whole": [1, None, pytest.approx(2**62)], "flag": [1, None, 0], "kind": [0, None, 1],
            "day": [1767308400000.0, None, 1735808400000.0], "list": None,
        }  # fmt: skip

    @pytest.mark.parametrize(
        "table",
        [
            ODD,
            ODD.set_index(["whole", "huge"]),
            ODD.set_axis(["same"] * ODD.shape[1], axis=1),
            ODD.head(0),
            pd.DataFrame(),
            pd.DataFrame({("a", 1): [1], ("a", 2): [2], ("output_video", ""): ["x.mp4"]}),
            pd.DataFrame([["a.mp4", "b.mp4"]], columns=["output_video", "output_video"]),
            pd.DataFrame({"output_images": [5, "x", ["a.png", None], None]}),
            pd.DataFrame({"output_video": [Path("a.mp4"), 3.5, None]}),
            pd.DataFrame({"status": [1, None], "credits": ["many", None], "num_frames": ["a", "b"], "frame_rate": 0}),
            pd.DataFrame({"credits": [np.inf, -np.inf], "status": ["completed", "odd one"]}),
        ],
        ids=lambda table: "-".join(map(str, table.shape)),
    )  # fmt: skip
    def test_every_table_can_be_shown(self, table: pd.DataFrame) -> None:
        """Whatever the columns are called and hold, there is a table with a row for each row, and a payload that can be read."""
        page = Page(render_table(table))

        assert len(page.rows) == len(table) + 1
        assert page.payload["rows"] == len(table)
        assert len({column["name"] for column in page.payload["columns"]}) >= min(table.shape[1], 9)

    @given(st.lists(st.one_of(st.none(), st.integers(0, 3), st.text(max_size=3))))
    def test_what_is_packed_can_be_unpacked(self, values: list[Any]) -> None:
        """Each value is at its place again."""
        assert unpacked(json.loads(json.dumps(pack(values)))) == values


class TestHostile:
    """Texts of strangers, in every place that takes one."""

    def test_the_payload_cannot_end_its_element(self) -> None:
        """No tag, comment or line end of a script stands in it."""
        assert not set("<>&\u2028\u2029") & set(format_json(list(TEXTS)))

    def test_a_file_that_is_no_clip_stays_where_it_is(self, tmp_path: Path) -> None:
        """A table may come from anybody and name any file: what is not a picture or a clip is not put into the notebook."""
        secret = base64.b64encode(b"secret secret secret").decode()
        for name in ("id_rsa", "id.mp4", "id.png", "id.svg"):
            (tmp_path / name).write_bytes(b"secret secret secret")
        names = [str(tmp_path / name) for name in ("id_rsa", "id.mp4", "id.png", "id.svg")]

        html = render_table(runs(5, output_video=[*names, "/dev/zero"]), embed="full")

        assert secret not in html
        assert all(not any(found) for found in Page(html).payload["clips"].values())


class TestAddresses:
    """What opens a file at the service."""

    TOLD = [{"name": "wide", "images": [{"url": "https://host.example/token-1", "width": 640}]}]

    def test_they_stay_out_of_a_notebook(self) -> None:
        """Neither their own columns nor those that stand deeper, also as a text, come along; a notebook is sent around."""
        table = runs(
            2, output_results=[self.TOLD, self.TOLD], output_json=pd.array([json.dumps(self.TOLD)] * 2, dtype="string"),
            output_images_url=[["https://host.example/token-2"]] * 2, output_video_url="https://host.example/token-3",
        )  # fmt: skip

        html = render_table(table)

        assert "token-" not in html
        assert "output_images_url" not in html


class TestWeight:
    """What a notebook has to carry."""

    @pytest.fixture
    def noise(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Posters that no JPEG makes small, and that need no clips."""
        grain = np.random.default_rng(7).integers(0, 255, (32, 54, 96, 3), np.uint8)
        made = []
        for picture in grain:
            out = io.BytesIO()
            Image.fromarray(picture).save(out, "JPEG", quality=75)
            made.append(out.getvalue())
        monkeypatch.setattr(posters, "get_posters", lambda paths: [made[n % 32] for n, _ in enumerate(paths)])

    @pytest.mark.usefixtures("noise")
    @pytest.mark.parametrize("count", [24, 240, 1_200])
    def test_all_posters_together_stay_light(self, count: int) -> None:
        """Also noise, of which no poster is small: at most 600 kB; and the rows that have none are told of once."""
        page = Page(render_table(runs(count, output_video=[f"{row}.mp4" for row in range(count)])))

        packed = page.payload["posters"]["addresses"]
        addresses = unpacked(packed)
        static = [picture["src"] for picture in page.all("img")]
        weight = sum(len(address or "") for address in {*addresses, *static})
        seen = STATIC_ROWS + sum(address is not None for address in addresses)

        assert 0 < weight <= 600_000
        assert seen == count or page.notes.endswith(
            f"{count - seen:,} rows have no poster here, which would make the notebook too heavy."
        )

    def test_very_long_tables_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Beyond the limit the first rows are there, and the note says so."""
        monkeypatch.setattr("reelbook.display.tables.table_html.MAX_ROWS", HUNDRED)

        page = Page(render_table(runs(HUNDRED + 1)))

        assert page.payload["rows"] == HUNDRED
        assert format_table(runs(HUNDRED + 1)).startswith("the first 100 of 101 runs · 50 completed")
        assert page.notes == "The first 24 of 100 rows. These are the first 100 of 101 rows."


class TestClips:
    """What plays without a kernel."""

    def test_small_copies_come_along_while_there_is_room(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """And the note says how many have none."""
        path = film(tmp_path / "noise.mp4", frames=6, size=(640, 360), noise=60).path
        other = str(shutil.copy(path, tmp_path / "other.mp4"))
        small = get_preview(path)
        assert small is not None
        monkeypatch.setattr(table_html, "MAX_CLIP_BYTES", int(1.5 * len(small)))

        page = Page(render_table(runs(2, output_video=[str(path), other]), embed="preview"))

        first, second = (page.payload["clips"][row][0] for row in "01")
        assert first == f"data:video/mp4;base64,{base64.b64encode(small).decode()}"
        assert not second
        assert page.notes.startswith("1 of the clips are not in the notebook")

    def test_a_page_may_have_its_own(self, clips: list[str]) -> None:
        """A report has clips already: none are made."""
        with rb.options(embed="preview"):
            markup = render_table_markup(runs(2, output_video=clips))

        assert Page(markup).payload["clips"] == {}
        assert "<style" not in markup


SCRIPTS = sorted(path.name for path in (Path(theme.__file__).parents[1] / "static").glob("*.js"))


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_has_all_it_needs(name: str) -> None:
    """Nothing is left that asks for an address, and nothing ends the element that it is in."""
    text = read_static(name)

    assert not re.search(r"\bimport\s*[{*\"']|\}\s*from\s*[\"']", text)
    assert not re.search(r"</?script|<!--", text)
