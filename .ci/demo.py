"""Run the first notebook as a newcomer would, print its table, and write it as one page that needs nothing else, beside the notebook."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from nbformat import NotebookNode
from pygments.formatters import HtmlFormatter

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOK = ROOT / "notebooks" / "01-first-video.ipynb"

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>
:root {{ color-scheme: light dark; --ink: light-dark(#1d2226, #e3e6e8); --soft: light-dark(#57606a, #9aa4ad);
  --line: light-dark(#dde1e5, #363d43); --paper: light-dark(#fff, #15181b); --raised: light-dark(#f5f6f8, #1e2327) }}
body {{ margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.6 system-ui, sans-serif }}
main {{ max-width: 820px; margin: 0 auto; padding: 24px 20px 64px }}
h1 {{ font-size: 28px; line-height: 1.25 }} h2 {{ font-size: 19px; margin-top: 36px }}
pre, code {{ font: 13px/1.55 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere }} .anchor-link, .prompt, .jp-InputPrompt, .jp-OutputPrompt {{ display: none }}
.highlight {{ background: var(--raised); border-radius: 6px; padding: 10px 14px; margin: 12px 0 8px; overflow-x: auto }} .highlight pre {{ margin: 0 }}
.output_area, .jp-OutputArea-output, div.output {{ overflow-x: auto; margin: 4px 0 12px }}
table {{ border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums }}
table, th, td {{ border: 0 }} th, td {{ border-bottom: 1px solid var(--line); padding: 4px 20px 4px 0; vertical-align: top; white-space: nowrap }}
thead th, .dataframe tbody th {{ color: var(--soft); font-weight: 500 }} .dataframe td, .dataframe th {{ text-align: right }}
figure {{ margin: 8px 0 }} video, img {{ max-width: 100% }}
{light}
@media (prefers-color-scheme: dark) {{ {dark} }}
</style></head><body><main>{body}</main></body></html>
"""


def main(target: Path, source: Path = NOTEBOOK) -> None:
    began = time.perf_counter()
    library = target.parent / "demo-library"
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(library, ignore_errors=True)  # A first run is what it shows, each time.
    print(f"Running {os.path.relpath(source, ROOT)} on the embedded service …", flush=True)
    notebook = executed(nbformat.read(source, as_version=4), library)
    print(f"\n{table_of(notebook)}\n")
    target.write_text(page(notebook), encoding="utf-8")
    nbformat.write(notebook, target.with_suffix(".ipynb"))
    took, size = time.perf_counter() - began, target.stat().st_size
    print(f"Wrote {target} ({size / 1e6:.1f} MB, complete in itself) after {took:.0f} s. Open it in a browser.")


def executed(notebook: NotebookNode, library: Path) -> NotebookNode:
    """The notebook with its outputs, made in a kernel of this very environment."""
    os.environ["REELBOOK_LIBRARY"] = str(library)
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    for name in ("REELBOOK_URL", "REELBOOK_API_KEY"):
        os.environ.pop(name, None)  # The demo never spends real credits.
    asyncio.set_event_loop(asyncio.new_event_loop())
    place = {"metadata": {"path": str(ROOT)}}
    quiet = ["--log-level=40"]  # A kernel on this very machine need not warn about its own sockets.
    NotebookClient(notebook, timeout=180, kernel_name="python3", resources=place, extra_arguments=quiet).execute()
    return notebook


def table_of(notebook: NotebookNode) -> str:
    """The last table that the notebook shows, as text."""
    for cell in reversed(notebook.cells):
        for output in cell.get("outputs", []):
            if "dataframe" in output.get("data", {}).get("text/html", ""):
                return str(output["data"]["text/plain"])
    raise SystemExit("The notebook shows no table.")


def page(notebook: NotebookNode) -> str:
    """The notebook as HTML without any script or link to elsewhere."""
    body, _ = HTMLExporter(template_name="basic").from_notebook_node(notebook)
    title = re.sub(r"^#+ *", "", notebook.cells[0].source.splitlines()[0])
    light, dark = (HtmlFormatter(style=style).get_style_defs(".highlight") for style in ("default", "github-dark"))
    # Pygments brings backgrounds along; ours follow the theme.
    plain = [re.sub(r"background(-color)?: [^;}]+;?", "", rules) for rules in (light, dark)]
    return PAGE.format(title=title, body=body, light=plain[0], dark=plain[1])


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
