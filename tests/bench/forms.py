"""A form beside what notebooks have for the same: 17 fields of text-to-video, made, sent and typed into in real kernels.

    PYTHONPATH=. .venv/bin/python tests/bench/forms.py [--rounds 5] [--count 20]

Beside it: the same fields as ipywidgets that somebody wrote by hand, and those that ipyautoui, ipywidgets-jsonschema and
magicgui make by themselves. `.ci/peers` puts these three into an environment of their own, because they bring Jupyter
extensions that the tests must not meet. Each has a kernel of its own; they are measured by turns. Messages and bytes are
those on the wire, headers and buffers included. A keystroke counts from the page's message to the kernel's answer: the
others answer that they have heard it; a form answers what is wrong with it and what it costs. Ours is connected to the
embedded service all the time. What depends on the machine alone is reported, ratios are gated.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import gc
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reelbook.models.text_to_video import TextToVideo
from tests.bench.results import failed, of_peer, record
from tests.faults.kernels import PATIENCE, Kernel

ROOT = Path(__file__).parents[2]
OURS, BY_HAND, RICHEST = "reelbook", "ipywidgets by hand", "ipyautoui"
MANY, STROKES, QUIET_MS = 20, 10, 50
MESSAGES, BYTES = 4, 0.5
"""Gates: messages when a form is made, and their bytes beside those of ipywidgets by hand; tests hold these, too."""
QUICKER, AS_QUICK = 0.15, 1.0
"""Gates: the time to make one beside ipyautoui, and beside ipywidgets by hand."""
STROKE = 0.030
"""Gate: seconds from a keystroke to the priced state, with one form and with twenty of them alive."""
SUCH = {"style": {"description_width": "initial"}}


# What is measured, in the kernels.


def by_hand() -> Any:
    """The fields as somebody writes them who knows ipywidgets: bounds where a widget has them, and nothing judged or priced."""
    import ipywidgets as widgets

    def whole(label: str, value: int, least: int, most: int) -> Any:
        return widgets.BoundedIntText(value=value, min=least, max=most, description=label, **SUCH)

    def real(label: str, value: float) -> Any:
        return widgets.BoundedFloatText(value=value, min=0, max=1, step=0.05, description=label, **SUCH)

    return widgets.VBox([
        widgets.Textarea(description="Prompt", **SUCH),
        widgets.Textarea(
            "worst quality, inconsistent motion, blurry, jittery, distorted", description="Negative prompt", **SUCH
        ),
        widgets.Textarea("[]", description="LoRAs, as JSON", **SUCH),
        widgets.Dropdown(options=["480p", "720p"], value="720p", description="Resolution", **SUCH),
        widgets.Dropdown(options=["9:16", "1:1", "16:9"], value="16:9", description="Aspect ratio", **SUCH),
        widgets.Text(placeholder="chosen by the service", description="Seed", **SUCH),
        whole("Frames", 121, 9, 1441),
        whole("Frames per second", 24, 1, 60),
        whole("Steps of the first pass", 8, 2, 12),
        whole("Steps of the second pass", 8, 2, 12),
        whole("Steps left out at its start", 5, 1, 11),
        widgets.Checkbox(False, description="Expand prompt", **SUCH),
        widgets.Checkbox(False, description="Reverse video", **SUCH),
        widgets.Checkbox(True, description="Safety checker", **SUCH),
        widgets.Checkbox(False, description="Detail pass", **SUCH),
        real("Temporal AdaIN factor", 0.5),
        real("Tone map compression", 0.0),
    ])  # fmt: skip


def _ours() -> Callable[[], Any]:
    import reelbook as rb
    import reelbook.widgets.forms.form  # Else the first form would bring it.

    return lambda: rb.form(TextToVideo)


def _by_hand() -> Callable[[], Any]:
    import ipywidgets as _  # noqa: F401  # Counted as its import.

    return by_hand


def _autoui() -> Callable[[], Any]:
    from ipyautoui import AutoUi

    return lambda: AutoUi(TextToVideo)


def _jsonschema() -> Callable[[], Any]:
    from ipywidgets_jsonschema import Form

    return lambda: Form(TextToVideo).widget


def _magicgui() -> Callable[[], Any]:
    import magicgui
    from magicgui.widgets import Container, create_widget

    magicgui.use_app("ipynb")

    def one(name: str, told: Any) -> Any:
        return create_widget(name=name, annotation=told.annotation, value="" if told.is_required() else told.default)

    return lambda: Container(widgets=[one(*item) for item in TextToVideo.model_fields.items()]).native


WAYS: Mapping[str, Callable[[], Callable[[], Any]]] = {
    OURS: _ours,
    BY_HAND: _by_hand,
    RICHEST: _autoui,
    "ipywidgets-jsonschema": _jsonschema,
    "magicgui": _magicgui,
}
"""Each imports what it needs, and gives what makes the widget."""


class Maker:
    """Makes the widget of one way, in a kernel of its own."""

    def __init__(self, name: str, peers: str) -> None:
        # Last on the path: what the lock has is the lock's for all of them.
        sys.path.append(peers)
        began = time.perf_counter()
        self.make = WAYS[name]()
        self.imported = time.perf_counter() - began
        self.held: list[Any] = []
        self.shared = set(_alive())

    def many(self, count: int) -> list[float]:
        """Seconds for each of so many, which are kept."""
        took = []
        for _ in range(count):
            began = time.perf_counter()
            self.held.append(self.make())
            took.append(time.perf_counter() - began)
        return took

    def drop(self) -> None:
        """Close all."""
        self.held.clear()
        for name, widget in _alive().items():
            # ipyautoui shares one that it makes when it is imported.
            if name not in self.shared:
                widget.close()
        gc.collect()

    def memory(self, count: int) -> float:
        """Bytes of the process for each of so many."""
        before = _resident()
        self.many(count)
        return (_resident() - before) / count

    def prompt(self, place: int) -> str:
        """The name of the widget in which the prompt is typed: the form itself, or the first text of it."""
        held = self.held[place]
        return str((held if type(held).__name__ == "Form" else next(_texts(held))).model_id)

    def show(self) -> None:
        """Put all into the notebook."""
        from IPython.display import display

        for widget in self.held:
            display(widget)  # type: ignore[no-untyped-call]  # IPython is untyped here


def _alive() -> dict[str, Any]:
    from ipywidgets.widgets.widget import _instances

    return dict(_instances)


def _texts(widget: Any) -> Iterator[Any]:
    for child in getattr(widget, "children", ()):
        if type(child).__name__ in ("Text", "Textarea"):
            yield child
        yield from _texts(child)


def _resident() -> int:
    gc.collect()
    with contextlib.suppress(OSError), open("/proc/self/statm", encoding="ascii") as told:  # noqa: PTH123  # Not a file.
        return int(told.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


# Where it is measured from.


@dataclass
class Heard:
    """What a kernel said while it did one thing."""

    messages: int = 0
    size: int = 0
    """Bytes of the messages of widgets, as they were on the wire."""
    shown: int = 0
    """Bytes of what goes into the notebook."""


class Place(Kernel):
    """A kernel with what it sends, byte for byte."""

    def __init__(self, name: str, folder: Path, peers: Path) -> None:
        super().__init__(folder, PYTHONPATH=str(ROOT), REELBOOK_LIBRARY=str(folder / "library"))
        self.name, self.peers = name, peers
        for private in ("REELBOOK_URL", "REELBOOK_API_KEY"):
            self._environment.pop(private, None)

    def prepare(self) -> tuple[float, float]:
        """Seconds of the import, and of the first widget."""
        self.ask("import json; from tests.bench.forms import Maker")
        self.ask(f"maker = Maker({self.name!r}, {str(self.peers)!r})")
        took = self.value("maker.imported"), self.value("maker.many(1)[0]")
        if self.name == OURS:
            self.ask("import reelbook as rb; client = rb.connect()")
        return took

    def value(self, expression: str) -> Any:
        """What an expression is, as far as JSON tells it.

        From the kernel's answer: of what it broadcasts, it drops some where much comes at once.
        """
        asked = self._client.execute("", user_expressions={"told": f"json.dumps({expression})"}, store_history=False)
        while (answer := self._client.get_shell_msg(timeout=PATIENCE))["parent_header"].get("msg_id") != asked:
            pass
        told = answer["content"]["user_expressions"]["told"]
        assert told["status"] == "ok", f"{self.name}: {told['ename']}: {told['evalue']}"
        while self._client.iopub_channel.socket.poll(QUIET_MS):
            self._client.iopub_channel.socket.recv_multipart()
        return json.loads(ast.literal_eval(told["data"]["text/plain"]))

    def ask(self, code: str) -> Heard:
        """Run a cell, and count what is sent meanwhile."""
        heard = Heard()
        asked = self._client.execute(code, store_history=False)
        for size, message in self._until_idle(asked):
            content = message["content"]
            match message["msg_type"]:
                case "error":
                    raise RuntimeError(f"{content['ename']}: {content['evalue']}")
                case "display_data" | "execute_result":
                    heard.shown += size
                case kind if kind.startswith("comm"):
                    heard.messages += 1
                    heard.size += size
        return heard

    def type(self, model: str, number: int) -> float:
        """Seconds from a letter of the prompt to the kernel's answer."""
        draft = {"prompt": f"boat {number}"}
        edit = {"do": "edit", "view": "bench", "n": number, "names": [*draft], "draft": draft}
        update = {"method": "update", "state": {"value": f"boat {number}"}, "buffer_paths": []}
        told = {"method": "custom", "content": edit} if self.name == OURS else update
        message = self._client.session.msg("comm_msg", {"comm_id": model, "data": told})
        began = time.perf_counter()
        self._client.session.send(self._client.shell_channel.socket, message)
        answered = 0.0
        for _, said in self._until_idle(message["header"]["msg_id"]):
            state = said["content"].get("data", {}).get("state", {}).get("state", {})
            if said["content"].get("comm_id") == model and state.get("n") == number:
                assert state["price"]["credits"] is not None, "it is priced"
                answered = answered or time.perf_counter() - began
        assert answered or self.name != OURS, "the form has answered before the kernel had nothing more to do"
        return answered or time.perf_counter() - began

    def _until_idle(self, asked: str) -> Iterator[tuple[int, dict[str, Any]]]:
        socket, session = self._client.iopub_channel.socket, self._client.session
        while True:
            if not socket.poll(PATIENCE * 1000):
                raise RuntimeError(f"the kernel said nothing for {PATIENCE:.0f} s")
            frames = socket.recv_multipart()
            message = session.deserialize(session.feed_identities(frames)[1])
            yield sum(map(len, frames)), message
            is_idle = message["content"].get("execution_state") == "idle"
            if is_idle and message["parent_header"].get("msg_id") == asked:
                return


@dataclass
class Found:
    """The figures of one way."""

    imported: float = 0.0
    first: float = 0.0
    model: str = ""
    rounds: list[list[float]] = field(default_factory=list)
    strokes: list[float] = field(default_factory=list)
    made: Heard = field(default_factory=Heard)
    shown: Heard = field(default_factory=Heard)
    memory: float = 0.0

    @property
    def create(self) -> float:
        return statistics.median(second for took in self.rounds for second in took)


def measured(places: dict[str, Place], rounds: int, count: int) -> dict[str, Found]:
    """All figures, each way by turns. A peer that fails is left out from then on."""
    found: dict[str, Found] = {}

    def by_turns(work: Callable[[Found, Place], object]) -> None:
        for name, place in [*places.items()]:
            if name in (OURS, BY_HAND):
                work(found[name], place)
            elif of_peer(name, lambda name=name, place=place: (work(found[name], place),)) is None:  # type: ignore[misc]
                del places[name], found[name]

    def prepare(one: Found, place: Place) -> None:
        one.imported, one.first = place.prepare()
        # First: what a kernel has let go of, it uses again.
        one.memory = place.value(f"maker.memory({MANY})")
        place.value("maker.drop()")

    def make(one: Found, place: Place) -> None:
        one.rounds.append(place.value(f"maker.many({count})"))
        place.value("maker.drop()")

    def show(one: Found, place: Place) -> None:
        one.made, one.shown = place.ask("maker.many(1)"), place.ask("maker.show()")
        one.model = place.value("maker.prompt(0)")

    found.update({name: Found() for name in places})
    by_turns(prepare)
    for _ in range(rounds):
        by_turns(make)
    by_turns(show)
    for number in range(1, rounds * STROKES + 1):
        by_turns(lambda one, place, number=number: one.strokes.append(place.type(one.model, number)))  # type: ignore[misc]
    by_turns(lambda one, place: place.value("maker.drop()"))
    return found


def crowded(place: Place) -> list[float]:
    """Seconds for each keystroke, typed into twenty forms that are shown, by turns."""
    place.value(f"maker.many({MANY})")
    place.value("maker.show()")
    models = [place.value(f"maker.prompt({at})") for at in range(MANY)]
    return [place.type(model, number) for number in range(1, STROKES + 1) for model in models]


def told(found: Mapping[str, Found]) -> None:
    """The table."""
    heads = ("import ms", "first ms", "create ms", "messages", "kB", "shown kB", "stroke ms", "memory kB")
    print(f"{'17 fields':<23}" + "".join(f"{head:>11}" for head in heads))
    for name, one in found.items():
        figures = (
            f"{one.imported * 1000:,.0f}", f"{one.first * 1000:,.0f}", f"{one.create * 1000:.1f}", f"{one.made.messages}",
            f"{one.made.size / 1000:.1f}", f"{(one.shown.size + one.shown.shown) / 1000:.1f}",
            f"{statistics.median(one.strokes) * 1000:.1f}", f"{one.memory / 1000:,.0f}" if one.memory else "–",
        )  # fmt: skip
        print(f"{name:<23}" + "".join(f"{figure:>11}" for figure in figures))


def judged(found: Mapping[str, Found], crowd: list[float]) -> bool:
    """Say each ratio with its gate, and whether all are kept."""
    ours, hand = found[OURS], found[BY_HAND]
    kept = [
        record("messages when a form is made", ours.made.messages, MESSAGES, peer=BY_HAND, theirs=hand.made.messages),
        record("from keystroke to price", statistics.median(ours.strokes) * 1000, STROKE * 1000, unit="ms"),
        record(f"the same with {MANY} forms alive", statistics.median(crowd) * 1000, STROKE * 1000, unit="ms"),
    ]
    for name, gate in ((RICHEST, QUICKER), (BY_HAND, AS_QUICK)):
        if name in found:
            ratio = ours.create / found[name].create
            what = "time to make a form"
            kept.append(
                record(
                    what, ours.create * 1000, gate, unit="ms", peer=name, theirs=found[name].create * 1000, ratio=ratio
                )
            )
    size, hands = ours.made.size / 1000, hand.made.size / 1000
    kept.append(record("bytes of a form", size, BYTES, unit="kB", peer=BY_HAND, theirs=hands, ratio=size / hands))
    slowest = sorted(crowd)[int(0.95 * len(crowd))]
    print(f"  with {MANY} forms alive, 19 of 20 keystrokes within {slowest * 1000:.1f} ms, all within {max(crowd) * 1000:.1f} ms")  # fmt: skip
    return all(kept)


def here(peers: Path) -> list[str]:
    """The ways that can be measured; says which cannot."""
    modules = {RICHEST: "ipyautoui", "ipywidgets-jsonschema": "ipywidgets_jsonschema", "magicgui": "magicgui"}
    if missing := [name for name, module in modules.items() if not (peers / module).is_dir()]:
        for name in missing:
            failed(name, "not installed: sh .ci/peers installs it")
    return [name for name in WAYS if name not in missing]


def main() -> None:
    options = argparse.ArgumentParser(description="Compare forms with other widgets for the same fields.")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--count", type=int, default=20)
    asked = options.parse_args()
    peers = Path(sys.prefix) / "peers" / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        places = {name: stack.enter_context(Place(name, folder / name, peers)) for name in here(peers)}
        found = measured(places, asked.rounds, asked.count)
        crowd = crowded(places[OURS])
    told(found)
    fits = judged(found, crowd)
    loads = ", ".join(f"{load:.2f}" for load in os.getloadavg())
    print(f"load average {loads}; {asked.rounds} rounds of {asked.count}")
    if not fits:
        raise SystemExit("Beyond the gate.")


if __name__ == "__main__":
    main()
