"""Fetching source pictures: what must never be dialled, and what a fetch makes of servers that misbehave.

The resolver and the dialler are fakes: names are looked up in a table, and a dial leads to a thread that listens on
loopback in the place of the server. Nothing leaves this machine, and every dial is written down.
"""

from __future__ import annotations

import contextlib
import gc
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import httpcore
import httpx
import pytest
import trustme

from reelbook_service.engines.protocol import SourceError, decode_data_uri
from reelbook_service.fetch_pictures import MAX_REDIRECTS, Fetcher
from tests.support import deep, once_each

PUBLIC = "93.184.216.34"
PUBLIC_6 = "2606:2800:220:1:248:1893:25c8:1946"

Server = Callable[[socket.socket], None]


class Web:
    """A pretended internet: names with addresses, addresses with servers."""

    def __init__(self) -> None:
        self.names: dict[str, Iterator[list[str]]] = {}
        self.servers: dict[str, Server] = {}
        self.asked: list[str] = []
        self.dialled: list[str] = []
        self.heard: list[bytes] = []

    def name(self, host: str, *answers: list[str]) -> None:
        """What the resolver says of a host, each time something else, then from the start."""
        self.names[host] = cycle(answers or [[PUBLIC]])

    def resolve(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        if host in self.names:
            return next(self.names[host])
        # Numbers in all their spellings are read by the system itself, which asks nobody about them.
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        return [str(entry[4][0]) for entry in found]

    def transport(self) -> httpx.AsyncHTTPTransport:
        """httpx's own, but for where a dial leads."""
        transport = httpx.AsyncHTTPTransport(trust_env=False)
        context = ssl.create_default_context()
        transport._pool = httpcore.AsyncConnectionPool(ssl_context=context, network_backend=Dialler(self))
        return transport

    def serve_one(self, server: Server) -> int:
        """The port of a server on loopback for one connection."""
        listening = socket.create_server(("127.0.0.1", 0))

        def serve() -> None:
            # A fetch that gives up closes its end; that is no fault of the server.
            with listening, contextlib.suppress(OSError):
                theirs, _ = listening.accept()
                with theirs:
                    server(theirs)

        threading.Thread(target=serve, daemon=True).start()
        return int(listening.getsockname()[1])

    def answers(self, answer: bytes | Server, address: str = PUBLIC) -> None:
        """What the server at an address says, whatever it is asked."""

        def say(theirs: socket.socket) -> None:
            self.heard.append(request_of(theirs))
            answer(theirs) if callable(answer) else theirs.sendall(answer)

        self.servers[address] = say

    def fetcher(self, *, seconds: float = 5.0, most: int = 1_000_000) -> Fetcher:
        return Fetcher(self.resolve, self.transport, most, seconds)


class Dialler(httpcore.AnyIOBackend):
    """Writes down what is dialled, and connects to the stand-in for it."""

    def __init__(self, web: Web) -> None:
        self._web = web

    async def connect_tcp(self, host: str, port: int, *more: Any, **options: Any) -> httpcore.AsyncNetworkStream:
        self._web.dialled.append(host)
        if host not in self._web.servers:
            raise httpcore.ConnectError("refused")
        return await super().connect_tcp("127.0.0.1", self._web.serve_one(self._web.servers[host]), *more, **options)


@pytest.fixture
def web() -> Web:
    """A web with one public host, `public.example`, that serves a picture."""
    web = Web()
    web.name("public.example", [PUBLIC])
    web.answers(page(b"picture"))
    return web


def request_of(theirs: socket.socket) -> bytes:
    """All of a request's head."""
    head = b""
    while b"\r\n\r\n" not in head and (more := theirs.recv(4096)):
        head += more
    return head


def page(body: bytes, *headers: str) -> bytes:
    lines = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def redirect(location: str) -> bytes:
    return f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode()


def dripping(theirs: socket.socket) -> None:
    """One byte now and then, for as long as anybody listens."""
    theirs.settimeout(0.02)
    while True:
        with contextlib.suppress(TimeoutError):
            if theirs.recv(1) == b"":
                return
        theirs.sendall(b"1")


def refusal(web: Web, address: str, *, seconds: float = 5.0, most: int = 1_000_000) -> str:
    """The sentence with which a fetch is refused."""
    with pytest.raises(SourceError) as caught:
        web.fetcher(seconds=seconds, most=most).fetch(address)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert sentence.isprintable()
    assert "Traceback" not in sentence
    assert "Error" not in sentence
    return sentence


# --- Private addresses ---

NUMBERS = """
127.0.0.1 127.0.0.2 127.255.255.254 127.1 127.0.1 127.0.0.1. 0 0.0.0.0 0.1.2.3 10.0.0.1 10.1 10.255.255.255 172.16.0.1
172.31.255.254 192.168.0.1 192.168.1 192.168.255.255 169.254.0.1 169.254.169.254 169.16689662 100.64.0.1
100.100.100.200 100.127.255.255 192.0.0.1 192.0.0.8 192.0.0.9 192.0.0.171 192.0.0.192 192.0.2.1 192.88.99.1 198.18.0.1
198.19.255.255 198.51.100.7 203.0.113.9 168.63.129.16 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255
2130706433 0x7f000001 0X7F000001 017700000001 0177.0.0.1 0x7f.0.0.1 0x7f.1 127.0x0.0.1 127.000.000.001 0x7F.0x0.0x0.0x1
2852039166 0xA9FEA9FE 0251.0376.0251.0376 0xa9.0xfe.0xa9.0xfe 167772161 0xa000001 012.0.0.1 3232235521 0xc0a80001
１２７.０.０.１ ①②⑦.⓪.⓪.① 127。0。0。1
[::] [::1] [0:0:0:0:0:0:0:1] [0000::0001] [::127.0.0.1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:10.0.0.1]
[::ffff:169.254.169.254] [::ffff:0:127.0.0.1] [::ffff:93.184.216.34] [64:ff9b::7f00:1] [64:ff9b::10.0.0.1]
[64:ff9b::a9fe:a9fe] [64:ff9b::5db8:d822] [64:ff9b:1::1] [2002:7f00:1::] [2002:a00:1::1] [2002:a9fe:a9fe::1]
[2002:5db8:d822::1] [2001::1] [2001:0:7f00:1::] [2001:0:4136:e378:8000:63bf:3fff:fdd2] [2001:2::1] [2001:10::1]
[2001:20::1] [2001:db8::1] [3fff::1] [3fff:fff::1] [fe80::1] [fe80::1%lo] [fe80::1%251] [fc00::1]
[fd00::1] [fd00:ec2::254] [fec0::1] [ff02::1] [ff0e::1] [100::1] [5f00::1] [4000::1] [1::1]
[2606:4700::5efe:10.0.0.1] [2606:4700::200:5efe:7f00:1]
""".split()  # noqa: SIM905 - as a table it can be read

NAMES = """
localhost LOCALHOST localhost. localhost.localdomain ip6-localhost app.localhost intranet router.lan db.internal
metadata.google.internal kubernetes.default.svc 127-0-0-1.rebind.example
""".split()  # noqa: SIM905 - the same

PRIVATE = [
    *(f"http://{host}/picture.png" for host in (*NUMBERS, *NAMES)),
    *(f"https://{host}/" for host in ("127.0.0.1", "[::1]", "169.254.169.254", "localhost")),
    *(f"http://127.0.0.1:{port}/" for port in (0, 22, 80, 6379, 65535)),
    "http://public.example@127.0.0.1/",
    f"http://{PUBLIC}:80@10.0.0.1/",
    "http://127.0.0.1#@public.example/",
    "http://127.0.0.1?@public.example/",
    "HTTP://127.0.0.1",
    " http://127.0.0.1/",
    "ht\ntp://127.0.0.1/",
]

NO_WEB = [
    "",
    "file:///etc/passwd",
    "file://localhost/etc/passwd",
    "../../etc/passwd",
    "//127.0.0.1/",
    "ftp://public.example/a.png",
    "concat:/etc/passwd",
    "http://",
    "http://:80/",
    "http:127.0.0.1",
    "http://[",
    "http://[::g]/",
    "http://public.example:99999/",
    f"http://{'a' * 300}/",
    f"http://{'a' * 64}.example/",
    "http://public..example/",
    "http://public.example/a\r\nX-Evil: 1\r\n\r\nGET /b?c\r\nd",
    "file_0123456789abcdef0123456789abcdef",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_address_is_never_dialled(web: Web, address: str) -> None:
    """Whatever the spelling, the number behind it is looked at before anything is dialled."""
    for name in NAMES:
        web.name(name.lower(), ["::1", "127.0.0.1"] if "local" in name.lower() else ["10.1.2.3"])

    refusal(web, address)

    assert web.dialled == []


@pytest.mark.parametrize("address", NO_WEB)
def test_what_is_no_web_address_is_refused_without_asking_anybody(web: Web, address: str) -> None:
    """Other schemes, paths and broken addresses are neither opened nor dialled."""
    sentence = refusal(web, address)

    assert web.dialled == []
    assert any(word in sentence for word in ("only http", "usable address", "no address"))


@pytest.mark.parametrize("answer", [["10.0.0.1"], ["::1"], ["fe80::1%eth0"], ["not an address"], [""]])
def test_one_private_address_among_public_ones_spoils_them_all(web: Web, answer: list[str]) -> None:
    """A name with a mixed answer is refused: which of its addresses would be dialled is chance."""
    for number, mixed in enumerate(([*answer, PUBLIC], [PUBLIC, PUBLIC_6, *answer], answer, [])):
        web.name(f"mixed{number}.example", mixed)

        assert "not on the public internet" in refusal(web, f"http://mixed{number}.example/")

    assert web.dialled == []


# --- Redirects and rebinding ---

TARGETS = [
    "http://127.0.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://10.0.0.1:8080/admin",
    "http://[::1]/",
    "http://[64:ff9b::7f00:1]/",
    "https://192.168.0.1/",
    "http://2130706433/",
    "http://localhost/",
    "//127.0.0.1/",
    "file:///etc/passwd",
    "ftp://public.example/",
]


@pytest.mark.parametrize(("target", "hops"), once_each(TARGETS, [1, 2, MAX_REDIRECTS]))
def test_a_redirect_leads_to_nothing_private(web: Web, hops: int, target: str) -> None:
    """Each step of a chain is checked like the first address."""
    web.name("localhost", ["127.0.0.1"])
    locations = iter([f"http://public.example/{hop}" for hop in range(1, hops)] + [target])
    web.answers(lambda theirs: theirs.sendall(redirect(next(locations))))

    refusal(web, "http://public.example/0")

    assert web.dialled == [PUBLIC] * hops


def test_a_redirect_is_followed_as_far_as_promised_and_no_further(web: Web) -> None:
    """The last step that is allowed works; one more is an end with a sentence."""
    steps = [f"/{step}" for step in range(1, MAX_REDIRECTS + 1)]
    answers = iter([*map(redirect, steps), page(b"there")])
    web.answers(lambda theirs: theirs.sendall(next(answers)))
    loop = Web()
    loop.name("loop.example", [PUBLIC])
    loop.answers(redirect("http://loop.example/"))

    found = web.fetcher().fetch("http://public.example/")
    sentence = refusal(loop, "http://loop.example/")

    assert found == b"there"
    assert [head.split()[1].decode() for head in web.heard] == ["/", *steps]
    assert sentence.endswith(f"it redirects more than {MAX_REDIRECTS} times.")
    assert len(loop.dialled) == MAX_REDIRECTS + 1


@pytest.mark.parametrize("private", ["127.0.0.1", "169.254.169.254", "::ffff:10.0.0.1"])
def test_a_name_that_changes_its_address_gains_nothing(web: Web, private: str) -> None:
    """Public when asked first and private ever after: the checked address is the dialled one, and a redirect asks again."""
    web.name("once.example", [PUBLIC], *[[private]] * 9)
    web.name("twice.example", [PUBLIC], [private])

    assert web.fetcher().fetch("http://once.example/") == b"picture"
    web.answers(redirect("/again"))
    refusal(web, "http://twice.example/")

    assert web.dialled == [PUBLIC] * 2
    assert web.asked == ["once.example", "twice.example", "twice.example"]


# --- Servers that misbehave ---


def test_the_request_names_the_host_and_gives_nothing_away(web: Web) -> None:
    """The server sees path, host and who asks, with what people type in escapes; no password, no cookie."""
    web.name("xn--bcher-kva.example", [PUBLIC])

    web.fetcher().fetch("http://user:secret@bücher.example:8080/my pictures/é%20.png?größe=1&x=a b#part")

    head = web.heard[0].decode("ascii").lower()
    assert head.startswith("get /my%20pictures/%c3%a9%20.png?gr%c3%b6%c3%9fe=1&x=a%20b http/1.1\r\n")
    assert "host: xn--bcher-kva.example:8080\r\n" in head
    assert "secret" not in head
    assert "cookie" not in head


def test_the_next_address_is_tried_when_one_does_not_answer(web: Web) -> None:
    """A host whose IPv6 is not reachable from here is still fetched."""
    web.name("both.example", [PUBLIC_6, PUBLIC])

    assert web.fetcher().fetch("http://both.example/") == b"picture"
    assert web.dialled == [PUBLIC_6, PUBLIC]


MISBEHAVING: dict[str, tuple[bytes, str]] = {
    "short body": (page(b"x" * 100)[:-1], "broke off"),
    "chunks without an end": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "broke off",
    ),
    "chunks of no size": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n",
        "broke off",
    ),
    "larger than announced": (page(b"x" * 2001), "larger than 0.002 MB"),
    "larger than it says": (b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * 2001, "larger than 0.002 MB"),
    "a length beyond all bounds": (b"HTTP/1.1 200 OK\r\nContent-Length: 1%s\r\n\r\n" % (b"0" * 18), "broke off"),
    "not found": (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "answered 404"),
    "a part of it": (b"HTTP/1.1 206 Partial Content\r\nContent-Length: 1\r\n\r\nx", "answered 206"),
    "redirect to nowhere": (b"HTTP/1.1 301 Moved\r\nContent-Length: 0\r\n\r\n", "redirects to nowhere"),
    "nothing at all": (b"", "broke off"),
    "no HTTP": (b"220 mail.example ESMTP ready\r\n\r\n", "broke off"),
    "too many headers": (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 50_000 + b"\r\n", "broke off"),
    "a header without an end": (b"HTTP/1.1 200 OK\r\na: " + b"b" * 200_000, "broke off"),
}


@pytest.mark.parametrize("name", MISBEHAVING)
def test_a_server_that_misbehaves_ends_in_a_sentence(web: Web, name: str) -> None:
    """Cut, endless, oversized or garbled answers are refused with the reason."""
    answer, reason = MISBEHAVING[name]
    web.answers(answer)

    assert reason in refusal(web, "http://public.example/a.png", most=2000)
    web.answers(page(b"x" * 2000))
    assert len(web.fetcher(most=2000).fetch("http://public.example/")) == 2000, "the limit itself is within the limit"


def silent(theirs: socket.socket) -> None:
    while theirs.recv(4096):
        pass


def drip_body(theirs: socket.socket) -> None:
    theirs.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    dripping(theirs)


@pytest.mark.parametrize(
    ("scheme", "server"), [("http", drip_body), ("https", silent), *deep(("http", silent), ("http", dripping))]
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_fetch_ends_in_time_whatever_the_server_does(web: Web, server: Server, scheme: str) -> None:
    """Silence and single bytes, before, in and after the handshake, after a redirect too: the deadline is for all of it."""
    web.name("slow.example", [PUBLIC_6])
    web.answers(redirect(f"{scheme}://slow.example/"))
    web.servers[PUBLIC_6] = server
    began = time.monotonic()

    sentence = refusal(web, "http://public.example/", seconds=0.2)

    assert time.monotonic() - began < 10
    gc.collect()  # httpcore leaves a connection whose handshake is cancelled to the collector, which warns of it.
    assert sentence.endswith("it took longer than 0.2 s.")


# --- TLS ---


def speaking_tls(authority: trustme.CA, theirs: socket.socket) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("pictures.example").configure_cert(context)
    with context.wrap_socket(theirs, server_side=True) as wire:
        request_of(wire)
        wire.sendall(page(b"over TLS"))
        wire.unwrap()


def test_https_checks_certificate_and_name(web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate counts only if it is trusted and names the host of the address."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    web.servers[PUBLIC] = partial(speaking_tls, authority)
    web.name("pictures.example", [PUBLIC])
    web.name("other.example", [PUBLIC])

    untrusted = refusal(web, "https://pictures.example/a.png")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    fetched = web.fetcher().fetch("https://pictures.example/a.png")
    misnamed = refusal(web, "https://other.example/a.png")
    by_number = refusal(web, f"https://{PUBLIC}/a.png")

    assert fetched == b"over TLS"
    for sentence in (untrusted, misnamed, by_number):
        assert "its certificate could not be verified" in sentence


# --- Sentences and data: addresses ---


@pytest.mark.parametrize("start", ["data:image/png;base64,", "data:text/plain,"])
def test_a_data_address_that_is_too_large_is_refused(start: str) -> None:
    """Before it costs anything, and without showing all of it."""
    with pytest.raises(SourceError, match="more than 24 MB") as caught:
        decode_data_uri(start + "A" * 40_000_000)

    assert len(str(caught.value)) < 250
