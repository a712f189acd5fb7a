"""The routes of the board: who is let in, what each action does, and what is never in an answer."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import httpx
import pytest

from reelbook.cli import main
from reelbook_service.class_report import read_class
from tests.board_class import Board, running_board, student_key
from tests.support import TEXT, Serve

NAMES = [f"Student {number:02}" for number in range(60)]
INPUT = {"prompt": "a paper boat", "num_frames": 9, "resolution": "480p", "aspect_ratio": "1:1", "seed": 7}


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    """Sixty students in three groups, with 2,000 runs."""
    with running_board(tmp_path_factory.mktemp("board"), NAMES, runs=2_000, groups=3) as running:
        yield running


def row(board: Board, name: str) -> dict[str, object]:
    """The row of a student as the database has it."""
    rows = board.server.service.store.submit(lambda db: read_class(db, time.time())).result()
    return next(asdict(row) for row in rows if row.name == name)


def submit(board: Board, key: str) -> httpx.Response:
    """The answer to a student's run."""
    with board.guest() as http:
        return http.post("/models/run", json={"endpointId": TEXT, "input": INPUT}, headers={"x-api-key": key})


def test_only_whoever_has_the_link_sees_the_class(board: Board) -> None:
    """Without a session there is nothing of the class; after the link the cookie is out of reach of scripts."""
    with board.guest() as http:
        before, refused = http.get("/class"), http.get("/class/login", params={"token": "guess"})
        accepted = http.get("/class/login", params={"token": board.token})
        after = http.get("/class")

    assert "Student 00" not in before.text
    assert "reelbook class board" in before.text
    assert (refused.status_code, refused.headers.get("set-cookie")) == (401, None)
    assert "not the link" in refused.text
    assert (accepted.status_code, accepted.headers["cache-control"]) == (200, "no-store")
    assert board.token not in accepted.text
    cookie = accepted.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "path" not in cookie
    assert all(name in after.text for name in NAMES)


@pytest.mark.parametrize("path", ["report.csv", "results/run-1980", "media/run-1980"])
def test_what_is_behind_the_login_answers_nobody_else(board: Board, path: str) -> None:
    """No cookie, a made-up one, and a student's key are refused alike."""
    name = next(iter(board.http.cookies))
    forged = {"cookie": f"{name}={'0' * 64}"}
    with board.guest() as http:
        answers = [
            http.get(f"/class/{path}", headers=headers) for headers in ({}, forged, {"x-api-key": student_key(0)})
        ]

    assert [answer.status_code for answer in answers] == [401] * 3
    assert len({re.sub('nonce="[^"]+"', "", answer.text) for answer in answers}) == 1
    assert "Student" not in answers[0].text


def test_a_form_from_elsewhere_does_nothing(board: Board) -> None:
    """A foreign origin and no cookie: nobody is paused."""
    good = {**board.fields(), "one": "pause:Student 01"}

    foreign = board.http.post("/class/change", data=good, headers={"origin": "http://evil.example"})
    opaque = board.http.post("/class/change", data=good, headers={"origin": "null"})
    with board.guest() as guest:
        logged_out = guest.post("/class/change", data=good)

    assert [answer.status_code for answer in (foreign, opaque, logged_out)] == [403, 403, 401]
    assert row(board, "Student 01")["paused"] is False
    own = board.http.post("/class/change", data=good, headers={"origin": board.server.base_url})
    assert own.status_code == 303, "the control: with all of them it is done"
    assert row(board, "Student 01")["paused"] is True
    assert (
        "Paused: 1 student. Runs in progress continue."
        in board.http.get(own.headers["location"].removeprefix("..")).text
    )
    board.change(one="resume:Student 01")


def test_a_session_ends_with_a_logout_and_with_a_new_link(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    """A logout and `class board --new` end it; `class board` prints the link."""
    served = serve(has_board=True)
    data = str(served.server.service.settings.data)

    def link(*options: str) -> str:
        assert main(["class", "board", "--data", data, *options]) == 0
        return capsys.readouterr().out.split()[1]

    def is_in() -> bool:
        return "Log out" in served.http.get("/class").text

    first = link()
    assert first.startswith(f"{served.base_url}/class/login?token=")
    assert "Max-Age=43200" in served.http.get(first).headers["set-cookie"]
    assert is_in()
    assert link() == first
    second = link("--new")
    assert not is_in()
    assert served.http.get(first).status_code == 401
    assert served.http.get(second).status_code == 200
    form = {"content-type": "application/x-www-form-urlencoded"}
    served.http.post("/class/logout", headers=form)
    assert not is_in()


def test_one_some_a_group_or_all_are_paused_and_resumed(board: Board) -> None:
    """A paused student's next run is refused in words, and nobody else's."""
    board.change(one="pause:Student 05")
    refused = submit(board, student_key(5))
    board.change(one="resume:Student 05")

    def paused() -> list[str]:
        query = "SELECT name FROM accounts WHERE paused ORDER BY name"
        return board.server.service.store.submit(lambda db: [row["name"] for row in db.execute(query)]).result()

    assert refused.status_code == 403
    assert "paused" in refused.json()["detail"]
    assert paused() == []
    board.change(do="pause", whom="marked", name=["Student 02", "Student 04"])
    assert paused() == ["Student 02", "Student 04"]
    board.change(do="resume", whom="all")
    board.change(do="pause", whom="group:class 2")
    assert paused() == NAMES[1::3]
    board.change(do="pause", whom="all")
    assert paused() == NAMES
    board.change(do="resume", whom="all")
    assert paused() == []


def test_credits_are_added_once_for_each_form(board: Board) -> None:
    """A form that a double click sends twice tops up once; without scripts the answer is a page that can be reloaded."""
    before = row(board, "Student 06")["budget"]
    form = {**board.fields(), "do": "topup", "whom": "marked", "name": "Student 06", "credits": "100"}

    first, second = (board.http.post("/class/change", data=form) for _ in range(2))

    assert first.status_code == 303
    assert "100 credits more for 1 student." in board.http.get(first.headers["location"].removeprefix("..")).text
    assert second.status_code == 422
    assert "was already sent" in second.text
    assert row(board, "Student 06")["budget"] == before + 100  # type: ignore[operator]


def test_a_replaced_key_is_on_one_page_once(board: Board) -> None:
    """After a question; the old key is refused at once, and the new one is in no later answer."""
    asked = board.change(do="replace", whom="marked", name="Student 07")
    assert "Of Student 07." in asked.text
    assert submit(board, student_key(7)).status_code == 200, "nothing happened yet"

    answer = board.change(do="replace", whom="marked", name="Student 07", sure="yes")

    keys = set(re.findall(r"rb(?:-[0-9a-z]{4}){6}", answer.text))
    assert f"Only this machine can reach {board.http.base_url}".rstrip("/") in answer.text
    assert "2,000 credits" in answer.text, "a strip to print, as in the sheet of the command"
    assert "<svg" in answer.text
    assert len(keys) == 1
    assert answer.headers["cache-control"] == "no-store"
    key = keys.pop()
    assert submit(board, student_key(7)).status_code == 401
    assert submit(board, key).status_code == 200
    later = board.http.get("/class").text + board.http.get("/class/report.csv").text
    assert key not in later
    assert student_key(7) not in later


def test_the_table_opens_in_a_spreadsheet_and_runs_nothing_there(tmp_path: Path) -> None:
    """One line for each student, in UTF-8, and a name that begins like a formula is text."""
    with running_board(tmp_path, ["Zoë", "=HYPERLINK(1)", "@x"], runs=40) as board:
        answer = board.http.get("/class/report.csv")

    lines = answer.content.decode("utf-8-sig").splitlines()
    assert answer.headers["content-disposition"] == 'attachment; filename="class.csv"'
    assert [line.partition(",")[0] for line in lines] == ["name", "'=HYPERLINK(1)", "'@x", "Zoë"]
    assert "error_engine_error" in lines[0]


def test_the_page_has_no_file_tokens_and_allows_its_own_script_alone(board: Board) -> None:
    """The token of a file opens it without a login, so that the board has addresses of its own."""
    answer = board.http.get("/class")

    tokens = board.server.service.store.submit(
        lambda db: [r["token"] for r in db.execute("SELECT * FROM files")]
    ).result()
    policy = answer.headers["content-security-policy"]
    nonces = set(re.findall("nonce-([^']+)", policy))
    assert len(tokens) >= 60
    assert not any(token in answer.text for token in tokens)
    assert len(nonces) == 1
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert set(re.findall(r'nonce="([^"]+)"', answer.text)) == nonces
    assert re.findall(r"\son\w+=|style=", re.sub(r"(?s)<(script|style).*?</\1>", "", answer.text)) == []
    media = board.http.get("/class/media/run-1981")
    assert (media.status_code, media.headers["content-type"]) == (200, "video/mp4")
    assert board.http.get("/class/results/run-1981").status_code == 200
    assert board.http.get("/class/media/run-3").status_code == 404, "not the latest result of anybody"


def test_what_has_not_changed_is_not_sent_again(board: Board) -> None:
    """An open board asks every two seconds; it hears of a change at once. With sixty students and 2,000 runs that costs little."""
    waiting = threading.Event()
    while board.server.service.queue.unfinished():
        waiting.wait(0.02)
    tag, took = board.http.get("/class").headers["etag"], []
    for _ in range(5):
        started = time.process_time()
        same = board.http.get("/class", headers={"if-none-match": tag})
        took.append(time.process_time() - started)
        assert (same.status_code, same.content) == (304, b"")
    board.change(one="pause:Student 09")
    changed = board.http.get("/class", headers={"if-none-match": tag})
    board.change(one="resume:Student 09")

    assert min(took) < 0.05
    assert changed.status_code == 200
    assert "resume:Student 09" in changed.text
