"""Kernels of several versions, and a page that talks to them: real processes, and the messages that browsers send.

with Notebook("6.31", folder) as notebook:
    notebook.run("import reelbook as rb; form = rb.form(rb.TextToVideo)")
    page = Page(notebook, notebook.value("form.model_id"))
    page.send({"do": "here", "view": page.view})
    page.until(lambda: page.model["state"] if "state" in page.model else None, "a state")
"""

from __future__ import annotations

import ast
import itertools
import json
import queue
import re
import signal
import socket
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from tests.faults.kernels import Kernel
from tests.kernels.environments import environment

T = TypeVar("T")

WAIT = 45.0
"""Longer than anything here takes on a busy machine; what takes longer is lost."""
SILENCE = 1.0
LOOK = """
from reelbook.display.live import updater
{"records": form.records, "runs": form.runs, "outputs": [(output.key(), vars(output)) for output in updater._outputs]}
"""
"""What a kernel knows of its form, for a page that waits in vain."""
PRIVATE = ("REELBOOK_URL", "REELBOOK_API_KEY", "REELBOOK_LIBRARY", "JPY_SESSION_NAME", "PYTHONPATH")


class Notebook(Kernel):
    """A kernel with all that it says to its pages, in the order in which they hear it."""

    def __init__(self, version: str, folder: Path) -> None:
        library = folder / "library"
        other = environment(version)
        path = {"PYTHONPATH": str(other)} if other else {}
        super().__init__(folder, **path, REELBOOK_LIBRARY=str(library), JUPYTER_PREFER_ENV_PATH="1")
        for name in set(PRIVATE) - {*path, "REELBOOK_LIBRARY"}:
            self._environment.pop(name, None)
        self.version, self.library = version, library
        self.models: dict[str, dict[str, Any]] = {}
        """What pages know of each widget: its traits, as they were sent last."""
        self.said_to: dict[str, list[dict[str, Any]]] = defaultdict(list)
        """The custom messages to each widget."""
        self._ear: str | None = None
        """A thread of the kernel that hears what comes after all that was sent before it."""
        self._over: set[str] = set()
        self._values: dict[str, str] = {}
        self._errors: dict[str, str] = {}
        self._warnings: list[str] = []

    def __enter__(self) -> Self:
        try:
            return super().__enter__()
        except BaseException:
            if self._manager.has_kernel:
                self._manager.shutdown_kernel(now=True)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A kernel that is jammed does not end by itself.
        super().__exit__(kind or GeneratorExit, error, trace)

    # Cells

    def start(self, code: str, *, thread: str | None = None) -> str:
        """Run a cell, on the kernel's first thread or on another one of it; returns its name at once."""
        asked = {"code": code, "silent": False, "store_history": True, "allow_stdin": False, "stop_on_error": False}
        return self.say("execute_request", asked, thread=thread)

    def ended(self, cell: str) -> str:
        """Wait until a cell has ended, and well; its value as text.

        That is when the kernel has both said so and answered, as for a page. ipykernel 7.3 may stop listening for good
        where a message comes in the very moment in which it answers another one.
        """
        self.until(lambda: cell in self._over or None, "the end of a cell")
        self._hear_answer(cell)
        assert cell not in self._errors, self._errors[cell]
        return self._values.get(cell, "")

    def run(self, code: str) -> Any:
        """Run a cell to its good end."""
        return self.ended(self.start(code))

    def value(self, expression: str) -> Any:
        """What an expression is in the kernel, as far as JSON tells it."""
        self.run("import json")
        return json.loads(ast.literal_eval(self.run(f"json.dumps({expression})")))

    def is_running(self, cell: str) -> bool:
        """Whether a cell has not ended, as far as the page has heard."""
        return cell not in self._over

    @property
    def complaints(self) -> str:
        """All that went wrong: errors of cells and of what widgets were told, warnings, and what the process itself wrote."""
        return "\n".join([*self._errors.values(), *self._warnings, self.said]).strip()

    # What is heard

    def until(self, found: Callable[[], T | None], what: str) -> T:
        """Listen until this finds something; it looks again after each message."""
        deadline = time.monotonic() + WAIT
        while (answer := found()) is None:
            left = deadline - time.monotonic()
            assert left > 0, f"{self.version}: {what} did not come within {WAIT:.0f} s. {self._describe()}"
            self._hear(min(SILENCE, left))
        return answer

    def _describe(self) -> str:
        """What the pages know of their runs, what the kernel has for them, its log, and what each of its threads does."""

        def records() -> dict[str, Any]:
            return {model: traits["records"] for model, traits in self.models.items() if traits.get("records")}

        lines = [f"The pages know {records()} and were told {dict(self.said_to)}."]
        if self.has_threads:
            # On a thread of its own: what a page waits for in vain may keep the others.
            cell = self.start(LOOK, thread=self.ask("create_subshell_request")["subshell_id"])
            for _ in range(10):
                self._hear(SILENCE)
            lines += [f"The kernel has {self._values.get(cell)} {self._errors.get(cell, '')}"]
            # What comes only now was sent, and waited for the kernel to say something else.
            lines += [f"After that cell the pages know {records()}."]
        # The fixture has the kernel answer this signal with its stacks.
        self._manager.signal_kernel(signal.SIGUSR1)
        time.sleep(1)
        return "\n".join([*lines, self.complaints])

    def _hear(self, seconds: float) -> None:
        try:
            message = self._client.get_iopub_msg(timeout=seconds)
        except queue.Empty:
            assert self._manager.is_alive(), f"{self.version}: the kernel is gone"
            return
        content, name = message["content"], message["parent_header"].get("msg_id", "")
        match message["msg_type"]:
            case "comm_open":
                self.models[content["comm_id"]] = dict(content["data"].get("state", {}))
            case "comm_msg":
                self._hear_model(content["comm_id"], content["data"])
            case "execute_result":
                self._values[name] = content["data"]["text/plain"]
            case "stream" if content["name"] == "stderr":
                self._warnings.append(content["text"])
            case "error":
                self._errors[name] = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(content["traceback"]))
            case "status" if content["execution_state"] == "idle":
                self._over.add(name)

    def _hear_model(self, model: str, data: dict[str, Any]) -> None:
        if data["method"] == "custom":
            self.said_to[model].append(data["content"])
        elif data["method"] in ("update", "echo_update"):
            self.models.setdefault(model, {}).update(data["state"])

    def _hear_answer(self, name: str) -> None:
        try:
            while self._client.shell_channel.get_msg(timeout=WAIT)["parent_header"].get("msg_id") != name:
                pass
        except queue.Empty:
            raise AssertionError(f"{self.version}: there was no answer within {WAIT:.0f} s") from None

    # What pages say

    def say(self, kind: str, content: dict[str, Any], *, thread: str | None, buffers: list[bytes] | None = None) -> str:
        """Send a message on the shell channel, to one of the kernel's threads; gives its name."""
        message = self._client.session.msg(kind, content)
        if thread is not None:
            message["header"]["subshell_id"] = thread
        self._client.session.send(self._client.shell_channel.socket, message, buffers=buffers)
        return str(message["header"]["msg_id"])

    def ask(self, kind: str, content: dict[str, Any] | None = None) -> dict[str, Any]:
        """Ask something on the control channel."""
        message = self._client.session.msg(kind, content or {})
        self._client.control_channel.send(message)
        while True:
            answer = self._client.control_channel.get_msg(timeout=WAIT)
            if answer["parent_header"].get("msg_id") == message["header"]["msg_id"]:
                return dict(answer["content"])

    def settle(self) -> None:
        """Wait until the kernel has taken in all that was sent so far, so that nothing comes while it answers a cell."""
        if self.has_threads:
            self._ear = self._ear or self.ask("create_subshell_request")["subshell_id"]
            self._hear_answer(self.say("kernel_info_request", {}, thread=self._ear))

    @cached_property
    def has_threads(self) -> bool:
        """Whether the kernel offers pages threads of their own, for what comes from widgets."""
        return "kernel subshells" in self.ask("kernel_info_request").get("supported_features", [])


class Page:
    """One widget on a page.

    JupyterLab gives all widgets of a page one thread of the kernel beside the one that runs cells, where the kernel has
    such threads (`threads`); other pages do not.
    """

    _count = itertools.count(1)

    def __init__(self, notebook: Notebook, model: str, *, threads: bool) -> None:
        self.notebook, self.id = notebook, model
        self.view = f"view-{next(self._count)}"
        self.sent = 0
        self.typed: dict[str, tuple[Any, ...]] = {}
        self.thread: str | None = None
        if threads and notebook.has_threads:
            self.thread = notebook.ask("create_subshell_request")["subshell_id"]

    def close(self) -> None:
        """Let go of the thread, as a page does that is closed."""
        if self.thread is not None:
            assert self.notebook.ask("delete_subshell_request", {"subshell_id": self.thread})["status"] == "ok"
            self.thread = None

    @property
    def model(self) -> dict[str, Any]:
        """The widget's traits as the page knows them."""
        return self.notebook.models[self.id]

    @property
    def said(self) -> list[dict[str, Any]]:
        """The custom messages that have come for the widget."""
        return self.notebook.said_to[self.id]

    def until(self, found: Callable[[], T | None], what: str) -> T:
        """Listen until this finds something."""
        return self.notebook.until(found, what)

    def send(self, content: dict[str, Any], buffers: list[bytes] | None = None) -> None:
        """Send a custom message, the only kind that our pages send."""
        data = {"method": "custom", "content": content}
        self.notebook.say("comm_msg", {"comm_id": self.id, "data": data}, thread=self.thread, buffers=buffers)

    def edit(self, name: str, *value: Any) -> int:
        """Type a value, or none to go back to the default; gives the number of the edit."""
        self.sent += 1
        self.typed[name] = value
        # As a page does, all that it shows.
        known = {
            name: shown
            for name, shown in self.model.get("state", {}).get("draft", {}).items()
            if name not in self.typed
        }
        draft = {**known, **{name: typed[0] for name, typed in self.typed.items() if typed}}
        self.send({"do": "edit", "view": self.view, "n": self.sent, "draft": draft})
        return self.sent

    def answered(self, n: int | None = None) -> dict[str, Any]:
        """Wait until the form has answered this edit, or the latest one: its state then."""
        wanted = n or self.sent

        def state() -> dict[str, Any] | None:
            now = self.model.get("state") or {}
            return now if now.get("view") == self.view and now.get("n", 0) >= wanted else None

        return self.notebook.until(state, f"the answer to edit {wanted}")


class Gate:
    """Where a cell waits until the test lets it go on."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.settimeout(WAIT)
        self.port = self._server.getsockname()[1]
        self._cell: socket.socket | None = None

    @property
    def awaiting(self) -> str:
        """Code that waits here as asynchronous code does: other work of the loop goes on."""
        return f"import asyncio\n_in, _out = await asyncio.open_connection('127.0.0.1', {self.port})\nawait _in.read()\n_out.close()\n"

    @property
    def blocking(self) -> str:
        """Code that waits here as `time.sleep` does: the thread does nothing else."""
        return f"import socket\nwith socket.create_connection(('127.0.0.1', {self.port})) as _in:\n    _in.recv(1)\n"

    def reached(self) -> None:
        """Wait until the cell waits here."""
        self._cell, _ = self._server.accept()

    def open(self) -> None:
        """Let the cell go on."""
        if self._cell is not None:
            self._cell.close()
            self._cell = None

    def close(self) -> None:
        self.open()
        self._server.close()


@contextmanager
def cell_that_works(notebook: Notebook, code: str) -> Iterator[None]:
    """A cell begins with the block to do its work, and waits at its end for the end of the block."""
    gate = Gate()
    try:
        cell = notebook.start(f"{gate.awaiting}{code}\n{gate.awaiting}")
        gate.reached()
        gate.open()
        yield
        gate.reached()
        notebook.settle()
        gate.open()
        notebook.ended(cell)
    finally:
        gate.close()


@contextmanager
def cell_that_waits(notebook: Notebook, how: Literal["awaiting", "blocking"]) -> Iterator[None]:
    """While the block lasts a cell waits; its end is that of the block, and has to be a good one."""
    gate = Gate()
    try:
        cell = notebook.start(getattr(gate, how))
        gate.reached()
        yield
        assert notebook.is_running(cell)
        notebook.settle()
        gate.open()
        notebook.ended(cell)
    finally:
        gate.close()
