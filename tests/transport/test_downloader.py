"""Results brought home whole: continued where they broke off, refused where they are not what they should be.

The file hosts are fakes, because a real one does not misbehave on demand.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import random
import re
import resource
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from reelbook.errors import DownloadFailed
from reelbook.models.base import File
from reelbook.storage.shelf import Shelf
from reelbook.transport import downloader
from reelbook.transport.downloader import DownloadedFile, Downloader
from tests.faults.bodies import film, picture
from tests.faults.file_host import PAGE, Document, FileHost

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


def on_host(story: Callable[[FileHost], Awaitable[Any]]) -> Any:
    """Tell a story with a file host on loopback."""

    async def told() -> Any:
        async with FileHost() as host:
            return await story(host)

    return asyncio.run(told())


def brought(shelf: Shelf, document: Document, path: str = "/file", **told: Any) -> DownloadedFile:
    """One file, fetched from a host that holds just that."""
    result: DownloadedFile = on_host(lambda host: fetched(shelf, File(url=host.add(path, document), **told)))
    return result


async def fetched(shelf: Shelf, file: File, request_id: str = "r-1") -> DownloadedFile:
    downloads = Downloader(shelf)
    try:
        return await downloads.download(file, request_id)
    finally:
        await downloads.close()


def leftovers(shelf: Shelf) -> list[str]:
    return sorted(path.name for path in shelf.folder.iterdir() if ".part" in path.name)


def test_a_file_is_kept_under_its_hash_with_the_kind_of_its_bytes(shelf: Shelf) -> None:
    """Name, path, size and type are what was found, and nothing else is left in the folder."""
    told = brought(shelf, Document(FILM))

    assert told == DownloadedFile(sha(FILM), shelf.folder / f"{sha(FILM)}.mp4", len(FILM), "video/mp4")
    assert [path.name for path in shelf.folder.iterdir()] == [f"{sha(FILM)}.mp4"]


@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "a.html", "nul\0", "..\\x", "x" * 5000])
def test_a_hostile_name_and_type_change_nothing(shelf: Shelf, name: str, tmp_path: Path) -> None:
    """A picture that is called a page is stored as the picture it is, under our name, in our folder."""
    document = Document(PNG, "text/html")

    told = brought(shelf, document, "/%2e%2e/%2e%2e/x.html", file_name=name, content_type="text/html")

    assert told.path == shelf.folder / f"{sha(PNG)}.png"
    assert told.content_type == "image/png"
    assert [path.name for path in tmp_path.iterdir()] == ["shelf"]


def test_a_body_that_breaks_off_is_continued(shelf: Shelf) -> None:
    """Only what is missing is asked for, if it is still the same file; without its name at the host, all of it."""
    named = Document(NOISE, "application/octet-stream", ("short",))
    unnamed = Document(NOISE, "application/octet-stream", ("short_untagged",))

    async def story(host: FileHost) -> list[str | None]:
        files = [
            await fetched(shelf, File(url=host.add(f"/{id(document)}", document))) for document in (named, unnamed)
        ]
        assert {file.sha256 for file in files} == {sha(NOISE)}
        assert [request.headers.get("if-range") for request in host.requests] == [None, named.etag, None, None]
        return [request.headers.get("range") for request in host.requests]

    assert on_host(story) == [None, f"bytes={len(NOISE) * 2 // 3}-", None, None]
    assert leftovers(shelf) == []


@pytest.mark.parametrize("fault", ["part_of_another", "part_elsewhere", "part_of_more", "part_unnamed"])
def test_a_rest_of_something_else_is_not_taken_though_it_seems_to_fit(shelf: Shelf, fault: str) -> None:
    """What HTTP says of the rest gives it away."""
    content, other = bytes(40_000) + NOISE[:8000], bytes(40_000) + NOISE[8000:16000]
    document = Document(content, "application/octet-stream", ("short", fault), other=other)

    assert brought(shelf, document).sha256 == sha(content)


@pytest.mark.parametrize(
    ("fault", "says"),
    [("expired", "403: the address has expired"), ("missing", "404: not there"), ("gone", "410: gone")],
)
def test_a_definite_no_ends_at_once_and_says_that_the_run_is_still_there(shelf: Shelf, fault: str, says: str) -> None:
    """One request; the sentence has the way to fetch it again, and no secret of the address."""

    async def story(host: FileHost) -> tuple[str, int]:
        url = host.add("/clip.mp4", Document(FILM, faults=(fault,), for_ever=True))
        with pytest.raises(DownloadFailed) as caught:
            await fetched(shelf, File(url=url.replace("http://", "http://me:word@") + "?token=secret"))
        return str(caught.value), len(host.requests)

    sentence, requests = on_host(story)

    assert requests == 1
    assert says in sentence
    assert "attach('r-1', model=…)" in sentence
    assert "/clip.mp4" in sentence
    assert "secret" not in sentence
    assert "word" not in sentence


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/x", "/files/x", "", "http://", "x y"])
def test_only_web_addresses_are_fetched(shelf: Shelf, url: str) -> None:
    """Nothing of this machine is read because a service says so."""
    with pytest.raises(DownloadFailed, match=r"http and https only|not a web address"):
        asyncio.run(fetched(shelf, File(url=url)))


def test_the_host_is_left_alone_as_long_as_it_asks(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """`Retry-After` is a floor, and where it is longer than all our patience, the sentence says so."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.readuntil(b"\r\n\r\n")
        seconds = asked.split(b" ")[1].strip(b"/")
        writer.write(b"HTTP/1.1 503 No\r\nconnection: close\r\nretry-after: %b\r\ncontent-length: 0\r\n\r\n" % seconds)
        await writer.drain()
        writer.close()

    async def story() -> str:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        monkeypatch.setattr("reelbook.transport.downloader._sleep", sleep)
        with pytest.raises(DownloadFailed):
            await fetched(shelf, File(url=f"{url}/7"))
        with pytest.raises(DownloadFailed) as caught:
            await fetched(shelf, File(url=f"{url}/7200"))
        server.close()
        await server.wait_closed()
        return str(caught.value)

    sentence = asyncio.run(story())

    assert pauses == [7.0] * (downloader.MAX_ATTEMPTS - 1)
    assert "asks to wait 7,200 s" in sentence


def test_a_host_that_falls_silent_again_and_again_is_given_up_and_the_wait_is_said(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three silences, whatever else would still be tried; meanwhile the run's progress names what it waits for."""
    monkeypatch.setattr(downloader, "STALL_SECONDS", 0.15)
    monkeypatch.setattr(downloader, "QUIET_SECONDS", 0.05)

    async def story(host: FileHost) -> tuple[set[str], str]:
        downloads = Downloader(shelf)
        url = host.add("/clip.mp4", Document(NOISE, faults=("dripping",), for_ever=True))
        task = asyncio.create_task(downloads.download(File(url=url), "r-1"))
        words = set()
        while not task.done():
            words.add(re.sub(r"\d[\d,]*", "N", downloads.format_progress("r-1")))
            await asyncio.wait([task], timeout=0.02)
        with pytest.raises(DownloadFailed):
            await task
        after = downloads.format_progress("r-1")
        await downloads.close()
        return words, after

    words, after = on_host(story)

    assert any(one.endswith("waiting for its host for N s") for one in words)
    assert after == ""
    assert downloader.MAX_ATTEMPTS / 2 * downloader.STALL_SECONDS < 90


def test_a_file_has_its_time_and_no_more(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when every single attempt looks hopeful."""
    monkeypatch.setattr(downloader, "TOTAL_SECONDS", 0.05)
    monkeypatch.setattr(downloader, "MAX_ATTEMPTS", 10**6)

    with pytest.raises(DownloadFailed, match="minutes are all we give it"):
        brought(shelf, Document(FILM, faults=("busy",), for_ever=True))


def test_attempts_that_bring_much_do_not_count_as_failures(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large file over a bad line takes as many attempts as it takes."""
    monkeypatch.setattr(downloader, "PROGRESS_BYTES", 500)
    content = random.Random(1).randbytes(3_000_000)
    monkeypatch.setattr(downloader, "MAX_ATTEMPTS", 3)

    told = brought(shelf, Document(content, "application/octet-stream", ("short",) * 6))

    assert told.sha256 == sha(content)


def test_a_file_that_is_broken_at_the_host_is_not_fetched_again_and_again(shelf: Shelf) -> None:
    """Three times the same bytes are enough to believe that there are no others."""
    broken = Document(FILM[:-500], faults=("sound",), for_ever=True)

    with pytest.raises(DownloadFailed, match="it breaks off"):
        brought(shelf, broken)

    assert broken.asked == 3
    assert list(shelf.folder.iterdir()) == []


@pytest.mark.parametrize("size", [len(FILM) + 1, len(FILM) - 1, 1, 0, -5, 10**18])
@pytest.mark.parametrize("served", ["sound", "chunked", "open_ended"])
def test_a_whole_film_is_not_lost_for_a_wrong_size(shelf: Shelf, size: int, served: str) -> None:
    """The film shows its own end; what another program once wrote of its size weighs less."""
    assert brought(shelf, Document(FILM, faults=(served,), for_ever=True), file_size=size).sha256 == sha(FILM)


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


@pytest.mark.parametrize("content", [PAGE, b'{"error": "expired"}', b"expired"])
@pytest.mark.parametrize("promised", ["video/mp4", None, "application/octet-stream"])
def test_text_instead_of_a_file_is_refused(shelf: Shelf, content: bytes, promised: str | None) -> None:
    """Whatever it is labelled, and also where nothing was promised."""
    with pytest.raises(DownloadFailed, match="came instead of"):
        brought(shelf, Document(content, faults=("sound",), for_ever=True), content_type=promised)


@pytest.mark.parametrize(
    ("path", "served_as", "told"),
    [
        ("/x", "application/octet-stream", {"content_type": "image/png"}),
        ("/x", "application/octet-stream", {"file_name": "a.PNG"}),
        ("/x.png", "application/octet-stream", {"content_type": "application/octet-stream"}),
        ("/x", "image/png", {}),
        ("/x", "text/html", {}),
    ],
)
def test_bytes_of_no_known_kind_are_refused_where_a_known_one_was_promised(
    shelf: Shelf, path: str, served_as: str, told: dict[str, str]
) -> None:
    """A picture whose very first bytes are damaged does not become a file of some other kind."""
    broken = Document(b"\0" + PNG[1:], served_as, ("sound",), for_ever=True)

    with pytest.raises(DownloadFailed, match=r"not those of image/png|web page"):
        brought(shelf, broken, path, **told)


@pytest.mark.parametrize(
    ("told", "content"),
    [
        ({"content_type": "text/html"}, PAGE),
        ({"content_type": "application/json; charset=utf-8"}, b"{}"),
        ({"content_type": "image/svg+xml"}, b"<svg/>"),
        ({"file_name": "captions.srt"}, b"1\n00:00"),
    ],
)
def test_text_that_was_promised_is_kept_as_text(shelf: Shelf, told: dict[str, str], content: bytes) -> None:
    """A page never gets a name that a double click would run."""
    assert brought(shelf, Document(content, "text/plain"), **told).path.suffix == ".txt"


@pytest.mark.parametrize("served", ["zipped", "called_zipped"])
def test_a_file_that_is_wrapped_for_the_way_is_unwrapped(shelf: Shelf, served: str) -> None:
    """We ask for it as it is; hosts that wrap it all the same, or only say so, are understood."""

    async def story(host: FileHost) -> tuple[DownloadedFile, str]:
        url = host.add("/x", Document(FILM, faults=(served,), for_ever=True))
        return await fetched(shelf, File(url=url)), host.requests[0].headers["accept-encoding"]

    told, asked = on_host(story)

    assert told.sha256 == sha(FILM)
    assert asked == "identity"


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
        "data:image/png;base64," + base64.b64encode(PNG[:-20]).decode(),
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
    assert not shelf.folder.exists()


def test_a_full_disk_is_told_and_the_download_works_when_there_is_room(shelf: Shelf) -> None:
    """No file under a final name, a sentence with the way out, and nothing half-written stays."""
    content = random.Random(2).randbytes(2_000_000)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    async def story(host: FileHost) -> tuple[str, list[str], DownloadedFile]:
        file = File(url=host.add("/x", Document(content, "application/octet-stream")))
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
