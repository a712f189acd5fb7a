"""Runs and their files as text: status lines, captions, and rows of facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..errors import ReelbookError
from ..media.metadata.run_record import parse_record_input
from ..models.base import File, Input, Output, Part
from ..models.images import Image
from ..models.images_to_video import Frame
from ..models.smart_resize import Size
from ..storage.ledger.writer import describe_maker
from ..storage.run_status import WITHOUT_RESULT
from .formatting import STATE_SIGNS, format_credits, format_duration, format_size, join_with_dots, shorten
from .input_code import format_run_code

if TYPE_CHECKING:
    from pathlib import Path

    from ..media.local_file import LocalFile
    from ..runs.run import Run

FactRows = list[tuple[str, str]]
"""Rows of a fact table: name and value."""

MAX_PROMPT_LENGTH, MAX_VALUE_LENGTH, MAX_FACTS = 60, 300, 40
FROM_LIBRARY = f"{STATE_SIGNS['from library']} from library"
PAID_BEFORE = "paid when it was made; nothing now"
MAX_MARKED_FILES = 40
SIGNATURES = {
    "Trusted": "the signature is valid, by an issuer that is trusted here",
    "Valid": "the signature is valid; who the signer is was not verified",
    "Invalid": "the signature is NOT valid: the file was changed, or the certificate cannot be used for this",
}


@dataclass(frozen=True, slots=True)
class RunText:
    """How a run or a file was made, as text."""

    prompt: str = ""
    """On one line."""
    seed: str = ""
    credits: str = ""
    made_by: str = ""
    """The address of the service, or "embedded sketch, free"."""
    inputs: Sequence[tuple[str, str]] = ()
    outputs: Sequence[tuple[str, str]] = ()
    code: str = ""
    """The call that runs it again."""
    attach_code: str = ""
    """The call that fetches it again."""


def describe_run(run: Run) -> RunText:
    """How a finished run was made."""
    paid = format_credits(run.credits, run.credits_source, run.status)
    return _describe(
        run.input if isinstance(run.input, Input) else None,
        getattr(run.output, "seed", None),
        prompt=get_prompt(run.input),
        credits=join_with_dots(paid, FROM_LIBRARY if run.from_library else ""),
        made_by=run.made_by,
        outputs=(*format_output_facts(run.output, beside=run.input), *_run_facts(run)),
        attach_code=format_attach_code(run.request_id, run.endpoint_id),
    )


def describe_file(file: LocalFile) -> RunText:
    """How a file was made, from the facts of its run; empty where none are known."""
    facts = file.facts
    if not facts:
        return RunText()
    inputs, model, request_id = facts.get("input"), facts.get("model"), facts.get("request_id")
    values = inputs if isinstance(inputs, Mapping) else {}
    paid, service = format_credits(facts.get("credits"), facts.get("credits_source")), facts.get("service")
    made_by = describe_maker(str(service), file.path.parent.parent) if service else ""
    known = [
        ("seed", facts.get("seed")), ("model", model), ("request", request_id),
        ("credits", _format_charge(paid, facts.get("credits_source"), made_by)), ("made by", made_by),
        ("marks", format_marks([file])),
    ]  # fmt: skip
    text = _describe(
        parse_record_input(str(model), values),
        facts.get("seed"),
        prompt=" ".join(str(values.get("prompt") or "").split()),
        credits=paid,
        made_by=made_by,
        outputs=tuple((name, shorten(value, MAX_VALUE_LENGTH)) for name, value in known if value not in (None, "")),
        attach_code=format_attach_code(str(request_id or ""), str(model or "")),
    )
    return text if text.inputs else replace(text, inputs=_limit((str(k), format_value(v)) for k, v in values.items()))


def _describe(request: Input | None, seed: Any, **texts: Any) -> RunText:
    """The texts with those of the input, whose code has the seed that was used."""
    return RunText(
        seed="" if seed is None else f"seed {shorten(seed, 40)}",
        inputs=format_input_facts(request) if request else (),
        code=format_run_code(request, seed=seed if isinstance(seed, int) else None) if request else "",
        **texts,
    )


def get_prompt(request: Any) -> str:
    """The prompt of an input on one line; empty where its model takes none."""
    return " ".join(str(getattr(request, "prompt", "") or "").split())


def format_media_facts(file: LocalFile) -> list[str]:
    """Size, frames, seconds and bytes of a file; nothing where it cannot be read."""
    try:
        return [*str(file.probe).split(" · "), format_size(file.path.stat().st_size)]
    except (ReelbookError, OSError):
        return []  # The figure reports the error.


def format_file(file: LocalFile, path: str = "") -> str:
    """A file on one line, with its path."""
    text = describe_file(file)
    facts = format_media_facts(file)
    prompt = shorten(text.prompt, MAX_PROMPT_LENGTH)
    return join_with_dots(prompt, text.seed, *facts, text.credits, text.made_by, path or str(file.path))


def format_file_briefly(file: LocalFile) -> str:
    """A file on one line, with a shortened path."""
    return format_file(file, _format_short_path(file.path))


def format_run(run: Run) -> str:
    """A finished run on one line: status, prompt, seed, credits, and its first file."""
    text, paid = describe_run(run), format_credits(run.credits, run.credits_source, run.status)
    files = [fact for file in run.media[:1] for fact in (*format_media_facts(file), _format_short_path(file.path))]
    prompt = shorten(text.prompt, MAX_PROMPT_LENGTH)
    return join_with_dots(format_status(run), prompt, text.seed, paid, text.made_by, *files)


def _format_short_path(path: Path) -> str:
    """Folder and name of a file; of a name that is a hash, the first letters."""
    name = path.name if len(path.name) <= 24 else f"{path.stem[:8]}…{path.suffix[:8]}"
    return f"{shorten(path.parent.name, 24)}/{name}"


def format_status(run: Run) -> str:
    """The status of a run on one line, with its stage and progress."""
    fraction, stage = run.progress
    if run.status in WITHOUT_RESULT:
        return f"{STATE_SIGNS[run.status]} {run.status}: {run.failure}"
    if run.status == "completed":
        how = FROM_LIBRARY if run.from_library else f"{STATE_SIGNS['completed']} completed"
        return join_with_dots(how, format_duration(run.timings["total"]))
    total = run.timings["total"]
    seconds = f"{total:.0f} s" if total < 60 else format_duration(total)
    # Without a reported progress there is no percentage, rather than 0 %.
    percent = f"{fraction:.0%}" if fraction and run.status != "IN_QUEUE" else ""
    sign = STATE_SIGNS["IN_QUEUE" if run.status == "IN_QUEUE" else "IN_PROGRESS"]
    return join_with_dots(f"{sign} {shorten(stage, 80)}", percent, seconds)


def format_attach_code(request_id: str, model: str) -> str:
    """The call that attaches to a run; empty without a request id."""
    return f"rb.attach({request_id!r}, model={model!r})" if request_id else ""


def format_input_facts(request: Part) -> FactRows:
    """The fields of an input that differ from their defaults, then how many do not."""
    changed = request.changed()
    facts = _limit((name, format_value(value)) for name, value in changed.items())
    rest = len(type(request).model_fields) - len(changed)
    if rest:
        facts.append(("other fields", f"{rest} with default values" if rest > 1 else "1 with its default value"))
    return facts


def format_output_facts(output: Output, *, beside: Any = None) -> FactRows:
    """The fields of an output beside its files, without those that repeat the input `beside`."""
    pairs = [(name, value) for name, value in output if value not in (None, "", (), [], {}) and not _holds_files(value)]
    return _limit(
        (name, format_value(value)) for name, value in pairs if value != getattr(beside, name, None) or name == "seed"
    )


def format_value(value: Any) -> str:
    """A value of an input or output on one line.

    >>> format_value([Size(1080, 1920), Size(1500, 500)]), format_value((Frame(url="https://example.org/a.png", frames=12),))
    ('1080x1920, 1500x500', 'https://example.org/a.png for 12 frames')
    """
    if isinstance(value, Image):
        value = value.label
    elif isinstance(value, Frame):
        value = f"{format_value(value.url)} for {value.frames:,} {'frame' if value.frames == 1 else 'frames'}"
    elif isinstance(value, tuple | list) and value and all(isinstance(one, str | Part | Size | Image) for one in value):
        # A list can be long; no more of it is formatted than can be displayed.
        value = ", ".join(map(format_value, value[:MAX_VALUE_LENGTH]))
    # Cut first, because a value may be a picture as text.
    return shorten(str(value)[: 4 * MAX_VALUE_LENGTH], MAX_VALUE_LENGTH)


def format_marks(files: Iterable[LocalFile]) -> str:
    """Signer, source type and validity of the files of a run, each distinct statement once."""
    here = (file for file in islice(files, MAX_MARKED_FILES) if file.path.exists())
    return shorten("; ".join(dict.fromkeys(map(_format_marks_of, here))), MAX_VALUE_LENGTH)


def _format_marks_of(file: LocalFile) -> str:
    marks = file.marks
    source = f"ai-marked ({marks.source_type})" if marks.is_ai_marked else marks.source_type
    if not marks.is_signed:
        return f"unsigned, {source}" if source else "unsigned"
    by = f"signed by {marks.signer}, as stated" if marks.signer else "signed (C2PA)"
    return ", ".join(filter(None, (by, source, SIGNATURES.get(marks.state, ""))))


def _run_facts(run: Run) -> FactRows:
    timings = run.timings
    times = join_with_dots(
        *(f"{name} {format_duration(timings[name])}" for name in ("queued", "running", "total") if name in timings)
    )
    paid = join_with_dots(
        _format_charge(format_credits(run.credits, run.credits_source, run.status), run.credits_source, run.made_by),
        PAID_BEFORE if run.from_library else "",
    )
    known = [("credits", paid), ("made by", run.made_by), ("time", times), ("marks", format_marks(run.media))]
    known += [("model", run.endpoint_id), ("request", run.request_id)]
    return [(name, shorten(value, MAX_VALUE_LENGTH)) for name, value in known if value]


def _format_charge(paid: str, source: Any, made_by: str) -> str:
    """Credits, and the source of the figure."""
    if made_by.endswith(", free"):
        return join_with_dots(paid, "counted on this machine, nothing to pay") if paid else ""
    words = {"charged": "charged by the service", "estimated": "estimated; the service reports no charge"}
    return join_with_dots(paid, words.get(str(source), "")) if paid else ""


def _limit(facts: Iterable[tuple[str, str]]) -> FactRows:
    """The first `MAX_FACTS` facts, and how many more there are: an output may have thousands of fields."""
    found = [(shorten(name, 60), value) for name, value in facts]
    more = len(found) - MAX_FACTS
    return [*found[:MAX_FACTS], ("…", f"and {more:,} more")] if more > 0 else found


def _holds_files(value: Any) -> bool:
    if isinstance(value, File) or (isinstance(value, Mapping) and isinstance(value.get("url"), str)):
        return True
    if isinstance(value, Output):
        return any(_holds_files(inner) for _, inner in value)
    return isinstance(value, list | tuple) and any(map(_holds_files, value))
