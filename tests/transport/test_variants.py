"""The scripted service of these tests leaves nothing behind that would trouble another test."""

from __future__ import annotations

import asyncio
import socket
import threading

from tests.transport.variants import Hosted


def test_a_connection_that_comes_while_the_service_ends_is_hung_up() -> None:
    """The worst moment is made to happen: it is accepted in the same round of the loop in which the end begins."""
    held, is_held = threading.Event(), threading.Event()

    def hold() -> None:
        is_held.set()
        held.wait(10)

    with Hosted() as hosted, socket.socket() as caller:
        caller.settimeout(2)
        hosted._loop.call_soon_threadsafe(hold)
        is_held.wait(10)
        caller.connect(("127.0.0.1", hosted.port))
        ended = asyncio.run_coroutine_threadsafe(hosted._closed(), hosted._loop)
        held.set()
        ended.result(10)

        assert _heard(caller) == b"", "nobody has its connection any more, and it is open"


def _heard(caller: socket.socket) -> bytes:
    """What a caller hears; a reset is an end too."""
    try:
        return caller.recv(1)
    except ConnectionResetError:
        return b""
