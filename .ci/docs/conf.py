"""Settings of the documentation: `make docs` builds it from notebooks/ into build/docs, without a network."""

from __future__ import annotations

import hashlib
import inspect
import logging
import os
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from jupyter_cache import get_cache
from sphinx import addnodes
from sphinx.application import Sphinx

import reelbook as rb
from reelbook.cli import _parser
from reelbook.models.base import Part

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"

project = html_title = "Reelbook"
author = "The Reelbook authors"
version = release = rb.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.githubpages", "sphinx_design", "sphinx_copybutton"]
exclude_patterns = ["**/.ipynb_checkpoints", "**/.reelbook"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
default_role = "code"  # Docstrings write `code` as Markdown does.
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["reelbook.css"]
html_js_files = ["reelbook.js"]
html_copy_source = html_show_copyright = html_show_sphinx = html_use_index = False
html_theme_options = {"top_of_page_buttons": []}

# Notebooks run while the pages are built, and again only after a change of the package or of the notebook.
sources = [path for path in sorted((ROOT / "src").rglob("*")) if path.is_file() and path.suffix != ".pyc"]
package_hash = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
nb_execution_mode = "cache"
nb_execution_cache_path = str(BUILD / "docs-cache" / package_hash[:16])
nb_execution_in_temp = nb_execution_raise_on_error = nb_merge_streams = True
nb_execution_timeout = 300
nb_ipywidgets_js: dict[str, Any] = {}  # A saved form reads without scripts, and none are fetched to draw it.
get_cache(nb_execution_cache_path).list_cache_records()  # Two processes that both create the database would collide.

# The pages have no kernel, so clips of tables and grids go into them as small copies.
profile = BUILD / "docs-cache" / "ipython" / "profile_default"
(profile / "startup").mkdir(parents=True, exist_ok=True)
(profile / "startup" / "embed.py").write_text('import reelbook\n\nreelbook.options.embed = "preview"\n')
(profile / "ipython_kernel_config.py").write_text("get_config().Application.log_level = 40\n")
logging.getLogger("traitlets").setLevel(logging.WARNING)
os.environ.update(IPYTHONDIR=str(profile.parent), JUPYTER_PREFER_ENV_PATH="1")
for name in ("REELBOOK_URL", "REELBOOK_API_KEY", "REELBOOK_LIBRARY", "REELBOOK_MODELS"):
    os.environ.pop(name, None)

for name in rb.__all__:
    getattr(rb, name)  # autodoc would import with TYPE_CHECKING set, and pydantic's classes do not survive that.

FIELD = re.compile(
    r"(?P<name>\w+) : (?P<type>(?:[^,\[]|\[.*?\])+)(?:, (?P<bounds>.+?))??(?:, required|, default (?P<default>.+))?"
)


def document_fields(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Turn each parameter of an input into an entry such as `num_frames: int = 121, 9 to 1441`."""
    if not (isinstance(value, type) and issubclass(value, Part) and "Parameters" in lines):
        return
    start = lines.index("Parameters")
    end = lines.index("Example") if "Example" in lines else len(lines)
    entries: list[str] = []
    for line in lines[start + 2 : end]:
        if field := FIELD.fullmatch(line):
            entries += ["", f".. py:attribute:: {field['name']}", f"   :type: {field['type']}"]
            facts = ", ".join(fact for fact in (field["default"], field["bounds"]) if fact)
            entries += [f"   :value: {facts}", ""] if facts else [""]
        else:
            entries.append(line.removeprefix(" "))
    lines[start:] = entries


def shorten_signature(app: Sphinx, what: str, name: str, value: Any, options: Any, signature: str, returns: str) -> Any:
    """An input's fields follow its name, so only what is given by position stays; classes that only we make have none."""
    if isinstance(value, type) and issubclass(value, Part):
        first = next(iter(inspect.signature(value).parameters.values()))
        return ("(…)" if first.kind is first.KEYWORD_ONLY else f"({first.name}, *, …)"), None
    return ("", None) if what in ("class", "exception") and signature else None


def name_as_typed(app: Sphinx, doctree: nodes.document) -> None:
    """Write `rb.run`, as a notebook does, and the types that one only holds without their module."""
    for node in doctree.findall(addnodes.desc_addname):
        node.children[:] = [nodes.Text("rb." if node.astext() == "reelbook." else "")]


class CommandHelp(Directive):
    """A section for each command with what `reelbook COMMAND --help` prints."""

    def run(self) -> list[nodes.Node]:
        os.environ["COLUMNS"] = "88"
        commands = next(action.choices for action in _parser()._actions if isinstance(action.choices, dict))
        sections: list[nodes.Node] = []
        for name, parser in commands.items():
            section = nodes.section("", nodes.title("", f"reelbook {name}"), ids=[f"reelbook-{name}"])
            section += nodes.literal_block("", parser.format_help(), language="text")
            sections.append(section)
        return sections


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("command-help", CommandHelp)
    app.connect("autodoc-process-docstring", document_fields)
    app.connect("autodoc-process-signature", shorten_signature)
    app.connect("doctree-read", name_as_typed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
