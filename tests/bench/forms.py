"""A form beside the same fields in other widgets: 17 of text-to-video, made in real kernels.

    PYTHONPATH=. .venv/bin/python tests/bench/forms.py [--rounds 5] [--count 20]

Each has a kernel of its own; they are measured by turns, and medians are shown. Ours is connected to the embedded service
all the time. The peers are ipywidgets that somebody wrote by hand, and ipyautoui and magicgui where they are installed:
`pip install ipyautoui magicgui`, in an environment of their own, because they bring extensions of Jupyter.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.bench.results import record
from tests.faults.kernels import Kernel

ROOT = Path(__file__).parents[2]
MESSAGES, BYTES = 4, 0.5
"""Gates: messages when a form is made, and their bytes beside those of ipywidgets by hand; `tests/widgets` holds these."""
AS_QUICK = 1.0
"""Gate: the time to make one beside ipywidgets by hand."""
SUCH = {"style": {"description_width": "initial"}}
OURS = "import reelbook as rb; client = rb.connect(); make = lambda: rb.form(rb.TextToVideo)"
BY_HAND = "from tests.bench.forms import by_hand as make"
PEERS = {
    "ipyautoui": "from ipyautoui import AutoUi; import reelbook as rb; make = lambda: AutoUi(rb.TextToVideo)",
    "magicgui": "from tests.bench.forms import by_magicgui as make",
}
"""What makes a widget of the same fields by itself, by the package that it needs."""
MADE = """
import json, time
took = []
for _ in range({count}):
    began = time.perf_counter()
    widget = make()
    took.append(time.perf_counter() - began)
    getattr(widget, "close", int)()
print(json.dumps(took))
"""


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


def by_magicgui() -> Any:
    """The fields as magicgui makes them of their types."""
    import magicgui
    from magicgui.widgets import Container, create_widget

    import reelbook as rb

    magicgui.use_app("ipynb")
    fields = rb.TextToVideo.model_fields.items()
    return Container(
        widgets=[
            create_widget(name=name, annotation=field.annotation, value="" if field.is_required() else field.default)
            for name, field in fields
        ]
    ).native


def main() -> int:
    options = argparse.ArgumentParser(description="Compare a form with other widgets for the same fields.")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--count", type=int, default=20)
    asked = options.parse_args()
    ways = {"reelbook": OURS, "ipywidgets by hand": BY_HAND}
    ways |= {name: code for name, code in PEERS.items() if find_spec(name)}
    took: dict[str, list[float]] = {name: [] for name in ways}
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kernels = {}
        for name, code in ways.items():
            place = {"PYTHONPATH": str(ROOT), "REELBOOK_LIBRARY": str(folder / "library"), "REELBOOK_URL": ""}
            kernels[name] = stack.enter_context(Kernel(folder / name, **place))
            kernels[name].run(code)
            kernels[name].run(MADE.format(count=1))  # Warm: what is imported once is nobody's.
        for _ in range(asked.rounds):
            for name, kernel in kernels.items():
                took[name] += json.loads(kernel.run(MADE.format(count=asked.count)).out)
    ours, *others = (1000 * statistics.median(times) for times in took.values())
    met = [
        record(
            "time to make a form of 17 fields", ours, AS_QUICK, unit="ms", peer=peer, theirs=theirs, ratio=ours / theirs
        )
        for peer, theirs in zip([*ways][1:], others, strict=True)
    ]
    return 0 if all(met) else 1


if __name__ == "__main__":
    raise SystemExit(main())
