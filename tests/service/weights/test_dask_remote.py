"""What a process of a cluster refuses, without a cluster."""

from __future__ import annotations

import pytest

from reelbook_service.dask_cluster import run_there


def test_another_version_of_the_package_is_refused() -> None:
    """Its engines may make other bytes, and its messages differ."""
    with pytest.raises(RuntimeError, match=r"it has reelbook .*, the service has 0\.0"):
        run_there({"version": "0.0"}, "key")
