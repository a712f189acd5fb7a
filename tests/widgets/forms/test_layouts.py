"""Forms among other widgets: in layouts, followed by functions, counted in messages, and saved with a notebook."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import comm
import ipywidgets
import nbformat
import pytest
import traitlets
from comm.base_comm import BaseComm
from ipywidgets import embed
from jupyter_client.session import Session
from PIL import Image

import reelbook as rb
from reelbook.errors import InvalidInput
from tests.bench.forms import BYTES, MESSAGES, by_hand
from tests.faults.canary import Canary
from tests.test_no_key import in_a_kernel
from tests.transport.variants import Hosted
from tests.widgets.forms.page import Page

BOAT = rb.TextToVideo(prompt="a paper boat", num_frames=49, seed=7)
CANARY = Canary()
STATE = "application/vnd.jupyter.widget-state+json"
LAYOUTS = [ipywidgets.VBox, ipywidgets.Tab, ipywidgets.Accordion]


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    """What one test leaves open is not saved by the next."""
    yield
    ipywidgets.Widget.close_all()


class Wire:
    """Every message of widgets, and how long it is as a kernel writes it."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self._session = Session(key=b"key")

    def comm(self, **given: Any) -> BaseComm:
        wire = self

        class Recorded(BaseComm):
            def publish_msg(self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **keys: Any) -> None:  # fmt: skip
                content = {"data": data or {}, "comm_id": self.comm_id, **keys}
                message = wire._session.msg(msg_type, content, metadata=metadata)
                parts = [*wire._session.serialize(message), *(buffers or ())]
                wire.sizes.append(sum(memoryview(part).nbytes for part in parts))

        return Recorded(**given)


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    """Outside of a kernel nothing is sent: this stands where the kernel does."""
    found = Wire()
    monkeypatch.setattr(comm, "create_comm", found.comm)
    return found


def test_a_form_is_few_messages(wire: Wire, tmp_path: Path) -> None:
    """At most four, connected or not, and half the bytes of ipywidgets made by hand; `make bench` has the times."""
    by_hand()
    theirs, wire.sizes = wire.sizes, []
    single = rb.form(rb.TextToVideo)
    first, wire.sizes = wire.sizes, []
    with rb.connect(library=tmp_path / "library"):
        form = rb.form(BOAT)
        second = list(wire.sizes)
        form.close()
    single.close()

    assert len(theirs) >= 50
    assert max(len(first), len(second)) <= MESSAGES
    assert max(sum(first), sum(second)) <= BYTES * sum(theirs)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_forms_stand_in_layouts(layout: Any) -> None:
    """Two forms of one model: each its own draft, in any box, and in two boxes at once."""
    one, two = rb.form(BOAT), rb.form(rb.TextToVideo)

    box = layout([one, two, ipywidgets.HBox([one])])
    one.edit("seed", 8)

    assert box.children[:2] == (one, two)
    assert (one.value.seed, two.draft) == (8, {})
    assert f"IPY_MODEL_{one.model_id}" in box.get_state()["children"]
    for widget in (one, two, box):
        widget.close()


def test_followers_hear_old_and_new() -> None:
    """Of every right value once; of what is not right nothing, and what comes after that has no value before it."""
    page, heard = Page(rb.TextToVideo), list[Any]()
    page.form.observe(lambda change: heard.append((change["old"], change["new"], change["name"])), "value")

    page.edit("prompt", "a boat")
    page.edit("prompt", "a boat")
    page.edit("seed", 8)
    page.edit("num_frames", 5000)
    page.edit("num_frames", 9)

    boat = rb.TextToVideo(prompt="a boat")
    assert heard == [
        (None, boat, "value"),
        (boat, boat.revised(seed=8), "value"),
        (None, boat.revised(seed=8, num_frames=9), "value"),
    ]
    page.form.close()


def test_forms_are_linked_in_python() -> None:
    """The value is no trait of the page, so links are made here; one way or both."""
    one, two, three = rb.form(BOAT), rb.form(rb.TextToVideo), rb.form(rb.TextToVideo)

    traitlets.link((one, "value"), (two, "value"))
    traitlets.dlink((two, "value"), (three, "value"))
    two.edit("seed", 8)
    two.edit("num_frames", 5)
    three.edit("seed", 9)

    assert one.value == BOAT.revised(seed=8)
    assert three.value == BOAT.revised(seed=9)
    with pytest.raises(InvalidInput, match="num_frames"):
        _ = two.value
    for form in (one, two, three):
        form.close()


def noise(path: Path) -> bytes:
    """A picture of which no small copy can be made that has its bytes."""
    pixels = random.Random(7).randbytes(320 * 240 * 3)
    Image.frombytes("RGB", (320, 240), pixels).save(path)
    return path.read_bytes()


def holds(text: str, content: bytes) -> bool:
    """Whether a text has a piece of these bytes, plain or in base64, wherever it begins."""
    middle = content[len(content) // 2 :][:300]
    pieces = [base64.b64encode(middle[start:])[4:60].decode() for start in range(3)]
    return any(piece in text for piece in pieces) or middle[:40].hex() in text


def test_an_embedded_form_is_small(tmp_path: Path) -> None:
    """On a page of its own the state has what was typed and no picture; the page names each picture by its content."""
    picture = noise(tmp_path / "noise.png")
    with rb.connect(library=tmp_path / "library"):
        forms = [rb.form(rb.ImageToVideo(prompt="it moves", image_url=given)) for given in (picture, tmp_path / "noise.png")]  # fmt: skip
        box = ipywidgets.Tab(forms)

        told = json.dumps(embed.embed_data(views=[box]))
        embed.embed_minimal_html(tmp_path / "page.html", views=[box], title="Forms")
        for form in forms:
            form.close()

    assert "it moves" in told
    assert "sha256:" in told
    assert len(told) < 40_000
    assert not holds(told, picture)
    assert not holds((tmp_path / "page.html").read_text(encoding="utf-8"), picture)
    assert holds(json.dumps(base64.b64encode(picture).decode()), picture), "the control"
    box.close()


CELLS = [
    "import ipywidgets as widgets\nimport reelbook as rb\nclient = rb.connect()",
    "picture = open('noise.png', 'rb').read()\nstill = rb.ImageToVideo(prompt='it moves', image_url=picture)",
    "form = rb.form(still)\nform",
    "widgets.Tab([widgets.VBox([form]), rb.form('svc/smart-resize')], titles=['a', 'b'])",
    "studio = rb.studio(still)\nstudio",
    "form.edit('negative_prompt', 'rain')\nform.code",
]


def test_a_saved_notebook_has_the_form_and_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run without a page, with the state of its widgets: it has the picture of the form, and neither key nor large files."""
    picture = noise(tmp_path / "noise.png")
    monkeypatch.setenv("REELBOOK_API_KEY", CANARY.key)
    monkeypatch.setenv("REELBOOK_LIBRARY", str(tmp_path / "library"))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])  # type: ignore[no-untyped-call]

    with Hosted() as hosted:
        in_a_kernel(notebook, tmp_path, hosted.base_url)

    states = notebook.metadata["widgets"][STATE]["state"]
    forms = [one["state"] for one in states.values() if "sheet" in one["state"] and "draft" in one["state"].get("state", {})]  # fmt: skip
    shown = [out.data for out in notebook.cells[2].outputs if "data" in out]
    saved = json.dumps(notebook)
    assert [out for cell in notebook.cells for out in cell.outputs if out.output_type == "error"] == []
    assert "rain" in [one["state"]["draft"].get("negative_prompt") for one in forms]
    assert "it moves" in shown[0]["text/html"], "what is seen without a kernel"
    assert all(len(json.dumps(one)) < 20_000 for one in forms)
    assert CANARY.found_in(saved) == []
    assert not holds(saved, picture)
    assert len(saved) < 300_000
