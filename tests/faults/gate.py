"""Stands in front of a running service and holds some of its answers back, so that an interrupt comes at a chosen moment."""

from __future__ import annotations

import asyncio
import re
import threading
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self

from tests.faults.kernels import PATIENCE
from tests.support import Served


class Held:
    """Answers that are held back."""

    def __init__(self, calls: str, skip: int, after: bool) -> None:
        self._calls, self._skip, self.after = re.compile(calls), skip, after
        self._came = threading.Event()
        self._open: Future[None] = Future()

    def holds(self, call: str) -> bool:
        """Whether this call is one of them; the first few may be let through."""
        if self._calls.search(call) is None:
            return False
        self._skip -= 1
        return self._skip < 0

    async def let_through(self) -> None:
        """Wait until they are let go."""
        self._came.set()
        await asyncio.shield(asyncio.wrap_future(self._open))

    def arrived(self) -> None:
        """Wait for the first of them."""
        assert self._came.wait(PATIENCE), f"no {self._calls.pattern} came"

    def let_go(self) -> None:
        """Answer, these and all that come later."""
        if not self._open.done():
            self._open.set_result(None)


class Gate:
    """Stands in front of a running service and holds answers back."""

    def __init__(self, served: Served) -> None:
        served.http.get("/")  # Once it answers, its application is in place.
        self._config = served.server._server.config
        self._app, self._config.loaded_app = self._config.loaded_app, self
        self.held: list[Held] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let all go, and stand there no more."""
        for held in self.held:
            held.let_go()
        self._config.loaded_app = self._app

    def hold(self, calls: str, *, skip: int = 0, after: bool = False) -> Held:
        """Hold calls such as `POST /models/run`; `after`: they take their effect, and only the answer is held."""
        self.held.append(Held(calls, skip, after))
        return self.held[-1]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        call = f"{scope.get('method')} {scope.get('path')}"
        held = next((one for one in self.held if one.holds(call)), None)
        if held is None:
            await self._app(scope, receive, send)
            return
        if not held.after:
            await held.let_through()
            await self._app(scope, receive, send)
            return
        answer: list[Any] = []

        async def keep(message: Any) -> None:
            answer.append(message)

        await self._app(scope, receive, keep)
        await held.let_through()
        for message in answer:
            await send(message)
