"""What a gallery shows of a run: a small card, the same run large, and what was asked and answered."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...display import run_text
from ...display.formatting import MARKS, cut, format_credits, joined
from ...display.input_code import run_code
from ...display.marks_line import marks_line
from ...errors import ReelbookError
from ...media.local_file import LocalFile
from ...models.catalog import CATALOG
from ...models.service_file import File
from ..forms.fields.field_tree import sheet_of, title_of
from ..forms.fields.row_values import values_of
from ..forms.page_messages import labels_in
from ..forms.running.run_history import LONGEST_REASON, LONGEST_WHOLE, WORDS, Entry, details, file_shown, shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ...models.base import Input

Shown = dict[str, Any]
Facts = Shown

LONGEST_LOOKED_FOR, LONGEST_ERROR = 400, 160
LONGEST_ASKED, MAX_ASKED = 48, 6
IN_CAPTION = {"prompt", "seed", "num_frames", "frame_rate", "fps", "aspect_ratio", "resolution", "duration"}
"""Fields of which the caption of a result says enough."""
OF_CARD = ("key", "status", "mark", "lead", "facts", "whole")
SIZE = ("kind", "width", "height", "frames", "rate", "bytes", "name")
STATES: Mapping[str, str] = {**WORDS, "rejected": "failed", "expired": "failed", "planned": "planned", "waiting": "waiting", "running": "running"}  # fmt: skip
"""The words of a library for how a run stands, as a form says them."""


def name_of(model: str) -> str:
    """A model in short: as its form is called, where it is one of ours.

    >>> name_of("svc/video-gen/v2.1/master/image-to-video"), name_of("lab/song-maker")
    ('Image to video', 'song-maker')
    """
    known = next((row.input for row in CATALOG if row.id == model), None)
    if known is not None:
        return title_of(known)
    return cut(model.rstrip("/").rpartition("/")[2] or model, 60)


class Bought:
    """A run that was started in the studio."""

    def __init__(self, entry: Entry) -> None:
        self.entry, self.key, self.model = entry, entry.key, entry.value.endpoint_id

    @property
    def files(self) -> tuple[LocalFile, ...]:
        """What it made."""
        return self.entry.files

    @property
    def request_id(self) -> str:
        """What the service calls it; empty where it has none yet."""
        return self.entry.run.request_id if self.entry.run is not None else ""

    @property
    def value(self) -> Input:
        """Its inputs."""
        return self.entry.value

    def large(self) -> Shown:
        """The run as it is shown large. Its log stays with the form."""
        said = shown(self.entry)
        return {**said, "can": [one for one in said["can"] if one != "log"]}

    def card(self) -> Shown:
        """The run as it is shown small."""
        return _small(self.large(), self.model, str(getattr(self.entry.value, "prompt", "") or ""), self._asked)

    @cached_property
    def _asked(self) -> list[str]:
        return _asked(type(self.entry.value), self.entry.value.changed())

    def details(self) -> Facts:
        """What was asked and answered, and the code that asks for it again."""
        return details(self.entry)


class Kept:
    """A run that the library has, by its row in a table of runs."""

    def __init__(self, key: str, row: Mapping[str, Any], files: Sequence[Path], kind: type[Input] | None) -> None:
        self.key, self.model = key, str(row.get("model"))
        self.files = tuple(LocalFile(path, File(url="")) for path in files)
        self._row = {name: value for name, value in row.items() if not _is_empty(value)}
        self._kind = kind
        self.request_id = str(self._row.get("request_id") or "")

    @property
    def value(self) -> Input:
        """Its inputs; an error says why they cannot be had."""
        if self._kind is None:
            raise ReelbookError(f"Open the model {self.model} first: its fields are not known here yet.")
        found = values_of(self._row, self._kind)
        return found if isinstance(found, self._kind) else self._kind(**dict(found))

    def large(self) -> Shown:
        """The run as it is shown large."""
        row, files = self._row, self.files
        status = str(row.get("status"))
        prompt = " ".join(str(row.get("prompt") or "").split())
        seed = row.get("output_seed", row.get("seed"))
        measured = run_text.measures(files[0]) if len(files) == 1 else [f"{len(files)} files"] if files else []
        paid = format_credits(_whole(row.get("credits")), str(row.get("credits_source")))
        facts = [fact for fact in ("" if seed is None else f"seed {cut(seed, 40)}", *measured, paid) if fact]
        made = row.get("created")
        error = str(row.get("error") or "")
        return {
            "key": self.key,
            "status": STATES.get(status, status),
            "mark": MARKS.get(status, MARKS["running"]),
            "lead": cut(prompt, run_text.LONGEST_LEAD),
            "line": f"{made:%Y-%m-%d %H:%M} UTC" if hasattr(made, "strftime") else "",
            "facts": facts,
            "whole": joined(cut(prompt, LONGEST_WHOLE), *facts),
            "files": [file_shown(file) for file in files[:40]],
            "can": ["use", "code", "facts"],
            **({"error": cut(error, LONGEST_REASON)} if error else {}),
            **({} if files or status != "completed" else {"said": "Its files are not on this machine any more."}),
        }

    def card(self) -> Shown:
        """The run as it is shown small."""
        return _small(self.large(), self.model, str(self._row.get("prompt") or ""), self._asked)

    @cached_property
    def _asked(self) -> list[str]:
        fields = {} if self._kind is None else self._kind.model_fields
        values = {name: self._row[name] for name in fields if name in self._row}
        return _asked(self._kind, {name: value for name, value in values.items() if value != fields[name].default})

    def details(self) -> Facts:
        """What was asked and answered; of a model that is not known here, as the library has it."""
        row = self._row
        names = (
            "credits",
            "credits_source",
            "marks",
            "queued_s",
            "running_s",
            "request_id",
            "model",
            "error_type",
            "error",
        )
        answered = [(name, run_text.text_of(row[name])) for name in names if name in row and name != "marks"]
        answered += [("marks", marks_line(self.files))] if self.files else []
        try:
            value = self.value
        except ReelbookError as error:
            asked = {name: one for name, one in row.items() if name not in names and not name.startswith("output_")}
            return {
                "asked": [(cut(name, 60), run_text.text_of(one)) for name, one in asked.items()][: run_text.MAX_FACTS],
                "answered": answered,
                "code": f"# {cut(error, LONGEST_REASON)}",
            }
        seed = _whole(row.get("output_seed"))
        return {"asked": run_text.input_facts(value), "answered": answered, "code": run_code(value, seed=seed)}


def _asked(kind: type[Input] | None, values: Mapping[str, Any]) -> list[str]:
    """What was asked besides what a caption says anyway, by which cards may differ."""
    labels = {} if kind is None else labels_in(sheet_of(kind))
    asked = {name: one for name, one in values.items() if name not in IN_CAPTION and not isinstance(one, list | tuple)}
    return [
        cut(f"{labels.get(name, name)}: {run_text.text_of(value)}", LONGEST_ASKED) for name, value in asked.items()
    ][:MAX_ASKED]


def _small(large: Shown, model: str, prompt: str, asked: Sequence[str]) -> Shown:
    files = large.get("files", [])
    facts = large.get("facts", [])
    paid = facts[-1] if facts and "credit" in facts[-1] else "not charged" if "not charged" in facts else ""
    card = {name: large[name] for name in OF_CARD if name in large}
    card |= {"model": model, "name": name_of(model), "paid": paid, "count": len(files)}
    if asked:
        card["asked"] = list(asked)
    seed = next((fact for fact in facts if fact.startswith("seed ")), "")
    looked_for = [prompt[:LONGEST_LOOKED_FOR], model, seed, large.get("error", ""), large["status"]]
    card["text"] = " ".join(looked_for).lower()
    if large.get("error"):
        card["error"] = cut(large["error"], LONGEST_ERROR)
    if large.get("fraction"):
        card["percent"] = f"{large['fraction']:.0%}"
    if files:
        card["file"] = {name: files[0][name] for name in SIZE if name in files[0]}
        if "words" in files[0]:
            card["error"] = cut(files[0]["words"], LONGEST_ERROR)
    return card


def _whole(value: Any) -> int | None:
    try:
        return None if _is_empty(value) else int(value)
    except (TypeError, ValueError):
        return None


def _is_empty(value: Any) -> bool:
    """Whether a cell has nothing in it; NaN, NaT and NA are the only values that do not equal themselves."""
    if value is None:
        return True
    # A list in a cell may be an array, too.
    shape = getattr(value, "shape", None)
    if isinstance(value, (list, tuple, dict, str)) or shape:
        return False
    try:
        return bool(value != value)
    except TypeError:
        return True
