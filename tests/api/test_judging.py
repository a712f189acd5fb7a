"""`rb.judge`: any table of runs, a job or a plan, whose clips are in a library."""

from __future__ import annotations

import getpass
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

import reelbook as rb
from reelbook.sweeps.plan import Plan
from tests.support import KEY, Served, png


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a library."""
    return tmp_path_factory.mktemp("judged") / "library"


@pytest.fixture(scope="module")
def plan(shared: Served, folder: Path) -> Iterator[Plan]:
    """Three runs of which the library has two."""
    with rb.connect(shared.base_url, api_key=KEY, library=folder):
        dot = rb.ImagesToVideo(images=[rb.Frame(url=png(16, 16), frames=1)])
        plan = rb.sweep(dot, fps=[1, 2, 3])
        plan[:2].run(budget=500, progress=False)
        yield plan


@pytest.fixture(scope="module")
def table(plan: Plan) -> pd.DataFrame:
    return plan[:2].run(budget=500, progress=False)


def test_a_table_is_judged_and_a_later_kernel_goes_on(table: pd.DataFrame) -> None:
    """The judgements of another object with the same question are there; those of another question are not."""
    rb.judge(table, question="Which is calmer?", rater="ana").judge(0, 1, "right", seconds=1.5)

    later, other = (
        rb.judge(table, question="Which is calmer?", rater="ben"), rb.judge(table, question="Which is redder?")
    )  # fmt: skip

    assert later.ranking().index.tolist() == [1, 0]
    assert later.ranking(by="fps").index.tolist() == [2, 1]
    assert other.frame.empty
    assert other.rater == getpass.getuser()


def test_of_a_plan_what_the_library_has_is_judged(plan: Plan) -> None:
    """Nothing is sent for the rest; rows have the numbers of the plan."""
    before = len(rb.library())

    ratings = rb.judge(plan, question="Of the plan?", rater="ana", kind="keep")
    ratings.keep(1, True)

    assert ratings.rows == (0, 1)
    assert ratings.table["status"].tolist() == ["completed", "completed", "not started"]
    assert ratings.table["keep"].tolist() == [pd.NA, True, pd.NA]
    assert len(rb.library()) == before


def test_every_form_of_a_table_will_do(table: pd.DataFrame, plan: Plan, tmp_path: Path) -> None:
    """Its accessor, a job, a table from a file, and one of the library with the numbers of that."""
    job = plan[:2].start(budget=500)
    job.wait()
    table.to_parquet(tmp_path / "table.parquet")
    forms = [table, table.reel, job, rb.read(tmp_path / "table.parquet"), rb.library().frame]

    assert [len(rb.judge(form).rows) for form in forms] == [2] * len(forms)
    assert rb.judge(rb.library().frame).rows == tuple(rb.library().frame.index)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kind": "thumbs"}, "one of pairs, stars, keep, not 'thumbs'"),
        ({"question": " "}, "`question` is a text of 1 to 2,000 letters"),
        ({"rater": 7}, "`rater` is a text"),
    ],
)
def test_what_cannot_be_asked_is_refused(table: pd.DataFrame, options: dict[str, str], words: str) -> None:
    """In words."""
    with pytest.raises(rb.InvalidInput, match=words):
        rb.judge(table, **options)


def test_a_table_without_clips_is_refused(table: pd.DataFrame, plan: Plan) -> None:
    """There is nothing to judge."""
    for nothing in (plan[2:], table.iloc[:0]):
        with pytest.raises(rb.InvalidInput, match="nothing to judge"):
            rb.judge(nothing)
    with pytest.raises(rb.InvalidInput, match="takes a table of runs, a job or a plan, not int"):
        rb.judge(7)


def test_judging_does_not_import_what_only_rankings_need(folder: Path, table: pd.DataFrame) -> None:
    """Neither scipy nor a plotting library, which take a second."""
    code = (
        "import sys; import reelbook as rb; ratings = rb.judge(rb.library(sys.argv[1]).frame, question='Quick?', rater='ana');"
        "ratings.judge(*ratings.next_pair(), 'left'); ratings.counts; ratings.advice;"
        "print(sorted({'scipy', 'ipywidgets', 'starlette'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.strip() == "[]"
