"""The check of real weights where the extra is installed: on tiny ones, on the CPU."""

from __future__ import annotations

import re
from pathlib import Path

from reelbook_service.weights.doctor import check_rows
from reelbook_service.weights.pipelines.engine import make_trial_clip
from tests.weights.ltx_runs import ltx_row


def test_all_is_well_on_a_cpu_but_no_clip_is_made(weights: Path) -> None:
    """Versions, folders and licence are good, and it says that a real clip would take hours."""
    found = list(check_rows([ltx_row(weights)], deep=True))

    assert [what for good, what in found if not good] == []
    assert any("a real clip would take hours here" in what for _, what in found)
    assert not any("nine frames" in what for _, what in found)


def test_the_trial_clip_is_measured(weights: Path, tmp_path: Path) -> None:
    """Loading and seconds, with the engine that serves; its memory only where there is a card."""
    words = make_trial_clip(ltx_row(weights, downscale=0.5), "cpu", tmp_path)

    assert re.fullmatch(r"nine frames at 480p in [\d.]+ s after [\d.]+ s of loading", words)
    assert [path.suffix for path in tmp_path.iterdir()] == [".mp4"]
