"""The command `reelbook class`: a teacher from nothing to printed keys, and a student from a strip to a clip."""

from __future__ import annotations

import csv
import html
import io
import os
import re
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reelbook import cli
from reelbook_service.accounts import hash_key
from reelbook_service.class_admin import Student, read_students
from reelbook_service.limits import BadAccounts
from tests.support import STITCH, Serve, Served, administer

Announced = Callable[..., str]
NAMES = [f"Student {number}" for number in range(30)]


def test_thirty_printed_keys_in_two_commands_and_a_clip_in_two_lines(
    command: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Serve, add, and print the sheet; then exactly the two lines of a strip, in a Python of its own."""
    data, sheet, names = tmp_path / "service", tmp_path / "keys.html", tmp_path / "names.csv"
    names.write_text("\n".join(NAMES), encoding="utf-8")
    serving = command("--host", "0.0.0.0")
    assert serving.until("Reelbook service at http://([0-9.]+)") != "0.0.0.0"
    assert serving.until(r"  board  http://\S+/class/login\?token=(\S{20,})\n")
    assert cli.main(["class", "add", str(names), "--budget", "530", "--sheet", str(sheet), "--data", str(data)]) == 0
    said = capsys.readouterr().out

    strips = sheet.read_text(encoding="utf-8").split("<section>")[1:]
    lines = [
        "".join(html.unescape(code) for code in re.findall(r"<code>(.*?)</code>", line))
        for line in re.findall(r"<li>(.*?)(?=<li>|</ol>)", strips[7])
    ]
    assert (len(strips), len(lines)) == (30, 2)
    student = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], cwd=tmp_path, capture_output=True, text=True, timeout=120,
        env={**os.environ, "REELBOOK_LIBRARY": str(tmp_path / "library")},
    )  # fmt: skip
    rows = administer(data, "report")
    serving.ended_by(signal.SIGTERM)

    assert student.returncode == 0, student.stderr
    assert [row.name for row in rows if row.completed == 1 and row.spent == 53] == [NAMES[7]]
    # The keys are on the sheet alone.
    assert "30 new keys" in said
    assert not re.search("rb(-[a-z0-9]{4}){6}", said)
    assert stat.S_IMODE(sheet.stat().st_mode) == 0o600
    assert list((tmp_path / "library").rglob("*.mp4")) or list(tmp_path.rglob("*.mp4"))


@pytest.fixture
def school(serve: Serve, capsys: pytest.CaptureFixture[str]) -> School:
    return School(serve(workers=1), capsys)


class School:
    """A running service, and its command."""

    def __init__(self, served: Served, capsys: pytest.CaptureFixture[str]) -> None:
        self.served, self._capsys = served, capsys

    def says(self, *arguments: str, status: int = 0) -> str:
        """What the command prints."""
        action, *others = arguments
        assert cli.main(["class", action, "--data", str(self.served.server.service.settings.data), *others]) == status
        printed = self._capsys.readouterr()
        return printed.err if status else printed.out

    def report(self) -> dict[str, dict[str, str]]:
        return {row["name"]: row for row in csv.DictReader(io.StringIO(self.says("report", "--csv")))}


def test_credits_pauses_and_keys_change_while_the_service_runs(school: School) -> None:
    """Each action says whom it concerns, and counts at once."""
    school.says("add", "Ada", "Bo", "--budget", "100", "--group", "A")

    assert "30 credits more for Ada." in school.says("topup", "Ada", "30")
    assert "5 credits more for Ada, Bo." in school.says("topup", "--group", "A", "5")
    paused = school.says("pause", "--all")
    assert "Paused: Ada, Bo." in paused
    assert "`reelbook class resume`, with a NAME, --group or --all, lets them start new ones." in paused
    assert "Resumed: Bo." in school.says("resume", "Bo")
    rows = school.report().values()
    assert [(row["budget"], row["paused"]) for row in rows] == [("135", "yes"), ("105", "no")]
    said = school.says("replace", "Ada")
    assert "Old keys no longer work" in said
    assert 'import reelbook as rb; rb.connect("http://127.0.0.1:' in said
    assert f"Only this machine can reach {school.served.base_url}: students at other computers cannot." in said
    assert "reelbook serve --host 0.0.0.0, or --address" in said
    assert school.served.get("/account", _keys(said)[0]).json()["credits_available"] == 135


def test_budgets_and_limits_change_for_one_or_for_all(school: School, tmp_path: Path) -> None:
    """A budget is lowered below what is left, "Ada" is Ada Lovelace, and what is not named stays."""
    key = _keys(school.says("add", "Ada Lovelace", "--budget", "500"))[0]
    school.says("add", "Bo", "--budget", "500", "--hours", "8-16")

    assert "Changed: Ada Lovelace." in school.says("limit", "ada", "--budget", "300")
    assert "Changed: Ada Lovelace, Bo." in school.says("limit", "--all", "--at-once", "1", "--until", "2099-12-18")
    assert "Which accounts" in school.says("limit", "--budget", "3", status=1)
    assert "Say what to change" in school.says("limit", "Bo", status=1)
    for wrong in (
        ("limit", "Bo", "--budget", "-3"),
        ("add", "Cy", "--budget", "1,000"),
        ("topup", "Bo", "1,5"),
        ("topup", "Bo"),
    ):
        assert f"'{wrong[-1]}' is not a whole number of credits. Nothing was changed." in school.says(*wrong, status=1)

    account = school.served.get("/account", key).json()
    window = "until Friday, 18 December 2099, 24:00"
    assert (account["credits_available"], account["limits"]) == (300, {"at_once": 1, "window": window})
    assert school.report()["Bo"]["budget"] == "500"
    assert school.report()["Bo"]["window"] == f"{window}; 08:00-16:00"
    sheet = tmp_path / "keys.html"
    school.says("replace", "ada", "--sheet", str(sheet))
    assert f"300 credits · {window} · 1 run at once" in sheet.read_text(encoding="utf-8")


def test_all_accounts_together_spend_no_more_than_they_may(school: School, dot: str) -> None:
    """Whatever their own budgets say, and also what removed students have spent; `none` lifts it."""
    ada, bo = (_keys(school.says("add", name, "--budget", "530"))[0] for name in ("Ada", "Bo"))
    assert "may spend 110 credits" in school.says("limit", "--together", "110")
    first = school.served.run(STITCH, {"images": [dot]}, ada).json()["requestId"]
    school.served.finished(STITCH, first, ada)
    assert "Removed: Ada. Their keys no longer work" in school.says("remove", "Ada")
    assert school.served.run(STITCH, {"images": [dot]}, ada).status_code == 401
    assert school.served.get("/account", bo).json()["credits_available"] == 57
    assert school.served.run(STITCH, {"images": [dot]}, bo).status_code == 200
    refused = school.served.run(STITCH, {"images": [dot]}, bo)
    said = school.says("report")
    assert "Removed before: Ada. They stay removed" in school.says("add", "Ada", "--budget", "530")
    back = school.says("add", "Ada", "--budget", "530", "--reset")
    again = _keys(back)[0]

    assert refused.status_code == 402
    assert "all accounts together have 4 left" in refused.json()["detail"]
    assert "All accounts together: 106 of 110 credits spent or reserved." in said
    assert "Removed students have spent 53 credits." in said
    assert re.search("^1 in all", said, re.MULTILINE)
    assert school.report()["Ada"]["left"] == str(530 - 53), "whoever comes back has spent what was spent"
    assert school.served.run(STITCH, {"images": [dot]}, again).status_code == 402
    assert "Back again: Ada." in back
    assert "106 are spent or reserved already, so nobody can run" in school.says("limit", "--together", "50")
    said = school.says("report")
    assert "All accounts together: 106 of 50 credits spent or reserved." in said
    assert "Nobody can run: all accounts together have used up what they may spend." in said
    assert school.served.get("/account", bo).json()["credits_available"] == 0
    assert "all accounts together have 0 left" in school.served.run(STITCH, {"images": [dot]}, bo).json()["detail"]
    assert "no common limit" in school.says("limit", "--together", "none")
    assert school.served.run(STITCH, {"images": [dot]}, again).status_code == 200
    assert "is not a whole number" in school.says("limit", "--together", "much", status=1)


def test_a_sheet_is_made_with_keys_and_never_from_old_ones(school: School, tmp_path: Path) -> None:
    """An existing file is never written over; whatever goes wrong, no key is made, and no empty sheet stays."""
    sheet, other = tmp_path / "keys.html", tmp_path / "new.html"
    school.says("add", "Ada", "--budget", "100", "--sheet", str(sheet))
    (before,) = _keys(sheet.read_text(encoding="utf-8"))[:1]

    for refused, words in (
        (("replace", "--all", "--sheet", str(sheet)), "exists already"),
        (("replace", "--all", "--sheet", str(tmp_path / "no" / "x.html")), "cannot be written"),
        (("add", "Bo", "--sheet", str(other)), "how many credits"),
        (("add", "Bo", "--budget", "1", "--address", "here"), "is not an address"),
        (("replace", "Ada", "--address", f"http://{'a' * 5000}.org", "--sheet", str(other)), "is not an address"),
    ):
        assert words in school.says(*refused, status=1)
    assert list(tmp_path.glob("*.html")) == [sheet]
    assert list(school.report()) == ["Ada"]
    assert school.served.get("/account", before).status_code == 200

    assert "1 new key in" in school.says("replace", "--all", "--sheet", str(other))
    (after,) = _keys(other.read_text(encoding="utf-8"))[:1]
    assert [school.served.get("/account", key).status_code for key in (before, after)] == [401, 200]


def test_the_report_has_a_line_for_each_student_and_a_total(school: School, dot: str) -> None:
    """Spending against budget, runs, and errors by kind; as text and as CSV."""
    key = _keys(school.says("add", "Ada", "Bo", "--budget", "1000", "--weekly", "fri 14:00"))[0]
    for pictures in ([dot], ["data:image/png;base64,AAAA"]):
        request_id = school.served.submitted(STITCH, {"images": pictures}, key)
        school.served.finished(STITCH, request_id, key)

    text, rows = school.says("report"), school.report()

    assert re.search(r"Ada +1,000 +53 +0 +947 +0 +1 +1  1x image_load_error", text)
    assert re.search(r"2 in all +2,000 +53 +0 +1,947 +0 +1 +1", text)
    assert {name: rows["Ada"][name] for name in ("spent", "left", "completed", "error_image_load_error", "weekly")} == {
        "spent": "53", "left": "947", "completed": "1", "error_image_load_error": "1", "weekly": "fri 14:00",
    }  # fmt: skip


MODELS = """
[services.paid]
address = "http://127.0.0.1:9"
key = "env:TEACHER_KEY"
[models."*"]
engine = "hosted"
"""


def test_nobody_whom_the_class_does_not_list_can_spend_on_the_paid_key(
    tmp_path: Path, announced: Announced, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a service that is paid for there is no account `default` unless asked for, and then it is one of the class."""
    monkeypatch.setenv("TEACHER_KEY", "t" * 20)
    data, models = tmp_path / "service", tmp_path / "models.toml"
    models.write_text(MODELS, encoding="utf-8")

    printed = announced("--models", str(models))
    assert "No accounts yet. Add some: reelbook class add" in printed
    assert "  key " not in printed
    assert administer(data, "report") == []
    start = ["serve", "--data", str(data), "--port", "0", "--models", str(models)]
    assert cli.main([*start, "--key", "teachers-own-key"]) == 1
    assert "how many credits" in capsys.readouterr().err
    announced("--models", str(models), "--key", "teachers-own-key", "--budget", "100")

    (row,) = administer(data, "report")
    assert (row.name, row.budget, row.left) == ("default", 100, 100)
    assert administer(data, "pause", all=True) == ["default"]


def test_the_same_start_once_more_undoes_nothing(tmp_path: Path, announced: Announced) -> None:
    """Keys, top-ups and lowered budgets of a running class survive `serve --accounts` after a crash."""
    data, names = tmp_path / "service", tmp_path / "names.csv"
    names.write_text("name,key\nAda,\nBo,the-key-of-bo\n", encoding="utf-8")
    start = ("--accounts", str(names), "--budget", "500")
    printed = announced(*start)
    (first,) = re.findall(r"  key    (\S+)   \(account Ada", printed)
    assert "the-key-of-bo" not in printed
    administer(data, "topup", names=["Ada"], credits=100)
    leaked_replaced = administer(data, "replace", names=["Bo"])[0].key
    names.write_text("name,key\nAda,\nBo,the-key-of-bo\nCy,\n", encoding="utf-8")

    printed = announced(*start)

    assert re.findall(r"  key    \S+   \(account (\w+)", printed) == ["Cy"]
    assert "There already: Ada, Bo. They stay as they are" in printed
    assert {row.name: row.left for row in administer(data, "report")} == {"Ada": 600, "Bo": 500, "Cy": 500}
    hashes = dict(query(data, "SELECT name, key_hash FROM accounts"))
    assert (hashes["Ada"], hashes["Bo"]) == (hash_key(first), hash_key(leaked_replaced))
    announced(*start, "--reset")
    assert {row.name: row.left for row in administer(data, "report")} == {"Ada": 500, "Bo": 500, "Cy": 500}
    hashes = dict(query(data, "SELECT name, key_hash FROM accounts"))
    assert (hashes["Ada"], hashes["Bo"]) == (hash_key(first), hash_key("the-key-of-bo"))


def query(data: Path, sql: str) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(data / "service.sqlite3")) as db:
        return db.execute(sql).fetchall()


@pytest.mark.parametrize(
    ("content", "students"),
    [
        (b"Ada\n\nBo B.\n", [Student("Ada", "A", 530), Student("Bo B.", "A", 530)]),
        ("\ufeffname,budget\nZoë,100\nBo,\n".encode(), [Student("Zoë", "A", 100), Student("Bo", "A", 530)]),
        ("Name;Group\nJosé;B\n".encode("cp1252"), [Student("José", "B", 530)]),
        (b"name,key,permissions\nAda,my-own-key,run\n", [Student("Ada", "A", 530, "my-own-key", ("run",))]),
        ("name\tbudget\r\nZoë\t7\r\n".encode("utf-16"), [Student("Zoë", "A", 7)]),
    ],
)
def test_lists_are_read_as_spreadsheets_write_them(tmp_path: Path, content: bytes, students: list[Student]) -> None:
    """With a heading or without, with commas or semicolons, in either of the usual encodings."""
    path = tmp_path / "names.csv"
    path.write_bytes(content)

    assert read_students([str(path)], group="A", budget=530) == students


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("\n", "lists nobody"),
        ("name\n", "lists nobody"),
        ("Ada,7\n", "without the heading `name`"),
        ("name,budget\nAda,much\n", "line 2: the budget 'much'"),
        ("name,permissions\nAda,fly\n", "permissions are"),
        (f"name,budget\nAda,{'9' * 20}\n", "is not a whole number"),
        (f"name,budget\nAda,{'9' * 5000}\n", "is not a whole number"),
        (f"name\n{'a' * 200_000}\n", "cannot be read as a table"),
    ],
)
def test_a_list_that_cannot_be_read_is_refused_in_words(tmp_path: Path, content: str, words: str) -> None:
    """With the place of the error."""
    path = tmp_path / "names.csv"
    path.write_text(content, encoding="utf-8")

    with pytest.raises(BadAccounts, match=words):
        read_students([str(path)])
    with pytest.raises(BadAccounts, match="cannot be read"):
        read_students([str(tmp_path / "none.csv")])


def _keys(text: str) -> list[str]:
    return [found[0] for found in re.finditer(r"rb(-[a-z0-9]{4}){6}", text)]
