"""The command line: prices, runs and health from a terminal, and one clear sentence when something is wrong."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

import reelbook
from reelbook import cli, doctor
from reelbook.current import session
from reelbook.models.catalog import CATALOG
from tests.support import Served
from tests.transport.variants import Hosted

TEXT_TO_VIDEO = "svc/text-to-video-13b-distilled"


def fed(text: str) -> io.TextIOWrapper:
    """A standard input that holds this text."""
    return io.TextIOWrapper(io.BytesIO(text.encode("utf-8", "surrogateescape")), encoding="utf-8")


class TestFront:
    """The command itself."""

    @pytest.mark.parametrize(
        "command", [[sys.executable, "-m", "reelbook"], [str(Path(sys.executable).parent / "reelbook")]]
    )
    def test_it_is_installed_under_both_names(self, command: list[str]) -> None:
        """`reelbook` and `python -m reelbook` are the same, and tell the version."""
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=60, check=True)

        assert done.stdout == f"reelbook {reelbook.__version__}\n"

    def test_it_ends_quietly_once_nobody_reads_it(self) -> None:
        """As before `head`, which ends as soon as it has its lines."""
        ours, theirs = os.pipe()
        os.close(ours)
        with os.fdopen(theirs, "wb") as closed:
            command = [sys.executable, "-m", "reelbook", "models"]
            done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, check=False)
        assert done.stderr == b""
        assert done.returncode == cli.PIPE_CLOSED


class TestEstimate:
    """What a run costs."""

    def test_it_shows_how_the_price_comes_about(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Each line of the breakdown, then the sum and where it is from."""
        status = cli.main(["estimate", TEXT_TO_VIDEO, '{"prompt": "a boat", "enable_detail_pass": true}'])

        first, second, total = capsys.readouterr().out.splitlines()
        assert status == 0
        assert (first.split(), second.split()) == (["base", "53"], ["detail", "pass", "×", "2.0"])
        assert total.startswith("106 credits (assumed")

    def test_it_reads_from_standard_input(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """`-` stands for a pipe, so that a long input needs no quoting."""
        monkeypatch.setattr(sys, "stdin", fed('{"prompt": "ein Boot im Grünen"}'))

        status = cli.main(["estimate", TEXT_TO_VIDEO, "-"])

        assert status == 0
        assert "53 credits" in capsys.readouterr().out

    def test_a_labs_own_rates_are_used_and_named(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A table of rates replaces the price of the catalog, and the line says so."""
        (tmp_path / "rates.toml").write_text(f'["{TEXT_TO_VIDEO}"]\nunit = "second"\nrate = "20"\n')

        status = cli.main(
            [
                "estimate",
                TEXT_TO_VIDEO,
                '{"prompt": "a boat", "num_frames": 240}',
                "--rates",
                str(tmp_path / "rates.toml"),
            ]
        )

        assert status == 0
        assert "your rates" in (out := capsys.readouterr().out)
        assert "200 credits" in out

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            ([TEXT_TO_VIDEO, "{prompt: boat}"], "not well-formed JSON"),
            ([TEXT_TO_VIDEO, ""], "not well-formed JSON"),
            ([TEXT_TO_VIDEO, "[" * 100_000], "not well-formed JSON"),
            ([TEXT_TO_VIDEO, '["a boat"]'], "must be a JSON object"),
            ([TEXT_TO_VIDEO, '{"prompt": "a boat", "num_frame": 9}'], "Did you mean `num_frames`?"),
            ([TEXT_TO_VIDEO, '{"prompt": "a boat", "num_frames": 5000}'], "The nearest allowed value is 1441."),
            ([TEXT_TO_VIDEO, "{}"], "`prompt`"),
            (["svc/text-to-vide", "{}"], "There is no model 'svc/text-to-vide'. Did you mean"),
            ([TEXT_TO_VIDEO, '{"prompt": "a boat"}', "--rates", "no-such-file.toml"], "no-such-file.toml"),
        ],
    )
    def test_a_mistake_is_one_clear_sentence(
        self, arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Status 1, one line on standard error that says what is wrong, nothing on standard output."""
        status = cli.main(["estimate", *arguments])

        told = capsys.readouterr()
        assert status == 1
        assert sentence in told.err
        assert told.err.startswith("reelbook: ")
        assert told.err.count("\n") == 1
        assert told.out == ""


class TestRun:
    """A run from a terminal, in a process and a library of its own."""

    def run(self, library: Path, input: dict[str, object], **environment: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("REELBOOK_")}
        return subprocess.run(
            [sys.executable, "-m", "reelbook", "run", "svc/frames-api/images-to-video", json.dumps(input)],
            capture_output=True, text=True, timeout=60, check=False, cwd=library.parent,
            env={**kept, "REELBOOK_LIBRARY": str(library), **environment},
        )  # fmt: skip

    def test_it_prints_where_the_files_are(
        self, tmp_path: Path, dot: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Paths go to standard output, one on each line, for other programs; the price goes beside it."""
        done = self.run(tmp_path / "library", {"images": [{"url": dot, "frames": 3}]})

        assert done.returncode == 0, done.stderr
        (path,) = done.stdout.splitlines()
        assert Path(path).is_relative_to(tmp_path / "library")
        assert Path(path).read_bytes()[4:8] == b"ftyp"
        assert "53 credits (charged), request " in done.stderr

        monkeypatch.setenv("REELBOOK_LIBRARY", str(tmp_path / "library"))
        monkeypatch.delenv("REELBOOK_URL", raising=False)
        cli.main(["run", "svc/frames-api/images-to-video", json.dumps({"images": [{"url": dot, "frames": 3}]})])
        again = capsys.readouterr()
        if session.current is not None:
            session.current.close()

        assert again.out == done.stdout
        assert "53 credits (charged), paid earlier; nothing now, request " in again.err


@pytest.mark.parametrize(("second", "status", "mark"), [(True, 0, "ok "), (False, 1, "BAD")])
def test_doctor_tells_each_part_and_fails_with_any(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], second: bool, status: int, mark: str
) -> None:
    """One line for each finding; one bad part makes the whole unhealthy."""

    def findings() -> Iterator[doctor.Finding]:
        yield True, "one part"
        yield second, "another part"

    monkeypatch.setattr(doctor, "run_checks", findings)

    assert cli.main(["doctor"]) == status
    assert capsys.readouterr().out.splitlines() == ["ok   one part", f"{mark}  another part"]


class TestSweepAndLibrary:
    """A plan in a file, run from a terminal, and what is left of it."""

    def test_a_plan_is_priced_then_run_then_looked_up(
        self, shared: Served, dot: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:  # fmt: skip
        """Without a budget nothing is sent; with one, a table is written; the library lists, checks and copies the runs."""
        monkeypatch.setenv("REELBOOK_LIBRARY", str(tmp_path / "library"))
        monkeypatch.delenv("REELBOOK_URL", raising=False)
        served = shared.with_own_account()
        boat = reelbook.SmartResize(image_url=dot, target_sizes=["16x16"], prompt="a boat")
        reelbook.sweep(boat, seed=[1, 2]).to_toml(tmp_path / "plan.toml")

        priced, told = cli.main(["sweep", str(tmp_path / "plan.toml")]), capsys.readouterr().out
        wrong = cli.main(["sweep", str(tmp_path / "plan.toml"), "--budget", "22", "--out", str(tmp_path / "t.xlsx")])
        nothing = not (tmp_path / "library").exists()
        with reelbook.connect(served.base_url, api_key=served.key, library=tmp_path / "library"):
            ran = cli.main(["sweep", str(tmp_path / "plan.toml"), "--budget", "22", "--out", str(tmp_path / "t.csv")])
        said = capsys.readouterr().out
        listed = cli.main(["library", "--find", "boat"]), capsys.readouterr().out
        checked = cli.main(["library", "--verify"]), capsys.readouterr().out
        request = str(pd.read_csv(tmp_path / "t.csv", index_col="run").loc[1, "request_id"])
        one = cli.main(["library", "--run", request, "--export", str(tmp_path / "one")])
        none = cli.main(["library", "--run", "1", "--export", str(tmp_path / "none")])
        copied = cli.main(["library", "--export", str(tmp_path / "out")])

        assert (priced, wrong, ran, copied, one, none) == (0, 1, 0, 0, 0, 1)
        assert [reelbook.provenance(path).seed for path in (tmp_path / "one").glob("*.png")] == [2]
        assert nothing
        assert "2 runs of" in told
        assert "22" in told
        assert "2 completed" in said
        assert len((tmp_path / "t.csv").read_text().splitlines()) == 3
        assert listed[0] == 0
        assert listed[1].count("completed") == 2
        assert checked[0] == 0
        assert len(list((tmp_path / "out").glob("*.png"))) == 2


def test_serve_refuses_a_models_file_before_anything_is_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sentence and the status 1; a key in the file is not repeated."""
    models = tmp_path / "models.toml"
    models.write_text(
        '[services.paid]\naddress = "https://host"\nkey = "sk-0123456789"\n[models."*"]\nengine = "hosted"\n'
    )

    status = cli.main(["serve", "--models", str(models), "--data", str(tmp_path / "data"), "--port", "0"])

    told = capsys.readouterr()
    assert status == 1
    assert "this looks like the key itself" in told.err
    assert "sk-0123456789" not in told.err + told.out
    assert not (tmp_path / "data").exists()


class TestForPrograms:
    """`--json`, exit codes and completion, as a script meets them."""

    SMALL = '{"prompt": "a kite", "num_frames": 9, "resolution": "480p", "aspect_ratio": "1:1", "seed": 1}'

    def reelbook(self, folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """The command in a folder of its own, as a shell calls it."""
        return subprocess.run(
            [sys.executable, "-m", "reelbook", *arguments], cwd=folder, env={**os.environ, **environment},
            capture_output=True, text=True, timeout=90, check=False,
        )  # fmt: skip

    def test_every_command_can_answer_in_json(self, tmp_path: Path) -> None:
        """One document on standard output and nothing else there, from the list of models to the library."""
        plan = reelbook.sweep(reelbook.TextToVideo(**json.loads(self.SMALL)), seed=[1, 2])
        plan.to_toml(tmp_path / "plan.toml")
        answers = {}
        for arguments in (
            ["models"],
            ["estimate", TEXT_TO_VIDEO, self.SMALL],
            ["sweep", "plan.toml"],
            ["sweep", "plan.toml", "--budget", "106"],
            ["run", TEXT_TO_VIDEO, self.SMALL],
            ["library"],
        ):
            done = self.reelbook(tmp_path, *arguments, "--json")
            assert done.returncode == 0, done.stderr
            answers[" ".join(arguments[:1] + arguments[2:3])] = json.loads(done.stdout)

        assert {row["id"] for row in answers["models"]} == {row.id for row in CATALOG}
        assert [row["status"] for row in answers["sweep --budget"]] == ["completed", "completed"]
        assert answers["sweep"] == {"runs": 2, "credits": 106, "credits_due": 106}
        assert Path(answers["run " + self.SMALL]["output_video"]).exists()
        assert len(answers["library"]) == 2

    def test_a_run_whose_answer_was_lost_has_a_status_of_its_own(self, tmp_path: Path) -> None:
        """3, so that a script that tries again after a failure does not pay twice."""
        with Hosted() as service:
            service.on("POST", "/models/run", None)
            done = self.reelbook(
                tmp_path, "run", TEXT_TO_VIDEO, self.SMALL, REELBOOK_URL=service.base_url, REELBOOK_API_KEY="a-key"
            )

        assert done.returncode == 3
        assert "uncertain" in done.stderr

    @pytest.mark.parametrize("shell", ["bash", "zsh"])
    def test_it_completes_in_a_shell(self, shell: str, tmp_path: Path) -> None:
        """The printed script knows commands and options."""
        script = self.reelbook(tmp_path, "--print-completion", shell).stdout

        assert all(word in script for word in ("sweep", "library", "--budget"))
