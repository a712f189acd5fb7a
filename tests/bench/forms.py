"""A form beside the same fields as ipywidgets that somebody wrote by hand: 17 of text-to-video, made in real kernels.

    PYTHONPATH=. .venv/bin/python tests/bench/forms.py [--rounds 5] [--count 20]

Each has a kernel of its own; they are measured by turns, and medians are shown. Ours is connected to the embedded service
all the time.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import tempfile
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
MADE = """
import json, time
took = []
for _ in range({count}):
    began = time.perf_counter()
    widget = make()
    took.append(time.perf_counter() - began)
    widget.close()
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


def main() -> int:
    options = argparse.ArgumentParser(description="Compare a form with other widgets for the same fields.")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--count", type=int, default=20)
    asked = options.parse_args()
    took: dict[str, list[float]] = {OURS: [], BY_HAND: []}
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kernels = {}
        for number, code in enumerate(took):
            place = {"PYTHONPATH": str(ROOT), "REELBOOK_LIBRARY": str(folder / "library"), "REELBOOK_URL": ""}
            kernels[code] = stack.enter_context(Kernel(folder / str(number), **place))
            kernels[code].run(code)
            kernels[code].run(MADE.format(count=1))  # Warm: what is imported once is nobody's.
        for _ in range(asked.rounds):
            for code, kernel in kernels.items():
                took[code] += json.loads(kernel.run(MADE.format(count=asked.count)).out)
    ours, theirs = (1000 * statistics.median(times) for times in took.values())
    what, peer = "time to make a form of 17 fields", "ipywidgets by hand"
    return 0 if record(what, ours, AS_QUICK, unit="ms", peer=peer, theirs=theirs, ratio=ours / theirs) else 1


if __name__ == "__main__":
    raise SystemExit(main())
