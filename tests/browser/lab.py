"""A real JupyterLab, and what a person does in it: open a notebook, run it, save it, look at it."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, Self

import nbformat
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, expect
from playwright.sync_api import TimeoutError as PageTimeout

# How far the notebook is from the window's right and lower edges: the same in a window of every size.
MARGINS = """(() => {
  const box = document.querySelector('.jp-NotebookPanel').getBoundingClientRect();
  return [Math.round(innerWidth - box.right), Math.round(innerHeight - box.bottom)].join();
})()"""

# Takes the notebook off the page and ends its kernel; tells whether the page is as it was before any notebook.
CLEAR = """async () => {
  const panel = window.jupyterapp.shell.currentWidget;
  const ended = panel.sessionContext.shutdown().catch(() => null);
  // What is not saved is not asked about.
  panel.context.model.dirty = false;
  panel.dispose();
  await ended;
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  return !document.querySelector('.jp-NotebookPanel, .jp-Dialog');
}"""
IS_ON = """path => {
  const panel = window.jupyterapp?.shell.currentWidget;
  return panel?.context?.path === path && panel.context.isReady && !!document.querySelector('.jp-Notebook .jp-Cell');
}"""
LIGHT = "JupyterLab Light"

START_SECONDS = 60.0
PAUSE_SECONDS = 0.1

# Nothing of the person's own settings, libraries or services may reach a test.
PRIVATE = ("REELBOOK_URL", "REELBOOK_API_KEY", "REELBOOK_LIBRARY")
FOLDERS = {
    "HOME": "",
    "JUPYTER_CONFIG_DIR": "config",
    "JUPYTER_DATA_DIR": "data",
    "JUPYTER_RUNTIME_DIR": "runtime",
    "IPYTHONDIR": "ipython",
    "JUPYTERLAB_SETTINGS_DIR": "settings",
    "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
}


class Lab:
    """A JupyterLab server of its own: free port, own token, own home; notebooks go into `root`."""

    prefix = ""
    """What every address begins with, `/user/ana` on a hub."""
    doc = "doc/tree"
    app = ("jupyterlab", "LabApp")
    """The module that is run, and the name of its options."""

    def __init__(self, folder: Path) -> None:
        self.root, self._home = folder / "notebooks", folder / "home"
        self.root.mkdir(parents=True)
        self._quieten()
        self._token = secrets.token_hex(16)
        self.port = free_port()
        self.base_url = f"http://127.0.0.1:{self.port}{self.prefix}"
        self._log = folder / "server.log"
        self.pages: dict[str, Page] = {}
        """Pages that are loaded and have no notebook, by their sort."""

    def write(self, name: str, *texts: str) -> Path:
        """The path of a new notebook with these cells."""
        return write_notebook(self.root / f"{name}.ipynb", *texts)

    def __enter__(self) -> Self:
        self._server = started(self._command(), self._environment(), self._log, self._answers)
        self._server.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._server.__exit__(*error)

    def address(self, notebook: Path) -> str:
        """Where the page of one notebook is, without the panels around it."""
        return f"{self.base_url}/{self.doc}/{notebook.relative_to(self.root)}?token={self._token}&reset"

    def api(self, path: str) -> Any:
        """What the server's own API answers."""
        request = urllib.request.Request(self.base_url + path, headers={"Authorization": f"token {self._token}"})
        with urllib.request.urlopen(request, timeout=5) as response:
            return json.load(response)

    def has_idle_kernel(self, notebook: Path) -> bool:
        """Whether the notebook's kernel waits for work and a page is connected to it."""
        path = str(notebook.relative_to(self.root))
        kernels = [session["kernel"] for session in self.api("/api/sessions") if session["path"] == path]
        return any(kernel["execution_state"] == "idle" and kernel["connections"] for kernel in kernels)

    def _quieten(self) -> None:
        """Settings of a person who has said no to Jupyter's news already."""
        settings = self._home / FOLDERS["JUPYTERLAB_SETTINGS_DIR"] / "@jupyterlab" / "apputils-extension"
        settings.mkdir(parents=True)
        (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false"}')

    def _command(self) -> list[str]:
        module, options = self.app
        return [
            *(sys.executable, "-m", module, "--no-browser", "--allow-root", "--ip=127.0.0.1"),
            f"--port={self.port}",
            f"--ServerApp.base_url={self.prefix}/",
            "--ServerApp.port_retries=0",
            f"--ServerApp.root_dir={self.root}",
            f"--IdentityProvider.token={self._token}",
            "--LabApp.news_url=",
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
            "--LabApp.extension_manager=readonly",
            f"--{options}.expose_app_in_browser=True",  # So that a test can call a command by its name.
        ]

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in PRIVATE}
        own = {name: str(self._home / folder) for name, folder in FOLDERS.items()}
        return {**kept, **own, "JUPYTER_PREFER_ENV_PATH": "1"}

    def _answers(self) -> bool:
        try:
            self.api("/api/status")
        except OSError:
            return False
        return True


class OpenNotebook:
    """A notebook on the screen.

    Lab takes five seconds to load, so that notebooks follow one another on one page, which each leaves without itself and
    its kernel. Those of a sort other than the common one have a page of that sort: `received` never sees a notebook that is
    trusted, whose scripts and styles could help the next. With `own`, nobody had the page before, and nobody will.
    """

    def __init__(
        self,
        lab: Lab,
        browser: Browser,
        notebook: Path,
        *,
        width: int = 1200,
        height: int = 1000,
        sort: Literal["common", "received", "own"] = "common",
    ) -> None:
        self.lab, self.path, self._sort = lab, notebook, sort
        kept = lab.pages.pop(sort, None)
        self._is_loaded = kept is not None and not kept.is_closed()
        self.page: Page = kept if kept and self._is_loaded else browser.new_page()
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.set_default_timeout(30_000)
        self.complaints: list[str] = []
        self.page.on("console", self._note)
        self.page.on("pageerror", self._note_uncaught)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None and self._sort != "own" and self._sort not in self.lab.pages and self.page.evaluate(CLEAR):
            self.page.remove_listener("console", self._note)
            self.page.remove_listener("pageerror", self._note_uncaught)
            self.lab.pages[self._sort] = self.page
        else:
            self.page.close()

    def open(self) -> Self:
        """Load the page and wait for its kernel. A launch that hangs, which is Jupyter's, is tried once more."""
        try:
            return self._opened()
        except (PageTimeout, AssertionError):
            self._is_loaded = False
            return self._opened()

    def open_without_kernel(self) -> Self:
        """Load the page of a notebook whose kernel is not installed, and decline another one."""
        self._load()
        self.page.locator(".jp-Dialog").get_by_role("button", name="No Kernel").click()
        return self

    def run_all(self, *, within: float = 60) -> None:
        """Run every cell, and wait for the last one."""
        self.page.set_default_timeout(within * 1000)
        self.command("notebook:run-all-cells")
        self.page.set_default_timeout(30_000)

    def save(self) -> None:
        """Write the notebook and its outputs to disk."""
        self.command("docmanager:save")

    def use_theme(self, name: str) -> None:
        """Change Lab's colours, `JupyterLab Light` or `JupyterLab Dark`, and wait for them."""
        self.command("apputils:change-theme", {"theme": name})
        self.page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=name)
        self.page.locator("#jupyterlab-splash").wait_for(state="detached")
        # The name changes before the style sheet has come.
        paper = "getComputedStyle(document.body).getPropertyValue('--jp-layout-color0').trim()"
        self.page.wait_for_function(
            f"light => {paper} && ['white', '#fff', '#ffffff'].includes({paper}) === light", arg="Dark" not in name
        )

    def resize(self, width: int, height: int) -> None:
        """Change the window, and wait until Lab has laid itself out anew: it does so later, on a busy machine much later."""
        margins = self.page.evaluate(MARGINS)
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.wait_for_function(
            f"([width, height, margins]) => innerWidth === width && innerHeight === height && {MARGINS} === margins",
            arg=[width, height, margins],
        )
        # What observes its own size, as a form does, draws itself in the frame after.
        self.page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
        )

    def command(self, name: str, arguments: dict[str, Any] | None = None) -> None:
        """Do what a menu entry does, and wait until it is done."""
        self.page.evaluate(
            "([name, args]) => window.jupyterapp.commands.execute(name, args).then(() => null)", [name, arguments or {}]
        )

    def run_cell(self, place: int) -> None:
        """Run the cell at this place, and wait until it has run."""
        # In one step: what takes the focus in between, such as a button of an output, makes its own cell the active one.
        self.page.evaluate(
            """place => {
              const app = window.jupyterapp;
              app.shell.currentWidget.content.activeCellIndex = place;
              return app.commands.execute("notebook:run-cell").then(() => null);
            }""",
            place,
        )

    def is_trusted(self) -> bool:
        """Whether Lab would run scripts in what the notebook shows."""
        cells = "[...window.jupyterapp.shell.currentWidget.content.model.cells]"
        return bool(self.page.evaluate(f"{cells}.filter(cell => cell.type === 'code').every(cell => cell.trusted)"))

    def has_kernel(self) -> bool:
        """Whether a kernel belongs to the page."""
        return bool(self.page.evaluate("!!window.jupyterapp.shell.currentWidget.sessionContext.session?.kernel"))

    def cell_errors(self) -> list[str]:
        """The text of every output that is an error."""
        return self.page.locator(".jp-OutputArea-output[data-mime-type*='error']").all_inner_texts()

    def _opened(self) -> Self:
        self._load()
        # The page calls itself idle before its connection is up; the server knows better.
        deadline = time.monotonic() + 20
        while not self.lab.has_idle_kernel(self.path):
            assert time.monotonic() < deadline, "the kernel did not become idle"
            self.page.wait_for_timeout(PAUSE_SECONDS * 1000)
        return self

    def _load(self) -> None:
        if self._is_loaded:
            if self.page.evaluate("document.body.dataset.jpThemeName") != LIGHT:
                self.use_theme(LIGHT)
            self.command("docmanager:open", {"path": str(self.path.relative_to(self.lab.root))})
        else:
            self.page.goto(self.lab.address(self.path))
            self._is_loaded = True
        self.page.wait_for_function(IS_ON, arg=str(self.path.relative_to(self.lab.root)))

    def _note_uncaught(self, error: Error) -> None:
        self.complaints.append(f"uncaught: {error}")

    def _note(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(message.text)


@contextmanager
def first_cell(
    lab: Lab, chromium: Browser, name: str, *texts: str, shows: str = ".rbf", height: int = 1800
) -> Iterator[OpenNotebook]:
    """A new notebook with these cells and a library of its own, `{library!r}`; the first cell has run, and shows this."""
    start, *others = texts
    path = lab.write(name, start.format(library=str(lab.root / f"{name}-library")), *others)
    with OpenNotebook(lab, chromium, path, height=height) as notebook:
        notebook.open()
        notebook.command("notebook:run-cell-and-select-next")
        expect(notebook.page.locator(shows)).to_be_visible(timeout=60_000)
        yield notebook


def write_notebook(path: Path, *texts: str) -> Path:
    """A new notebook with these cells."""
    book = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]
    book.cells = [nbformat.v4.new_code_cell(text) for text in texts]  # type: ignore[no-untyped-call]
    book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(book, path)  # type: ignore[no-untyped-call]
    return path


@contextmanager
def started(
    command: Sequence[str], environment: Mapping[str, str], log: Path, answers: Callable[[], bool]
) -> Iterator[None]:
    """A server while it is needed; its kernels, and the services that notebooks started, are in its process group."""
    with log.open("wb") as said:
        process = subprocess.Popen(
            command, env=environment, cwd=log.parent, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        deadline = time.monotonic() + START_SECONDS
        while not answers():
            is_late = process.poll() is not None or time.monotonic() > deadline
            assert not is_late, f"{command} did not start:\n{log.read_text()[-3000:]}"
            time.sleep(PAUSE_SECONDS)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        # Kernels that it has left behind.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
