"""Files: uploaded, fetched in part, kept for a while, and never under a stranger's name."""

from __future__ import annotations

import httpx
import pytest

from reelbook_service.accounts import NewAccount
from tests.support import KEY, Serve, Served, png

RESIZE = "svc/smart-resize"


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


def test_an_upload_is_named_by_us_and_typed_by_its_bytes(shared: Served) -> None:
    """Neither the name nor the type that a client sends is believed."""
    page = upload(shared, b"<script>alert(1)</script>", "../../evil.png", "image/png").json()
    picture = upload(shared, png(kind="JPEG"), "x.html", "text/html").json()

    assert page["content_type"] == "application/octet-stream"
    assert (picture["content_type"], picture["file_name"].endswith(".jpg")) == ("image/jpeg", True)
    assert "evil" not in page["url"]
    fetched = shared.http.get(page["url"])
    assert fetched.headers["content-security-policy"].startswith("default-src 'none'")
    assert fetched.headers["x-content-type-options"] == "nosniff"


def test_a_part_of_a_file_can_be_fetched(shared: Served) -> None:
    """Range answers 206 with those bytes, and 416 beyond the end; an ETag saves the second trip."""
    content = png(64, 64)
    url = upload(shared, content).json()["url"]

    part = shared.http.get(url, headers={"range": "bytes=10-19"})
    beyond = shared.http.get(url, headers={"range": f"bytes={len(content)}-"})
    again = shared.http.get(url, headers={"if-none-match": part.headers["etag"]})

    assert (part.status_code, part.content) == (206, content[10:20])
    assert beyond.status_code == 416
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("path", ["/files/nothing/x.png", "/files/../key/x", "/files/%2e%2e/service.sqlite3"])
def test_what_is_no_file_is_a_404(shared: Served, path: str) -> None:
    """Tokens are looked up, never joined to a path."""
    assert shared.http.get(path).status_code == 404


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


def test_an_upload_needs_the_permission(serve: Serve) -> None:
    """An account that may only run is told what it lacks: 403."""
    served = serve(accounts=[NewAccount("pupil", KEY, permissions=("run",))])

    refused = upload(served, png())

    assert refused.status_code == 403
    assert "upload" in refused.json()["detail"]


@pytest.mark.parametrize("body", [b"", b"--x--", b"--x\r\n\r\n", b"not multipart at all"])
def test_a_body_without_a_file_is_refused(shared: Served, body: bytes) -> None:
    """400, with a sentence."""
    headers = {"x-api-key": KEY, "content-type": "multipart/form-data; boundary=x"}

    refused = shared.http.post("/files", content=body, headers=headers)

    assert (refused.status_code, refused.json()["error_type"]) == (400, "bad_request")


def test_a_file_that_is_too_large_is_refused(shared: Served) -> None:
    """More than 50 MB is a 413, and nothing of it stays behind."""
    refused = upload(shared, b"\x89PNG\r\n\x1a\n" + bytes(50_000_000))

    assert (refused.status_code, refused.json()["error_type"]) == (413, "too_large")
    assert not list(shared.server.service.settings.data.glob("*.part"))
