"""Without a `models.toml`, nothing of the real weights is loaded: neither in a notebook nor in a worker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.support import as_data_uri, png

PIPELINES = "reelbook_service.weights.pipelines"
NOTEBOOK = """
import json, sys
import reelbook as rb
with rb.connect(library="library") as client:
    client.run(rb.ImagesToVideo(images=[rb.Frame(url=sys.argv[1], frames=1)]))
from reelbook_service.worker import run_order
order = {"id": "1", "endpoint": rb.TextToVideo.endpoint_id, "seed": 7, "folder": "work", "local": {}, "may_be_unchecked": False}
order["input"] = {"prompt": "a paper boat", "num_frames": 9, "resolution": "480p", "aspect_ratio": "1:1"}
outcome = run_order(order, lambda message: None, lambda: False)
print(json.dumps({"modules": sorted(sys.modules), "outcome": outcome}))
"""


def test_a_notebook_and_a_worker_without_weights_load_none_of_their_modules(tmp_path: Path) -> None:
    """The embedded service is started and runs a model; the worker's code makes a clip of the model that can have weights."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REELBOOK_")}
    ended = subprocess.run(
        [sys.executable, "-c", NOTEBOOK, as_data_uri(png())],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        timeout=60,
    )

    assert ended.returncode == 0, ended.stderr
    seen = json.loads(ended.stdout.splitlines()[-1])
    assert "done" in seen["outcome"]
    assert {"reelbook_service.server", "reelbook_service.worker"} <= set(seen["modules"])
    assert [name for name in seen["modules"] if name.startswith(PIPELINES) or name.partition(".")[0] == "torch"] == []
