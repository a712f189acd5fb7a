"""Results brought home whole: continued where they broke off, refused where they are not what they should be.

The file hosts are fakes, because a real one does not misbehave on demand.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import random
import re
import resource
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from reelbook.errors import DownloadFailed
from reelbook.models.base import File
from reelbook.storage.shelf import Shelf
from reelbook.transport import downloader
from reelbook.transport.downloader import DownloadedFile, Downloader, Failure, validate
from tests.faults.bodies import every_kind, film, picture
from tests.faults.file_host import PAGE, Document
from tests.transport.variants import Hosted, Reply

PNG = picture("PNG", side=100)
FILM = film()
NOISE = random.Random(3).randbytes(50_000)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloader, "PAUSE_SECONDS", 0.001)


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "shelf")


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def on_host(story: Callable[[Hosted], Awaitable[Any]]) -> Any:
    """Tell a story with a file host on loopback."""

    async def told() -> Any:
        with Hosted() as host:
            return await story(host)

    return asyncio.run(told())


def served(host: Hosted, path: str, document: Document) -> str:
    """The address of a document at a host."""
    host.on("GET", path, document)
    return host.base_url + path


def brought(shelf: Shelf, document: Document, path: str = "/file", **told: Any) -> DownloadedFile:
    """One file, fetched from a host that holds just that."""
    result: DownloadedFile = on_host(lambda host: fetched(shelf, File(url=served(host, path, document), **told)))
    return result


async def fetched(shelf: Shelf, file: File, request_id: str = "r-1") -> DownloadedFile:
    downloads = Downloader(shelf)
    try:
        return await downloads.download(file, request_id)
    finally:
        await downloads.close()


def leftovers(shelf: Shelf) -> list[str]:
    return sorted(path.name for path in shelf.folder.iterdir() if ".part" in path.name)


@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "a.html"])
def test_a_file_is_kept_under_its_hash_with_the_kind_of_its_bytes(shelf: Shelf, name: str, tmp_path: Path) -> None:
    """Name, path, size and type are what was found, whatever the service says, and nothing else is left in the folder."""
    document = Document(PNG, "text/html")

    told = brought(shelf, document, "/%2e%2e/%2e%2e/x.html", file_name=name, content_type="text/html")

    assert told == DownloadedFile(sha(PNG), shelf.folder / f"{sha(PNG)}.png", len(PNG), "image/png")
    assert [path.name for path in shelf.folder.iterdir()] == [f"{sha(PNG)}.png"]
    assert [path.name for path in tmp_path.iterdir()] == ["shelf"]


def test_a_body_that_breaks_off_is_continued(shelf: Shelf) -> None:
    """Only what is missing is asked for, if it is still the same file; without its name at the host, all of it."""
    named = Document(NOISE, "application/octet-stream", ("short",))
    unnamed = Document(NOISE, "application/octet-stream", ("short_untagged",))

    async def story(host: Hosted) -> list[str | None]:
        files = [
            await fetched(shelf, File(url=served(host, f"/{id(document)}", document))) for document in (named, unnamed)
        ]
        assert {file.sha256 for file in files} == {sha(NOISE)}
        assert [request.headers.get("if-range") for request in host.seen()] == [None, named.etag, None, None]
        return [request.headers.get("range") for request in host.seen()]

    assert on_host(story) == [None, f"bytes={len(NOISE) * 2 // 3}-", None, None]
    assert leftovers(shelf) == []


@pytest.mark.parametrize(
    ("fault", "says"),
    [("expired", "403 (the address has expired"), ("missing", "404"), ("gone", "410")],
)
def test_a_definite_no_ends_at_once_and_says_that_the_run_is_still_there(shelf: Shelf, fault: str, says: str) -> None:
    """One request; the sentence has the way to fetch it again, and no secret of the address."""

    async def story(host: Hosted) -> tuple[str, int]:
        url = served(host, "/clip.mp4", Document(FILM, faults=(fault,), for_ever=True))
        with pytest.raises(DownloadFailed) as caught:
            await fetched(shelf, File(url=url.replace("http://", "http://me:word@") + "?token=secret"))
        return str(caught.value), len(host.seen())

    sentence, requests = on_host(story)

    assert requests == 1
    assert says in sentence
    assert "attach('r-1', model=…)" in sentence
    assert "/clip.mp4" in sentence
    assert "secret" not in sentence
    assert "word" not in sentence


def test_the_host_is_left_alone_as_long_as_it_asks(shelf: Shelf) -> None:
    """`Retry-After` is a floor."""
    with Hosted() as hosted:
        hosted.on("GET", "/x", Reply(503, b"", {"retry-after": "0.1"}))
        began = time.monotonic()
        with pytest.raises(DownloadFailed, match="answered 503"):
            asyncio.run(fetched(shelf, File(url=f"{hosted.base_url}/x")))

        assert len(hosted.seen()) == 6
        assert time.monotonic() - began >= 0.5


def test_a_host_that_falls_silent_again_and_again_is_given_up(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three silences, whatever else would still be tried; meanwhile the run's progress says how much is there."""
    monkeypatch.setattr(downloader, "STALL_SECONDS", 0.15)

    async def story(host: Hosted) -> tuple[set[str], str]:
        downloads, document = Downloader(shelf), Document(NOISE, faults=("dripping",), for_ever=True)
        task = asyncio.create_task(downloads.download(File(url=served(host, "/clip.mp4", document)), "r-1"))
        words = set()
        while not task.done():
            words.add(re.sub(r"\d[\d,]*", "N", downloads.format_progress("r-1")))
            await asyncio.wait([task], timeout=0.02)
        with pytest.raises(DownloadFailed, match="silent or too slow"):
            await task
        assert document.asked == 3
        after = downloads.format_progress("r-1")
        await downloads.close()
        return words, after

    words, after = on_host(story)

    assert "N of N kB" in words
    assert after == ""


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/x", "/files/x", "", "http://", "x y"])
def test_only_web_addresses_are_fetched(shelf: Shelf, url: str) -> None:
    """Nothing of this machine is read because a service says so."""
    with pytest.raises(DownloadFailed, match=r"http and https only|not a web address"):
        asyncio.run(fetched(shelf, File(url=url)))


@pytest.mark.parametrize(
    ("served", "size", "accepted"),
    [
        ("sound", None, True),
        ("sound", len(NOISE), True),
        ("sound", len(NOISE) + 1, False),
        ("chunked", None, False),
        ("open_ended", None, False),
        ("chunked", len(NOISE), True),
        ("open_ended", len(NOISE) - 1, False),
    ],
)
def test_of_a_file_without_structure_somebody_must_know_the_length(
    shelf: Shelf, served: str, size: int | None, accepted: bool
) -> None:
    """And nobody may say another: nothing in the file shows who is right."""
    document = Document(NOISE, "application/octet-stream", (served,), for_ever=True)

    if accepted:
        assert brought(shelf, document, file_size=size).path.name == f"{sha(NOISE)}.bin"
    else:
        with pytest.raises(DownloadFailed, match="does not show"):
            brought(shelf, document, file_size=size)


@pytest.mark.parametrize(
    ("content", "told", "words"),
    [
        (FILM[:-500], {}, "it breaks off"),
        (PAGE, {"content_type": "video/mp4"}, "a web page came instead of video/mp4"),
        (b'{"error": "expired"}', {}, "a text came instead of a file"),
        (b"expired", {"content_type": "application/octet-stream"}, "a text came instead of a file"),
    ],
)
def test_a_file_that_is_broken_at_the_host_is_not_fetched_again_and_again(
    shelf: Shelf, content: bytes, told: dict[str, str], words: str
) -> None:
    """Three times the same bytes are enough to believe that there are no others."""
    broken = Document(content, faults=("sound",), for_ever=True)

    with pytest.raises(DownloadFailed, match=words):
        brought(shelf, broken, **told)

    assert broken.asked == 3
    assert list(shelf.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("told", "content"),
    [
        ({"content_type": "text/html"}, PAGE),
        ({"content_type": "application/json; charset=utf-8"}, b"{}"),
        ({"content_type": "image/svg+xml"}, b"<svg/>"),
        ({"file_name": "captions.csv"}, b"1,2"),
    ],
)
def test_text_that_was_promised_is_kept_as_text(shelf: Shelf, told: dict[str, str], content: bytes) -> None:
    """A page never gets a name that a double click would run; what is compressed for the way is unpacked."""
    assert brought(shelf, Document(content, "text/plain", ("zipped",)), **told).path.suffix == ".txt"


@pytest.mark.parametrize(
    ("url", "content", "name"),
    [
        ("data:image/png;base64," + base64.b64encode(PNG).decode(), PNG, f"{sha(PNG)}.png"),
        ("DATA:;BASE64," + base64.encodebytes(PNG).decode(), PNG, f"{sha(PNG)}.png"),
        ("data:text/plain,a%20b", b"a b", f"{sha(b'a b')}.txt"),
    ],
)
def test_what_comes_within_the_answer_goes_to_the_shelf(shelf: Shelf, url: str, content: bytes, name: str) -> None:
    """In every way of writing it; nothing is asked of any host."""
    told = asyncio.run(fetched(shelf, File(url=url, content_type="text/plain" if "text" in url else None)))

    assert told.path == shelf.folder / name
    assert told.path.read_bytes() == content


@pytest.mark.parametrize(
    "url",
    [
        "data:image/png;base64," + base64.b64encode(PNG[:-200]).decode(),
        "data:image/png;base64,!!!",
        "data:image/png;base64",
        "data:video/mp4;base64,",
    ],
)
def test_damaged_data_within_the_answer_is_refused(shelf: Shelf, url: str) -> None:
    """With the same sentence as any other file, and without repeating the data."""
    with pytest.raises(DownloadFailed) as caught:
        asyncio.run(fetched(shelf, File(url=url)))

    assert url[30:] not in str(caught.value) or len(url) < 60
    assert leftovers(shelf) == []


def test_a_full_disk_is_told_and_the_download_works_when_there_is_room(shelf: Shelf) -> None:
    """No file under a final name, a sentence with the way out, and nothing half-written stays."""
    content = random.Random(2).randbytes(2_000_000)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    async def story(host: Hosted) -> tuple[str, list[str], DownloadedFile]:
        file = File(url=served(host, "/x", Document(content, "application/octet-stream")))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
        try:
            with pytest.raises(DownloadFailed) as caught:
                await fetched(shelf, file)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        names = [path.name for path in shelf.folder.iterdir()]
        return str(caught.value), names, await fetched(shelf, file)

    sentence, names, told = on_host(story)

    assert f"no space is left in {shelf.folder}" in sentence
    assert "free some" in sentence
    assert names == []
    assert told.sha256 == sha(content)


KINDS = every_kind()
OPEN = {"sound.wav"}
"""A sound does not show its own end."""


def kind_of(content: bytes, length: int | None = None) -> str:
    """The suffix under which a file is kept that came without a length, or with this one."""
    return validate(io.BytesIO(content), File(url="https://example.org/x"), length).suffix


@pytest.mark.parametrize("name", KINDS)
def test_a_whole_file_is_called_what_it_is_and_one_that_lost_its_end_is_refused(name: str) -> None:
    """Every way of writing every kind opens; what does not show its end needs its length."""
    content = KINDS[name]
    assert f".{name.rpartition('.')[2]}" == kind_of(content, len(content))
    if name not in OPEN:
        kind_of(content)
    for length in (None, len(content)):
        for share in (0.1, 0.5, 0.9):
            with pytest.raises(Failure):
                kind_of(content[: int(len(content) * share)], length)
