"""Which hosts results are fetched from: what a service or a redirect names, judged after resolution, for every request."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme

from reelbook.errors import DownloadFailed, ReelbookError
from reelbook.models.service_file import File
from reelbook.settings import options
from reelbook.storage.shelf import Shelf
from reelbook.transport.downloads import allowed_hosts, downloader
from reelbook.transport.downloads.allowed_hosts import AllowedHosts
from reelbook.transport.downloads.download_body import PermanentFailure
from reelbook.transport.downloads.downloader import Downloader
from tests.faults.bodies import picture

PNG = picture("PNG", side=50)
PUBLIC = "93.184.216.34"

NAMES = {
    "files.example": ["127.0.0.1"],
    "public.example": [PUBLIC, "2606:2800:220:1:248:1893:25c8:1946"],
    "one-of-two.example": [PUBLIC, "127.0.0.2"],
    "metadata.example": ["169.254.169.254"],
    "mapped.example": ["::ffff:127.0.0.2"],
    "nowhere.example": [],
}
"""What the pretended name server of these tests knows; everything else is for the real one, which knows literal addresses."""

PRIVATE = (
    "127.0.0.2", "127.2", "2130706434", "0x7f000002", "0177.0.0.2", "0x7f.0.0.2", "127.0.2", "[::ffff:127.0.0.2]",
    "[::ffff:7f00:2]", "[::1]", "0.0.0.0", "[::]", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254",
    "2852039166", "0xa9fea9fe", "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "[64:ff9b::a9fe:a9fe]",
    "[2002:a9fe:a9fe::1]", "[fe80::1]", "[fd00:ec2::254]", "100.64.0.1", "224.0.0.1", "255.255.255.255", "192.0.0.192",
    "168.63.129.16", "one-of-two.example", "metadata.example", "mapped.example",
)  # fmt: skip


async def resolve(host: str, port: int) -> Sequence[str]:
    return NAMES[host] if host in NAMES else await allowed_hosts.resolve_by_system(host, port)


class Listener:
    """A web server on an address of loopback that answers every request in one way and counts its connections."""

    def __init__(self, address: str, status: str, headers: str = "", body: bytes = b"") -> None:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.socket = socket.create_server((address, 0), family=family)
        self.port = self.socket.getsockname()[1]
        self.requests: list[str] = []
        self.connections = 0
        self.answer = f"HTTP/1.1 {status}\r\n{headers}content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        self.body = body
        self.context: ssl.SSLContext | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                wire, _ = self.socket.accept()
            except OSError:
                return
            self.connections += 1
            try:
                if self.context is not None:
                    wire = self.context.wrap_socket(wire, server_side=True)
                self.requests.append(wire.recv(65536).decode())
                wire.sendall(self.answer.encode() + self.body)
            except OSError:
                pass  # Whoever called did not like our certificate.
            finally:
                wire.close()

    def close(self) -> None:
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self._thread.join(10)


@pytest.fixture
def listen() -> Iterator[Any]:
    with ExitStack() as stack:

        def start(address: str, status: str = "200 OK", headers: str = "", body: bytes = PNG) -> Listener:
            listener = Listener(address, status, headers, body)
            stack.callback(listener.close)
            return listener

        yield start


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloader, "PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(downloader, "MAX_ATTEMPTS", 2)
    monkeypatch.setattr(downloader, "AllowedHosts", lambda service: AllowedHosts(service, resolve))


def fetched_all(folder: Path, urls: Sequence[str], service: str) -> list[bytes | DownloadFailed]:
    """What came of each, fetched by one client."""

    async def story() -> list[bytes | DownloadFailed]:
        downloads = Downloader(Shelf(folder), lambda: service)
        results: list[bytes | DownloadFailed] = []
        for url in urls:
            try:
                results.append((await downloads.download(File(url=url), "r-1")).path.read_bytes())
            except DownloadFailed as failure:
                results.append(failure)
        await downloads.close()
        return results

    return asyncio.run(story())


def fetched(folder: Path, url: str, service: str = "http://127.0.0.1:9") -> bytes:
    (result,) = fetched_all(folder, [url], service)
    if isinstance(result, DownloadFailed):
        raise result
    return result


@pytest.mark.parametrize("host", PRIVATE)
def test_no_private_address_is_dialled_whatever_its_spelling(listen: Any, tmp_path: Path, host: str) -> None:
    """Named by the result, or by a redirect of the service's own host: refused with the way to allow it."""
    inside = [listen("127.0.0.2"), listen("::1")]
    direct = [f"http://{host}:{listener.port}/clip.png" for listener in inside]
    redirecting = [listen("127.0.0.1", "302 Found", f"location: {url}\r\n", b"") for url in direct]
    urls = [*direct, *(f"http://127.0.0.1:{listener.port}/clip.png" for listener in redirecting)]

    results = fetched_all(tmp_path, urls, "http://127.0.0.1:9")

    for result in results:
        # What httpx itself does not take for an address is refused before we judge it.
        assert re.search(r"not dialled; if it is yours|no web address|broke off", str(result)), result
    assert [listener.connections for listener in inside] == [0, 0]


def test_they_would_be_dialled_where_nobody_judges(
    listen: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: the same addresses, with a rule that calls everything public."""
    monkeypatch.setattr(allowed_hosts, "is_public", lambda address: True)
    inside = listen("127.0.0.2")

    for host in ("127.0.0.2", "2130706434", "0x7f000002", "127.2"):
        assert fetched(tmp_path, f"http://{host}:{inside.port}/{host}.png") == PNG

    assert inside.connections == 4


def test_the_services_own_host_is_dialled_at_any_port_and_under_any_name(listen: Any, tmp_path: Path) -> None:
    """A service on this machine or in the laboratory keeps its files beside it; what leads to its address is the same host."""
    here = listen("127.0.0.1")
    first = listen("127.0.0.1", "307 Temporary Redirect", f"location: http://127.0.0.1:{here.port}/b\r\n", b"")

    assert fetched(tmp_path, f"http://127.0.0.1:{first.port}/a") == PNG
    assert fetched(tmp_path / "2", f"http://localhost:{here.port}/a", "http://LOCALHOST:9") == PNG
    assert fetched(tmp_path / "3", f"http://files.example:{here.port}/a") == PNG


def test_a_private_host_that_the_user_named_is_asked_by_its_name(listen: Any, tmp_path: Path) -> None:
    """The connection goes to the address that was checked; the host reads its own name, and redirects are relative to it."""
    files = listen("127.0.0.1")
    service = "http://service.example"
    with pytest.raises(
        DownloadFailed, match=r"files\.example leads to 127\.0\.0\.1.*file_hosts = \['files\.example'\]"
    ):
        fetched(tmp_path, f"http://files.example:{files.port}/a", service)

    with options(file_hosts=["Files.Example"]):
        assert fetched(tmp_path, f"http://files.example:{files.port}/a?b=c", service) == PNG

    assert files.connections == 1
    assert files.requests[0].startswith("GET /a?b=c HTTP/1.1\r\n")
    assert f"\r\nhost: files.example:{files.port}\r\n" in files.requests[0].lower()


def test_a_name_is_resolved_once_so_that_it_cannot_lead_elsewhere_afterwards(listen: Any, tmp_path: Path) -> None:
    """Rebinding: a public address when it is judged, a private one when it would be dialled."""
    inside = listen("127.0.0.2")
    answers = iter([[PUBLIC], ["127.0.0.2"], ["127.0.0.2"]])

    async def story() -> list[str]:
        async def rebinding(host: str, port: int) -> Sequence[str]:
            return next(answers)

        guard = AllowedHosts(lambda: "https://service.example", rebinding)
        return [
            str(one.url) for one in await guard.resolve_requests(httpx.URL(f"http://rebinding.example:{inside.port}/a"))
        ]

    assert asyncio.run(story()) == [f"http://{PUBLIC}:{inside.port}/a"]


def test_every_public_address_of_a_host_may_be_tried(tmp_path: Path) -> None:
    """IPv4 and IPv6, in the system's order, with the name for the certificate."""

    async def story() -> list[allowed_hosts.DialledRequest]:
        return await AllowedHosts(lambda: "https://service.example", resolve).resolve_requests(
            httpx.URL("https://public.example/a")
        )

    tries = asyncio.run(story())

    assert [one.url.host for one in tries] == NAMES["public.example"]
    assert {one.extensions["sni_hostname"] for one in tries} == {"public.example"}
    assert {one.headers["host"] for one in tries} == {"public.example"}
    with pytest.raises(DownloadFailed, match="its host has no address"):
        fetched(tmp_path, "http://nowhere.example/a")


def test_the_next_address_is_tried_where_nobody_answers_at_the_first(
    listen: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host whose first address is dead is not lost."""
    files = listen("127.0.0.1")
    monkeypatch.setitem(NAMES, "files.example", ["127.0.0.3", "127.0.0.1"])

    with options(file_hosts="files.example"):
        assert fetched(tmp_path, f"http://files.example:{files.port}/a") == PNG


def test_a_certificate_is_judged_by_the_name_and_not_by_the_address(
    listen: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The right name is accepted, another host's certificate at the same address is not."""
    authority = trustme.CA()
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    plain = httpx.AsyncClient
    monkeypatch.setattr(httpx, "AsyncClient", lambda **named: plain(**named | {"verify": trusting}))

    for name, accepted in (("files.example", True), ("other.example", False)):
        files = listen("127.0.0.1")
        files.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(name).configure_cert(files.context)
        with options(file_hosts="files.example"):
            url = f"https://files.example:{files.port}/{name}"
            if accepted:
                assert fetched(tmp_path, url) == PNG
            else:
                with pytest.raises(DownloadFailed, match="nobody answered"):
                    fetched(tmp_path, url)


@pytest.mark.parametrize("value", [7, "http://files.lab/", [""], [7], None])
def test_odd_host_names_are_refused_in_words(value: Any) -> None:
    """What the option takes is said."""
    with pytest.raises(ReelbookError, match="list of host names"):
        options.file_hosts = value


def test_a_refusal_is_not_tried_again() -> None:
    """Where an address may not be dialled, asking once more changes nothing."""

    async def story() -> None:
        await AllowedHosts(lambda: "https://service.example", resolve).resolve_requests(
            httpx.URL("http://metadata.example/latest")
        )

    with pytest.raises(PermanentFailure):
        asyncio.run(story())
