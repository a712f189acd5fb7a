"""Run every bench in a process of its own, then print one table of what they found.

It fails for a bench that breaks, and for a ratio to something measured in the same run that is beyond its limit. An
absolute figure beyond its limit is said, and fails nothing: it depends on the machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BENCHES = sorted(path.stem for path in (ROOT / "tests" / "bench").glob("*.py") if path.stem != "results")
LONGEST_SECONDS = 1800
"""A bench that takes longer is ended, and the others go on."""


def main() -> int:
    """`bench.py [NAME…]`: those, or all."""
    names = sys.argv[1:] or BENCHES
    if unknown := sorted({*names} - {*BENCHES}):
        print(f"There is no bench {', '.join(unknown)}. There are: {', '.join(BENCHES)}.", file=sys.stderr)
        return 2
    began, rows = time.monotonic(), []
    for name in names:
        print(f"\n== {name}", flush=True)
        rows += run(name)
    print_table(rows)
    beyond = [row for row in rows if not row.get("met", True)]
    failing = [row for row in beyond if row.get("failed") or row.get("ratio") is not None]
    print(
        f"\n{len(rows)} rows, {len(beyond)} beyond a limit, {len(failing)} of them ratios or broken benches; "
        f"{time.monotonic() - began:.0f} s, load average {os.getloadavg()[0]:.2f}"
    )
    return 1 if failing else 0


def run(name: str) -> list[dict[str, object]]:
    """The rows of one bench; one that breaks leaves a row that says so."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "rows.jsonl"
        environment = {**os.environ, "REELBOOK_BENCH_RESULTS": str(results), "PYTHONPATH": str(ROOT)}
        command = [sys.executable, str(ROOT / "tests" / "bench" / f"{name}.py")]
        try:
            status = subprocess.run(command, cwd=ROOT, env=environment, timeout=LONGEST_SECONDS, check=False).returncode
            reason = f"it ended with status {status}; its words are above"
        except subprocess.TimeoutExpired:
            status, reason = 1, f"it did not end within {LONGEST_SECONDS} s"
        lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    rows = [{"bench": name, **json.loads(line)} for line in lines]
    if status and all(row.get("met", True) for row in rows):
        rows.append({"bench": name, "what": reason, "met": False, "failed": True})
    return rows


def print_table(rows: list[dict[str, object]]) -> None:
    """One row for each figure: ours, the peer's, the ratio, the limit and whether it is met."""
    heads = ("bench", "what", "ours", "peer", "theirs", "ratio", "limit", "")
    cells = [heads, *map(row_of, rows)]
    widths = [max(len(cell[place]) for cell in cells) for place in range(len(heads))]
    right = {2, 4, 5, 6}
    print()
    for cell in cells:
        line = (
            text.rjust(width) if place in right else text.ljust(width)
            for place, (text, width) in enumerate(zip(cell, widths, strict=True))
        )
        print("  ".join(line).rstrip())


def row_of(row: dict[str, object]) -> tuple[str, ...]:
    """The cells of one row."""
    bench, what, peer = (str(row.get(name) or "") for name in ("bench", "what", "peer"))
    if row.get("failed"):
        return bench, what, "", peer, "", "", "", "peer failed" if peer else "FAILED"
    unit = f" {row['unit']}" if row.get("unit") else ""
    ours, theirs, ratio, limit = (_figure(row.get(name)) for name in ("ours", "theirs", "ratio", "limit"))
    bound = f"{'≥' if row.get('at_least') else '≤'} {limit}" if limit else ""
    words = "" if not limit else "met" if row.get("met") else "BEYOND"
    return bench, what, f"{ours}{unit}", peer, f"{theirs}{unit}" if theirs else "", ratio, bound, words


def _figure(value: object) -> str:
    return (
        f"{value:,.0f}"
        if isinstance(value, (int, float)) and abs(value) >= 1000
        else ""
        if value is None
        else f"{value:.3g}"
    )


if __name__ == "__main__":
    raise SystemExit(main())
