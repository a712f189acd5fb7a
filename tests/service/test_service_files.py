"""Files: uploaded, fetched in part, kept for a while, and never under a stranger's name."""

from __future__ import annotations

import httpx
import pytest

from tests.support import KEY, RESIZE, Serve, Served, png


def upload(
    served: Served, content: bytes, name: str = "boat.png", kind: str = "image/png", key: str = KEY
) -> httpx.Response:
    return served.http.post("/files", files={"file": (name, content, kind)}, headers={"x-api-key": key})


def test_an_uploaded_picture_serves_as_a_source_by_id_and_by_url(shared: Served) -> None:
    """The service finds its own files inside, without dialling."""
    file = upload(shared, png()).json()

    for address in (file["file_id"], file["url"]):
        output = shared.done(RESIZE, {"image_url": address, "target_sizes": ["32x16"]})
        assert output["images"][0]["width"] == 32


@pytest.mark.parametrize(
    ("wanted", "first", "last"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=10-19", 10, 20),
        ("bytes=-5", -5, None),
        ("bytes=0-99999", 0, None),
    ],
)
def test_a_part_of_a_file_is_exactly_that_part(shared: Served, wanted: str, first: int, last: int | None) -> None:
    """With its place; beyond the end it is 416, and of another file than the caller's all of it."""
    content = png(64, 64)
    url = upload(shared, content).json()["url"]

    response = shared.http.get(url, headers={"range": wanted})
    beyond = shared.http.get(url, headers={"range": f"bytes={len(content)}-"})
    other = shared.http.get(url, headers={"range": wanted, "if-range": '"other"'})
    again = shared.http.get(url, headers={"if-none-match": f'"other", {response.headers["etag"]}'})

    assert (response.status_code, response.content) == (206, content[first:last])
    start = content.index(response.content)
    assert response.headers["content-range"] == f"bytes {start}-{start + len(response.content) - 1}/{len(content)}"
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, f"bytes */{len(content)}")
    assert (other.status_code, other.content) == (200, content)
    assert (again.status_code, again.content) == (304, b"")


def test_files_go_after_their_time_by_a_moved_clock(serve: Serve) -> None:
    """A day before the end it is there, a second after it is not; the sweep removes the bytes as well. The clock is a fake."""
    now = [1_000_000.0]
    served = serve(clock=lambda: now[0], retention=7 * 24 * 3600.0)
    url = upload(served, png()).json()["url"]
    request_id = served.submitted(RESIZE, {"image_url": url, "target_sizes": ["32x16"]})
    served.finished(RESIZE, request_id)
    folder = served.server.service.settings.data / "files"

    now[0] += 6 * 24 * 3600
    before = served.http.get(url).status_code
    now[0] += 24 * 3600 + 1
    after = served.http.get(url).status_code
    result = served.result(RESIZE, request_id)
    # A newly started service sweeps first of all; this is the same folder, and the same moved clock.
    served.server.stop()
    again = serve(data=served.server.service.settings.data, clock=lambda: now[0], retention=7 * 24 * 3600.0)
    again.http.get("/")

    assert (before, after) == (200, 404)
    assert result.status_code == 404
    assert "kept" in result.json()["detail"]
    assert list(folder.iterdir()) == []


def test_a_file_that_is_too_large_is_refused(shared: Served) -> None:
    """More than 50 MB is a 413, and nothing of it stays behind."""
    refused = upload(shared, b"\x89PNG\r\n\x1a\n" + bytes(50_000_000))

    assert (refused.status_code, refused.json()["error_type"]) == (413, "too_large")
    assert not list(shared.server.service.settings.data.glob("*.part"))
