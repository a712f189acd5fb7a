"""The JSON of a run in a gallery: its small card, its large view, and its inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...display import run_text
from ...display.formatting import STATE_SIGNS, format_credits, join_with_dots, shorten
from ...display.input_code import format_run_code
from ...display.marks_line import format_marks
from ...errors import ReelbookError
from ...media.local_file import LocalFile
from ...models.base import File
from ...models.catalog import CATALOG
from ...storage.ledger.known_services import describe_maker
from ...util.missing_values import is_missing
from ..forms.draft import get_row_values
from ..forms.run_json import (
    MAX_CAPTION_LENGTH,
    MAX_REASON_LENGTH,
    STATUS_WORDS,
    PressedRun,
    details_json,
    entry_json,
    file_json,
)
from ..forms.schema import get_sheet, get_title
from ..forms.words import get_labels

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ...models.base import Input

CardJSON = dict[str, Any]
FactsJSON = CardJSON

MAX_SEARCH_LENGTH, MAX_ERROR_LENGTH = 400, 160
MAX_INPUT_LENGTH, MAX_INPUTS = 48, 6
IN_CAPTION = {"prompt", "seed", "num_frames", "frame_rate", "fps", "aspect_ratio", "resolution", "duration"}
"""Fields that the caption of a result covers."""
CARD_KEYS = ("key", "status", "mark", "lead", "facts", "whole")
SIZE_KEYS = ("kind", "width", "height", "frames", "rate", "bytes", "name")
STATUS_NAMES: Mapping[str, str] = {**STATUS_WORDS, "rejected": "failed", "expired": "failed", "planned": "planned", "waiting": "waiting", "running": "running"}  # fmt: skip
"""The states of a library's runs as a form names them."""


def short_model_name(model: str) -> str:
    """The short name of a model: the title of its form, if it is in the catalog.

    >>> short_model_name("svc/video-gen/v2.1/master/image-to-video"), short_model_name("lab/song-maker")
    ('Image to video', 'song-maker')
    """
    known = next((row.input for row in CATALOG if row.id == model), None)
    if known is not None:
        return get_title(known)
    return shorten(model.rstrip("/").rpartition("/")[2] or model, 60)


class StudioRun:
    """A run started in the studio."""

    def __init__(self, entry: PressedRun, form: int = 0) -> None:
        """`form` is the number of its form, because each form counts its own runs."""
        self.entry, self.key, self.model = entry, f"r{form}-{entry.key}", entry.value.endpoint_id

    @property
    def files(self) -> tuple[LocalFile, ...]:
        """Its files."""
        return self.entry.files

    @property
    def request_id(self) -> str:
        """The id that the service has given it; empty before that."""
        return self.entry.run.request_id if self.entry.run is not None else ""

    @property
    def seed(self) -> Any:
        """The seed that the service has used; None if there is none."""
        return getattr(getattr(self.entry.run, "output", None), "seed", None)

    @property
    def value(self) -> Input:
        """Its inputs."""
        return self.entry.value

    def large(self) -> CardJSON:
        """The large view of the run."""
        return {**entry_json(self.entry), "key": self.key}

    def card(self) -> CardJSON:
        """The small card of the run."""
        return _card_json(
            self.large(), self.model, str(getattr(self.entry.value, "prompt", "") or ""), self._input_texts
        )

    @cached_property
    def _input_texts(self) -> list[str]:
        return _format_inputs(type(self.entry.value), self.entry.value.changed())

    def details(self) -> FactsJSON:
        """Its inputs and outputs, and the code that runs it again."""
        return details_json(self.entry)


class LibraryRun:
    """A run of the library, from its row in a table of runs."""

    def __init__(self, key: str, row: Mapping[str, Any], files: Sequence[Path], kind: type[Input] | None) -> None:
        self.key, self.model = key, str(row.get("model"))
        self.files = tuple(LocalFile(path, File(url="")) for path in files)
        self._row = {name: value for name, value in row.items() if not is_missing(value)}
        self._kind = kind
        self.request_id = str(self._row.get("request_id") or "")

    @property
    def seed(self) -> Any:
        """The seed that the service has used; None if there is none."""
        return _parse_int(self._row.get("output_seed"))

    @property
    def made_by(self) -> str:
        """Who made it, for readers."""
        service = str(self._row.get("service") or "")
        return describe_maker(service, self.files[0].path.parent.parent if self.files else None) if service else ""

    @property
    def value(self) -> Input:
        """Its inputs; an error if the model is not known yet."""
        if self._kind is None:
            raise ReelbookError(f"Open the model {self.model} first: its fields are not known here yet.")
        found = get_row_values(self._row, self._kind)
        return found if isinstance(found, self._kind) else self._kind(**dict(found))

    def large(self) -> CardJSON:
        """The large view of the run."""
        row, files = self._row, self.files
        status = str(row.get("status"))
        prompt = " ".join(str(row.get("prompt") or "").split())
        seed = row.get("output_seed", row.get("seed"))
        measured = (
            run_text.format_media_facts(files[0]) if len(files) == 1 else [f"{len(files)} files"] if files else []
        )
        paid = format_credits(_parse_int(row.get("credits")), str(row.get("credits_source")), status)
        seed_text = "" if seed is None else f"seed {shorten(seed, 40)}"
        facts = [fact for fact in (seed_text, *measured, paid, self.made_by) if fact]
        created = row.get("created")
        error = str(row.get("error") or "")
        return {
            "key": self.key,
            "status": STATUS_NAMES.get(status, status),
            "mark": STATE_SIGNS.get(status, STATE_SIGNS["running"]),
            "lead": shorten(prompt, run_text.MAX_PROMPT_LENGTH),
            "line": f"{created:%Y-%m-%d %H:%M} UTC" if hasattr(created, "strftime") else "",
            "facts": facts,
            "seed": seed_text,
            "paid": paid,
            "whole": join_with_dots(shorten(prompt, MAX_CAPTION_LENGTH), *facts),
            "files": [file_json(file) for file in files[:40]],
            "can": ["use", "code", "facts"],
            **({"error": shorten(error, MAX_REASON_LENGTH)} if error else {}),
            **({} if files or status != "completed" else {"said": "Its files are not on this machine any more."}),
        }

    def card(self) -> CardJSON:
        """The small card of the run."""
        return _card_json(self.large(), self.model, str(self._row.get("prompt") or ""), self._input_texts)

    @cached_property
    def _input_texts(self) -> list[str]:
        fields = {} if self._kind is None else self._kind.model_fields
        values = {name: self._row[name] for name in fields if name in self._row}
        return _format_inputs(
            self._kind, {name: value for name, value in values.items() if value != fields[name].default}
        )

    def details(self) -> FactsJSON:
        """Its inputs and outputs; if the model is not known here, as the library stores them."""
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
        outputs = [(name, run_text.format_value(row[name])) for name in names if name in row and name != "marks"]
        outputs += [("marks", format_marks(self.files))] if self.files else []
        outputs += [("made by", self.made_by)]
        try:
            value = self.value
        except ReelbookError as error:
            inputs = {name: one for name, one in row.items() if name not in names and not name.startswith("output_")}
            return {
                "asked": [(shorten(name, 60), run_text.format_value(one)) for name, one in inputs.items()][
                    : run_text.MAX_FACTS
                ],
                "answered": outputs,
                "code": f"# {shorten(error, MAX_REASON_LENGTH)}",
            }
        return {
            "asked": run_text.format_input_facts(value),
            "answered": outputs,
            "code": format_run_code(value, seed=self.seed),
        }


def _format_inputs(kind: type[Input] | None, values: Mapping[str, Any]) -> list[str]:
    """The inputs that a caption does not cover, as text; cards may differ by them."""
    labels = {} if kind is None else get_labels(get_sheet(kind))
    inputs = {name: one for name, one in values.items() if name not in IN_CAPTION and not isinstance(one, list | tuple)}
    return [
        shorten(f"{labels.get(name, name)}: {run_text.format_value(value)}", MAX_INPUT_LENGTH)
        for name, value in inputs.items()
    ][:MAX_INPUTS]


def _card_json(large: CardJSON, model: str, prompt: str, inputs: Sequence[str]) -> CardJSON:
    files = large.get("files", [])
    card = {name: large[name] for name in CARD_KEYS if name in large}
    card |= {
        "model": model,
        "name": short_model_name(model),
        "paid": large.get("paid", ""),
        "count": len(files),
    }
    if inputs:
        card["asked"] = list(inputs)
    searchable = [prompt[:MAX_SEARCH_LENGTH], model, large.get("seed", ""), large.get("error", ""), large["status"]]
    card["text"] = " ".join(searchable).lower()
    if large.get("error"):
        card["error"] = shorten(large["error"], MAX_ERROR_LENGTH)
    if large.get("fraction"):
        card["percent"] = f"{large['fraction']:.0%}"
    if files:
        card["file"] = {name: files[0][name] for name in SIZE_KEYS if name in files[0]}
        if "words" in files[0]:
            card["error"] = shorten(files[0]["words"], MAX_ERROR_LENGTH)
    return card


def _parse_int(value: Any) -> int | None:
    try:
        return None if is_missing(value) else int(value)
    except (TypeError, ValueError):
        return None
