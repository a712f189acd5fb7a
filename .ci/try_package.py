"""Run the README's Python blocks in this environment, an installed one, and say how long the import took."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

MAX_IMPORT_SECONDS = 0.15
MEASURE = "import time; began = time.perf_counter(); import reelbook; print(time.perf_counter() - began)"

seconds = min(
    float(subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True).stdout)
    for _ in range(5)
)
readme = Path(sys.argv[1]).read_text(encoding="utf-8")
code = "\n".join(re.findall(r"```python\n(.*?)```", readme, re.DOTALL))
small = code.replace("num_frames=49", 'num_frames=9, resolution="480p", aspect_ratio="1:1"')
done = subprocess.run([sys.executable, "-W", "error", "-c", small], capture_output=True, text=True, check=False)
if done.returncode or done.stderr or seconds > MAX_IMPORT_SECONDS:
    sys.exit(f"Python {sys.version.split()[0]}: import took {seconds:.3f} s, status {done.returncode}\n{done.stderr}")
print(f"Python {sys.version.split()[0]}: the README's code runs, import takes {seconds * 1000:.0f} ms")
