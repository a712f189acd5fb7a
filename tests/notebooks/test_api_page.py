"""What the page of all calls shows, typed into a real notebook and run from top to bottom, with nobody looking at it.

The cells below are those of the page, block by block. What it leaves to the reader is filled in: addresses, texts, a
DataFrame; and the clips are short and the sweep is small, so that it is over soon.
"""

from __future__ import annotations

import asyncio
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from tests.support import KEY, Served

CONNECT = [
    "import os\nimport reelbook as rb",
    'client = rb.connect(os.environ["HOST"], api_key=os.environ["HOST_KEY"])\nclient.close()',
    "client = rb.connect()",
    "client",
    "client.base_url, client.account(), client.models()",
]
ONE_RUN = [
    'boat = rb.TextToVideo(prompt="a paper boat on a rainy street", num_frames=9, seed=7, resolution="480p", aspect_ratio="1:1")',
    "rb.estimate(boat)",
    "run = rb.run(boat)",
    "run",
    "run.output.seed, run.credits, run.timings, run.logs, run.request_id",
    'run.video.path; len(list(run.video.frames())), run.video.save("boat.mp4"), run.video.still(0.5)',
    "boat = boat.revised(num_frames=10, enable_detail_pass=False)\nlater = rb.start(boat.revised(seed=8))",
    "await later",
    'later.wait(timeout=60)\nprint(later.status, rb.attach(later.request_id, model="svc/text-to-video-13b-distilled").wait().status)',
]
A_SWEEP = [
    'plan = rb.sweep(boat, seed=range(2), num_frames=[9, 10], aspect_ratio=["1:1"])',
    "plan",
    "plan.frame",
    "len(plan), plan.credits, plan.credits_due",
    'two = rb.sweep(boat, rb.zipped(seed=[1, 2], prompt=["a kite", "a lake"]), resolution=["480p", "720p"])\nlen(two)',
    "forty = rb.sweep(boat, rb.sampled(40, num_frames=(9, 257), temporal_adain_factor=(0, 1)))\nlen(forty), forty.credits",
    'import pandas as pd\ndf = pd.DataFrame({"seed": [1, 2, 3], "num_frames": [9, 17, 25]})\nrb.sweep(boat, df).axes',
    """other = two
fewer = plan.where(lambda r: r.num_frames < 10 or r.resolution == "720p")
len(fewer), len(plan.repeated(3)), len(plan[:5]), len(plan + other), len(plan.shuffled(seed=0))""",
    "table = plan.run(budget=215)",
    "table",
    # In one cell, because nbclient drops what comes between two of them.
    "job = plan.start(budget=215)\ndisplay(job)\nagain = await job",
    "job.panel; job.frame; job.pause(); job.resume()",
    "print(len(again), list(again.status.unique()), (again.request_id == table.request_id).all())",
    'table.groupby("num_frames").credits.sum()',
    "rb.compare(run, later)",
    "table.reel.compare(0, 1).differences.columns.tolist()",
    """notified = []
few = plan[:2].run(take=1, concurrency=1, rate="10/s", on_error="stop", progress=False, notify=notified.append)
print([job.is_done for job in notified], list(few.status), few["take"].tolist())""",
    'table.to_parquet("table.parquet")\nprint(list(rb.read("table.parquet").columns) == list(table.columns))',
]
FORMS = [
    "form = rb.form(rb.TextToVideo)\nform",
    'rb.form("svc/smart-resize")',
    "form.value = boat\nform.value == boat, eval(form.code) == boat",
    "studio = rb.studio()\nstudio",
]
DECIDE = [
    'ratings = rb.judge(table, question="Which moves more naturally?", rater="ana")\nleft, right = ratings.rows[:2]',
    'ratings.judge(left, right, "left")\nprint(ratings.frame["answer"].tolist())',
    'print(ratings.ranking(by=None)["wins"].tolist(), ratings.ranking(by="seed").index.name)',
    "print(ratings.agreement())",
    """race = plan.race(by="sharpness", budget=1.0)
await race; race.wait(); race.cancel()
print(race.best in [row.input for row in plan], race.spent + race.saved == plan.credits, set(race.table.status))""",
    "race.panel",
    "print(list(race.ranking().columns))\nrace",
]
CELLS = [*CONNECT, *ONE_RUN, *A_SWEEP, *DECIDE, *FORMS]
WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(scope="module")
def notebook(shared: Served, tmp_path_factory: pytest.TempPathFactory) -> NotebookNode:
    """The notebook with what it has put out, run once in a fresh folder, as a batch job does."""
    folder = tmp_path_factory.mktemp("page")
    cells = [new_code_cell(source) for source in CELLS]  # type: ignore[no-untyped-call]
    notebook: NotebookNode = new_notebook(cells=cells)  # type: ignore[no-untyped-call]
    with pytest.MonkeyPatch.context() as patch, asyncio.Runner() as runner:
        environment = {
            "REELBOOK_LIBRARY": str(folder / "library"), "HOST": shared.base_url, "HOST_KEY": KEY, "JUPYTER_PREFER_ENV_PATH": "1",
            "JUPYTER_RUNTIME_DIR": str(folder / "runtime"), "IPYTHONDIR": str(folder / "ipython"),
        }  # fmt: skip
        for name, value in environment.items():
            patch.setenv(name, value)
        for name in ("REELBOOK_URL", "REELBOOK_API_KEY"):
            patch.delenv(name, raising=False)
        client = NotebookClient(
            notebook, timeout=90, kernel_name="python3", resources={"metadata": {"path": str(folder)}},
            extra_arguments=["--log-level=40"], allow_errors=True,
        )  # fmt: skip
        runner.run(client.async_execute())
    return notebook


def bundles(notebook: NotebookNode, source: str) -> list[dict[str, Any]]:
    """What the cell has put out, each by its MIME types."""
    (cell,) = [cell for cell in notebook.cells if cell.source.startswith(source)]
    return [dict(output.data) for output in cell.outputs if "data" in output]


def texts(notebook: NotebookNode, source: str) -> str:
    """What the cell has put out and printed, as text."""
    (cell,) = [cell for cell in notebook.cells if cell.source.startswith(source)]
    return "\n".join(output.get("text") or output.data.get("text/plain", "") for output in cell.outputs).strip()


def test_every_call_of_the_page_runs_as_it_is_written(notebook: NotebookNode) -> None:
    """No cell raises, none says anything on stderr, and all have run in their order."""
    outputs = [(cell.source, output) for cell in notebook.cells for output in cell.outputs]

    errors = [
        f"{source}\n{output.ename}: {output.evalue}" for source, output in outputs if output.output_type == "error"
    ]
    assert errors == []
    assert [cell.execution_count for cell in notebook.cells] == list(range(1, len(CELLS) + 1))
    assert [output.text for _, output in outputs if output.output_type == "stream" and output.name == "stderr"] == []


def test_what_the_page_says_of_a_run_is_so(notebook: NotebookNode) -> None:
    """The clip has its price, its seed and its frames; awaited, waited for and attached to, the other one is completed."""
    assert "53" in texts(notebook, "rb.estimate(boat)")
    assert texts(notebook, "run.output.seed").startswith("(7,\n 53,\n {'queued': ")
    assert texts(notebook, "run.video.path").startswith("(9, ")
    assert texts(notebook, "later.wait") == "completed completed"


def test_what_the_page_says_of_a_sweep_is_so(notebook: NotebookNode) -> None:
    """4 runs for 212 credits, nothing of it paid before; awaited a second time, the same runs, at no cost."""
    table = texts(notebook, "table.groupby")

    assert texts(notebook, "len(plan), plan.credits") == "(4, 212, 212)"
    assert texts(notebook, "two = ") == "4"
    assert texts(notebook, "forty = ").startswith("(40, ")
    assert texts(notebook, "other = two") == "(2, 12, 4, 8, 4)"
    assert texts(notebook, "print(len(again)") == "4 ['completed'] True"
    assert [line.split()[-1] for line in table.splitlines()[1:3]] == ["106", "106"]
    assert texts(notebook, "notified = []") == "[True] ['completed', 'completed'] [1, 1]"
    assert texts(notebook, 'table.to_parquet("table.parquet")') == "True"


def test_the_saved_notebook_has_the_panel_without_any_widget(notebook: NotebookNode) -> None:
    """As HTML and as text, at its last state; it needs no script, and no cell holds a widget that a reader would miss."""
    (panel,) = bundles(notebook, "table = plan.run")

    assert set(panel) == {"text/html", "text/plain"}
    assert panel["text/plain"].startswith("4 of 4 · 4 completed")
    assert "212 of 215 credits spent" in panel["text/plain"]
    # The script comes last, and only plays what the posters show.
    html, _, script = panel["text/html"].partition("<script")
    assert "4 of 4" in html
    assert html.count("<img ") >= 4
    assert script.partition("</script>")[2].replace("</div>", "").strip() == ""
    job = [one for one in bundles(notebook, "job = plan.start") if one.get("text/plain")]
    assert job
    assert [one["text/plain"] for one in job if "4 of 4" not in one["text/plain"] or not one["text/html"]] == []
    others = [cell for cell in notebook.cells if cell.source not in FORMS]
    assert [kind for cell in others for output in cell.outputs for kind in output.get("data", {}) if "widget" in kind] == []  # fmt: skip


@pytest.mark.parametrize("source", [FORMS[0], FORMS[1], FORMS[3]])
def test_a_form_leaves_a_picture_beside_its_widget(notebook: NotebookNode, source: str) -> None:
    """The widget for whoever has the kernel, and what stood in it for all others."""
    picture, *widgets = bundles(notebook, source)

    assert [WIDGET in one for one in widgets] == [True]
    assert "data-rb-twin" in picture["text/html"]
    assert picture["text/plain"]


def test_what_the_page_says_of_judging_is_so(notebook: NotebookNode) -> None:
    """An answer by code is a row, and ranks the clips and what they vary in; one person agrees with nobody."""
    assert texts(notebook, "ratings.judge(left") == "['left']"
    assert texts(notebook, "print(ratings.ranking") == "[1, 0, 0, 0] seed"
    assert texts(notebook, "print(ratings.agreement") == (
        "Only one person has judged (ana), so there is no agreement to measure."
    )


def test_what_the_page_says_of_a_race_is_so(notebook: NotebookNode) -> None:
    """What the plan has paid for costs nothing more, and the card of the race stays."""
    assert texts(notebook, "race = plan.race(") == "True True {'completed'}"
    assert texts(notebook, "print(list(race.ranking").startswith(
        "['num_frames', 'aspect_ratio', 'mean', 'low', 'high', 'chance', 'runs', 'credits']"
    )
    for source in ("race.panel", "print(list(race.ranking"):
        assert "chance to be best" in bundles(notebook, source)[0]["text/html"]


def test_what_the_page_says_of_a_form_is_so(notebook: NotebookNode) -> None:
    """It takes an input, gives it back, and writes it as Python."""
    assert texts(notebook, "form.value = boat") == "(True, True)"


def test_the_notebook_is_one_that_others_can_read(notebook: NotebookNode) -> None:
    """Well-formed as it stands, and small enough to send."""
    nbformat.validate(notebook)

    assert len(nbformat.writes(notebook)) < 6_000_000  # type: ignore[no-untyped-call]
