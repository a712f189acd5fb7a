"""What a process of a cluster refuses, without a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from reelbook_service import dask_remote
from reelbook_service.dask_remote import run_there


def test_another_version_of_the_package_is_refused() -> None:
    """Its engines may make other bytes, and its messages differ."""
    with pytest.raises(RuntimeError, match=r"it has reelbook .*, the service has 0\.0"):
        run_there({"version": "0.0"}, "key")


def test_files_that_are_too_large_to_send_fail_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They would pass through the memory of the scheduler; a failed run is refunded."""
    (tmp_path / "clip.mp4").write_bytes(b"clip")
    done = {"done": {"video": {"$made": "clip.mp4"}}}

    small = dask_remote._with_files(done, tmp_path)
    monkeypatch.setattr(dask_remote, "MAX_RESULT_MIB", 0)
    large = dask_remote._with_files(done, tmp_path)

    assert small == {"message": done, "files": {"clip.mp4": b"clip"}}
    assert (large["message"]["failed"]["error_type"], large["files"]) == ("engine_error", {})
