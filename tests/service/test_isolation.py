"""No account meets another's requests, uploads or credits; a file is anybody's who has its token, and nobody else's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

import pytest

from reelbook_service.accounts import NewAccount
from tests.support import KEY, STITCH, TEXT, Served, png, running

NEVER = "00000000-0000-4000-8000-000000000000"
NEVER_UPLOADED = f"file_{'0' * 32}"
STUDENTS = 3

VERBS = {
    "status": ("GET", "/{prefix}/requests/{id}/status?logs=1"),
    "result": ("GET", "/{prefix}/requests/{id}"),
    "cancel": ("PUT", "/{prefix}/requests/{id}/cancel"),
    "head": ("HEAD", "/{prefix}/requests/{id}"),
}


@dataclass(frozen=True)
class Student:
    """One account with what is its own."""

    key: str
    finished: str
    waiting: str
    file_id: str
    token: str


Course = tuple[Served, list[Student]]
"""A service and all that use it."""


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory, dot: str) -> Iterator[Course]:
    """Three students, each with a finished run, one that waits, and an upload. The only worker is kept busy."""
    keys = [f"key-{number}" for number in range(STUDENTS)]
    accounts = [NewAccount("teacher", KEY), *(NewAccount(f"student {key}", key) for key in keys)]
    with running(tmp_path_factory.mktemp("course"), *accounts, workers=1) as served:
        finished = [served.submitted(STITCH, {"images": [{"url": dot, "frames": 1}]}, key) for key in keys]
        for key, request_id in zip(keys, finished, strict=True):
            served.finished(STITCH, request_id, key)
        busy = served.submitted(TEXT, {"prompt": "a calm lake", "num_frames": 1441, "resolution": "480p"})
        yield served, [made(served, key, done, dot) for key, done in zip(keys, finished, strict=True)]
        served.cancel(TEXT, busy)


def made(served: Served, key: str, finished: str, dot: str) -> Student:
    upload = served.http.post("/files", files={"file": ("a.png", png())}, headers={"x-api-key": key}).json()
    token = served.result(STITCH, finished, key).json()["video"]["url"].split("/files/")[1].partition("/")[0]
    waiting = served.submitted(STITCH, {"images": [dot]}, key)
    return Student(key, finished, waiting, upload["file_id"], token)


def answer(served: Served, verb: str, prefix: str, request_id: str, key: str) -> tuple[int, str, list[str]]:
    """What a caller sees of an answer, with the id that it named itself taken out."""
    method, path = VERBS[verb]
    response = served.http.request(method, path.format(prefix=prefix, id=request_id), headers={"x-api-key": key})
    return response.status_code, response.text.replace(request_id, "…"), sorted(response.headers)


@pytest.mark.parametrize("verb", VERBS)
def test_another_account_s_request_is_as_unknown_as_one_that_never_was(course: Course, verb: str) -> None:
    """Every key × every other's request × every verb: 404 with the same body and headers."""
    served, students = course
    for prefix in (STITCH, "svc/frames-api"):
        unknown = answer(served, verb, prefix, NEVER, students[0].key)
        seen = {
            str(answer(served, verb, prefix, request_id, asker.key))
            for asker, owner in permutations(students, 2)
            for request_id in (owner.finished, owner.waiting)
        }

        assert unknown[0] == 404
        assert seen == {str(unknown)}


def test_another_account_s_upload_is_no_source_and_says_nothing(shared: Served) -> None:
    """A run that names somebody else's file_id fails like one that names an id that never was, and is refunded."""
    served, other = shared.with_own_account(), shared.with_own_account()
    keys = [served.key, other.key]
    uploads = [
        served.http.post("/files", files={"file": ("a.png", png())}, headers={"x-api-key": key}).json()["file_id"]
        for key in keys
    ]

    def ended(key: str, file_id: str) -> tuple[int, str]:
        request_id = served.submitted(STITCH, {"images": [file_id]}, key)
        served.finished(STITCH, request_id, key)
        response = served.result(STITCH, request_id, key)
        return response.status_code, response.text.replace(file_id, "…")

    unknown = ended(keys[0], NEVER_UPLOADED)
    others = [ended(keys[0], uploads[1]), ended(keys[1], uploads[0])]
    own = [ended(key, file_id)[0] for key, file_id in zip(keys, uploads, strict=True)]

    assert unknown[0] == 422
    assert others == [unknown] * 2
    assert own == [200, 200]
    assert [charge["kind"] for charge in served.charges() + other.charges()].count("refund") == 3


def test_a_token_opens_its_file_for_anybody_and_nothing_else_does(course: Course) -> None:
    """No key is needed with it; near misses, the folder, and a file_id in its place lead nowhere."""
    served, students = course
    http = served.http
    for student in students:
        assert http.get(f"/files/{student.token}/a.mp4").status_code == 200
        assert http.get(f"/files/{student.token}/a.mp4", headers={"x-api-key": "unknown"}).status_code == 200
        swapped = student.token[:-1] + ("A" if student.token[-1] != "A" else "B")
        for wrong in (swapped, student.token[:-1], student.token.lower(), student.token + "=", student.file_id):
            assert http.get(f"/files/{wrong}/a.mp4").status_code == 404
    for path in ("/files/", "/files//", f"/files/{students[0].token}", "/files/*/a", "/files/%2e%2e/a"):
        assert http.get(path).status_code == 404
    assert http.get("/files", headers={"x-api-key": KEY}).status_code == 405
