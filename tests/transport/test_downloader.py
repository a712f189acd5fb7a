"""Results downloaded whole: continued where they broke off, refused where they are not what they should be.

The file hosts are fakes, because a real one does not misbehave on demand.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import random
import resource
from collections.abc import Iterator
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
BINARY = "application/octet-stream"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloader, "PAUSE_SECONDS", 0.001)


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "shelf")


@pytest.fixture
def host() -> Iterator[Hosted]:
    with Hosted() as host:
        yield host


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def fetched(shelf: Shelf, url: str, **told: Any) -> DownloadedFile:
    async def story() -> DownloadedFile:
        downloads = Downloader(shelf)
        try:
            return await downloads.download(File(url=url, **told), "r-1")
        finally:
            await downloads.close()

    return asyncio.run(story())


def refused(shelf: Shelf, url: str, **told: Any) -> str:
    """The sentence of a download that fails, of which nothing stays on the disk."""
    with pytest.raises(DownloadFailed) as caught:
        fetched(shelf, url, **told)
    assert list(shelf.folder.iterdir()) == []
    return str(caught.value)


def served(host: Hosted, document: Document, path: str = "/file.mp4") -> str:
    """The address of a document at a host."""
    host.on("GET", path, document)
    return host.base_url + path


@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "a.html"])
def test_a_file_is_kept_under_its_hash_with_the_kind_of_its_bytes(
    shelf: Shelf, host: Hosted, name: str, tmp_path: Path
) -> None:
    """Name, path, size and type are what was found, whatever the service says, and nothing else is left in the folder."""
    url = served(host, Document(PNG, "text/html"), "/%2e%2e/%2e%2e/x.html")

    told = fetched(shelf, url, file_name=name, content_type="text/html")

    assert told == DownloadedFile(sha(PNG), shelf.folder / f"{sha(PNG)}.png", len(PNG), "image/png", "unsigned")
    assert [path.name for path in shelf.folder.iterdir()] == [f"{sha(PNG)}.png"]
    assert [path.name for path in tmp_path.iterdir()] == ["shelf"]


def test_a_body_that_breaks_off_is_continued(shelf: Shelf, host: Hosted) -> None:
    """Only what is missing is asked for, if it is still the same file; without its name at the host, all of it."""
    named, unnamed = (Document(NOISE, BINARY, (fault,)) for fault in ("short", "short_untagged"))

    files = [fetched(shelf, served(host, document, f"/{id(document)}")) for document in (named, unnamed)]

    assert {file.sha256 for file in files} == {sha(NOISE)}
    assert [request.headers.get("if-range") for request in host.seen()] == [None, named.etag, None, None]
    rest = f"bytes={len(NOISE) * 2 // 3}-"
    assert [request.headers.get("range") for request in host.seen()] == [None, rest, None, None]
    assert [path.name for path in shelf.folder.iterdir()] == [f"{sha(NOISE)}.bin"]


@pytest.mark.parametrize(
    ("fault", "says"), [("expired", "403 (the address has expired"), ("missing", "404"), ("gone", "410")]
)
def test_a_definite_no_ends_at_once_and_says_that_the_run_is_still_there(
    shelf: Shelf, host: Hosted, fault: str, says: str
) -> None:
    """One request; the sentence has the way to fetch it again, and no secret of the address."""
    url = served(host, Document(FILM, faults=(fault,), for_ever=True))

    sentence = refused(shelf, url.replace("http://", "http://me:word@") + "?token=secret")

    assert len(host.seen()) == 1
    assert all(words in sentence for words in (says, "attach('r-1', model=…)", "/file.mp4"))
    assert "secret" not in sentence
    assert "word" not in sentence


def test_a_host_that_is_busy_is_asked_five_times(shelf: Shelf, host: Hosted) -> None:
    """And then the download is given up until somebody wants it again."""
    host.on("GET", "/x", Reply(503, b""))

    assert "answered 503" in refused(shelf, f"{host.base_url}/x")
    assert len(host.seen()) == 5


def test_a_host_that_falls_silent_again_and_again_is_given_up(
    shelf: Shelf, host: Hosted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a byte comes now and then."""
    monkeypatch.setattr(downloader, "STALL_SECONDS", 0.1)
    document = Document(NOISE, faults=("dripping",), for_ever=True)

    assert "silent or too slow" in refused(shelf, served(host, document))
    assert document.asked == 5


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/x", "/files/x", "", "http://", "x y"])
def test_only_web_addresses_are_fetched(shelf: Shelf, url: str) -> None:
    """Nothing of this machine is read because a service says so."""
    assert "http and https only" in refused(shelf, url)


@pytest.mark.parametrize(
    ("way", "size", "accepted"),
    [
        ("sound", len(NOISE), True), ("sound", None, True), ("chunked", len(NOISE), True),
        ("sound", len(NOISE) + 1, True), ("chunked", None, False), ("open_ended", None, False), ("open_ended", len(NOISE) - 1, False),
    ],
)  # fmt: skip
def test_of_a_file_without_structure_somebody_must_know_the_length(
    shelf: Shelf, host: Hosted, way: str, size: int | None, accepted: bool
) -> None:
    """What HTTP says counts before what the answer says."""
    url = served(host, Document(NOISE, BINARY, (way,), for_ever=True), "/file")

    if accepted:
        assert fetched(shelf, url, file_size=size).path.name == f"{sha(NOISE)}.bin"
    else:
        assert "does not show" in refused(shelf, url, file_size=size)


@pytest.mark.parametrize(
    ("content", "content_type", "words"),
    [
        (FILM[:-500], None, "it breaks off"),
        (PAGE, "video/mp4", "a web page came instead of video/mp4"),
        (b'{"error": "expired"}', None, "a text came instead of a file"),
        (b"expired", BINARY, "a text came instead of a file"),
    ],
)
def test_a_file_that_is_broken_at_the_host_is_not_fetched_again_and_again(
    shelf: Shelf, host: Hosted, content: bytes, content_type: str | None, words: str
) -> None:
    """The same bytes a few times are enough to believe that there are no others."""
    broken = Document(content, faults=("sound",), for_ever=True)

    assert words in refused(shelf, served(host, broken, "/file"), content_type=content_type)
    assert broken.asked == 5


@pytest.mark.parametrize(
    ("told", "content"),
    [
        ({"content_type": "text/html"}, PAGE),
        ({"content_type": "application/json; charset=utf-8"}, b"{}"),
        ({"content_type": "image/svg+xml"}, b"<svg/>"),
        ({"file_name": "subtitles.srt"}, b"1\n00:00:00 --> 00:00:01\nA boat.\n"),
    ],
)
def test_text_that_was_promised_is_kept_as_text(
    shelf: Shelf, host: Hosted, told: dict[str, str], content: bytes
) -> None:
    """A page never gets a name that a double click would run; what is compressed for the way is unpacked."""
    url = served(host, Document(content, "text/plain", ("zipped",)), "/file")

    assert fetched(shelf, url, **told).path.suffix == ".txt"


@pytest.mark.parametrize(
    ("url", "content", "suffix"),
    [
        ("data:image/png;base64," + base64.b64encode(PNG).decode(), PNG, ".png"),
        ("DATA:;BASE64," + base64.encodebytes(PNG).decode(), PNG, ".png"),
        ("data:text/plain,a%20b", b"a b", ".txt"),
        ("data:image/png;base64," + base64.b64encode(PNG[:-200]).decode(), None, ""),
        ("data:image/png;base64,!!!", None, ""),
        ("data:image/png;base64", None, ""),
        ("data:video/mp4;base64,", None, ""),
    ],
)
def test_what_comes_within_the_answer_goes_to_the_shelf(
    shelf: Shelf, url: str, content: bytes | None, suffix: str
) -> None:
    """In every way of writing it; what is damaged is refused with a sentence that does not repeat it."""
    if content is None:
        assert len(refused(shelf, url)) < 300
    else:
        told = fetched(shelf, url, content_type="text/plain" if suffix == ".txt" else None)
        assert (told.path.name, told.path.read_bytes()) == (sha(content) + suffix, content)


def test_a_full_disk_is_told_and_the_download_works_when_there_is_room(shelf: Shelf, host: Hosted) -> None:
    """No file under a final name, a sentence with the way out, and nothing half-written stays."""
    content = random.Random(2).randbytes(2_000_000)
    url = served(host, Document(content, BINARY))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
    try:
        sentence = refused(shelf, url)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert f"{shelf.folder} has no space left" in sentence
    assert "free some" in sentence
    assert fetched(shelf, url).sha256 == sha(content)


@pytest.mark.parametrize("name", KINDS := every_kind())
def test_a_whole_file_is_called_what_it_is_and_one_that_lost_its_end_is_refused(name: str) -> None:
    """Every way of writing every kind opens; what does not show its end, such as a sound, needs its length."""
    content, file = KINDS[name], File(url="https://example.org/x")

    def suffix(share: float, length: int | None) -> str:
        return validate(io.BytesIO(content[: int(len(content) * share)]), file, length).suffix

    assert suffix(1, len(content)) == f".{name.rpartition('.')[2]}"
    if name != "sound.wav":
        assert suffix(1, None)
    for length in (None, len(content)):
        for share in (0.1, 0.5, 0.9):
            with pytest.raises(Failure):
                suffix(share, length)
