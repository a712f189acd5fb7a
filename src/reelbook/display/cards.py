"""Cards of single values: a heading, a table of facts or of rows, and small print, by one function for each type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..errors import NotFound, ReelbookError
from ..models.catalog import estimate, find_endpoint
from ..settings import options
from ..storage.ledger.writer import describe_maker
from ..util.data_address import is_data_address
from ..util.printable import format_count
from . import run_text
from .embedding import strip_jpeg
from .figure import render_media
from .formatting import format_credits, format_folder, format_size, join_with_dots, shorten
from .input_code import MAX_CODE_LENGTH, format_input_code
from .theme import blocks, render, render_card

if TYPE_CHECKING:
    import pandas as pd

    from ..client import Client
    from ..media.metadata.provenance import Provenance
    from ..models.base import File, Input, Output
    from ..models.catalog import Estimate, Line
    from ..storage.library import Library, Uncertain

MAX_MODELS, MAX_FILES, MAX_VALUES = 200, 12, 24
"""Rows of a card. No known model has as many inputs as the last, and an untrusted file may name thousands."""
MAX_VALUE_LENGTH, MAX_LABEL_LENGTH, MAX_ADDRESS_LENGTH = 300, 200, 600

CODE = Markup("<code>{}</code>")


# Metrics, models and prices.


def models_table(models: Sequence[Mapping[str, Any]]) -> str:
    """A row for each model that a service lists; what it does not report is left out."""
    if not models:
        return render_card(blocks.heading("No models"), blocks.small("The service lists none for this key."))
    rows, more = [_model_row(model) for model in models[:MAX_MODELS]], len(models) - MAX_MODELS
    return render_card(
        blocks.heading(format_count(len(models), "model")),
        blocks.rows(rows, head=("model", "from"), numbers=[1]),
        *([blocks.small(f"and {more:,} more")] if more > 0 else []),
        blocks.small('rb.model("…") gives the input of any of them.'),
    )


def _model_row(model: Mapping[str, Any]) -> tuple[Markup, str]:
    """Id, kind and purpose of a model, and the lowest price of its runs; what the service leaves out is the catalog's."""
    known = find_endpoint(model.get("id"))
    kind = model.get("category") or (known.category if known else "")
    purpose = model.get("purpose") or (known.purpose if known else "")
    words = Markup("<bdi>{}</bdi>").format(join_with_dots(shorten(kind, 60), shorten(purpose, 200)))
    price = next((model[name] for name in ("minimum_credits", "base_credits") if type(model.get(name)) is int), None)
    return blocks.two_lines(CODE.format(shorten(model.get("id") or "unnamed", 160)), words), format_credits(price)


ORIGINS = {"exact": "exact, quoted by the service"}


def estimate_table(estimate: Estimate) -> str:
    """The lines of an estimate and the price, with its source in small print."""
    total = format_credits(estimate.credits) or "unknown"
    lines = [(shorten(line.label, MAX_LABEL_LENGTH), format_amount(line)) for line in estimate.breakdown]
    table = blocks.prices(lines, total)
    origin = ORIGINS.get(estimate.source, "≈ estimated from the catalog")
    if estimate.is_suspect:
        origin = f"{origin}; limits of a sweep count {format_credits(estimate.counted)}, the price in the catalog"
    return render_card(table, blocks.small(origin))


def format_amount(line: Line) -> str:
    """The credits of a line, or the factor by which it multiplies those above."""
    return f"{line.credits:,f}" if line.credits is not None else f"× {line.factor:f}"


# A client: service, account, credits and library, never the key.


def client_card(client: Client) -> str:
    """The card of a client; if the service does not respond, it reports that with the other facts."""
    return render_card(blocks.facts((name, shorten(value, MAX_VALUE_LENGTH)) for name, value in _client_facts(client)))


def _client_facts(client: Client) -> list[tuple[str, str]]:
    kind = "embedded, on this machine: no key, no cost" if client.is_embedded else "hosted: runs are paid for"
    service, library = ("service", f"{client.base_url} ({kind})"), ("library", str(client.library))
    try:
        account = client.account()
        features = ", ".join(sorted(client.features())) or "what the specification shows"
    except NotFound:
        return [service, ("credits", "this service does not say"), ("offers", "what the specification shows"), library]
    except ReelbookError as error:
        return [service, library, ("answers", f"no: {error}")]
    name = str(account.get("name", "unknown"))
    return [service, ("account", name), ("credits", _format_account(account)), ("offers", features), library]


def _format_account(account: Mapping[str, Any]) -> str:
    """Credits available, reserved and spent, as far as the service reports them."""
    names = {"credits_available": "left", "credits_reserved": "reserved for runs in progress", "credits_spent": "spent"}
    parts = [f"{account[name]:,} {word}" for name, word in names.items() if isinstance(account.get(name), (int, float))]
    return ", ".join(parts) or "unknown"


# An input.


def input_card(request: Input) -> str:
    """The fields that differ from their defaults, the price, and the rest folded; rendered without any request."""
    heading = join_with_dots(type(request)._spelling(), shorten(request.endpoint_id, 120))
    price = _format_catalog_price(request)
    return render_card(blocks.heading(heading), *render_input(request, price), width=options.max_width)


def render_input(request: Input, price: str, labels: Mapping[str, str] | None = None) -> list[Markup]:
    """The parts of a card of an input; `labels` are other names of its fields, in their order."""
    changed = request.changed()
    # By the names of the service; null values are left out.
    rest = {name: value for name, value in request.wire().items() if name not in changed}
    parts = [render_values(changed, labels)]
    if price:
        parts.append(blocks.small(price))
    if rest:
        title = f"{len(rest)} with default values" if len(rest) > 1 else "1 with its default value"
        parts.append(blocks.details(title, render_values(rest, labels)))
    code = format_input_code(request)
    return [*parts, blocks.details("Code", blocks.code(code))] if len(code) <= MAX_CODE_LENGTH else parts


def render_values(values: Mapping[str, Any], labels: Mapping[str, str] | None = None) -> Markup:
    """A table of values by the labels of their fields, in the order of the labels."""
    labels = labels or {}
    names = [*(name for name in labels if name in values), *(name for name in values if name not in labels)]
    return blocks.facts(
        (shorten(labels.get(name, name), 60), "none" if values[name] is None else run_text.format_value(values[name]))
        for name in names
    )


def _format_catalog_price(request: Input) -> str:
    """The price from the built-in catalog; `rb.estimate` asks the service."""
    try:
        guess = estimate(request)
    except ReelbookError:
        return ""
    if guess.credits is None or find_endpoint(request.endpoint_id) is None:
        return "rb.estimate(…) tells the price"
    return f"{format_credits(guess.credits, 'assumed')}, from the built-in catalog; rb.estimate(…) asks the service"


# An output, and files that are at the service.

ELSEWHERE = "At the service; nothing is loaded from there. run.media has the files of a run on this machine."


def format_output(output: Output) -> str:
    """An output on one line: its type, its first file, and how many there are."""
    media = output._local_files
    files = [run_text.format_file_briefly(file) for file in media[:1]]
    more = f"{len(media)} files" if len(media) > 1 else ""
    return shorten(join_with_dots(type(output).__name__, *files, more), 200)


def output_card(output: Output) -> str:
    """The card of an output: its files where they are on this machine, then its other fields."""
    media, facts = output._local_files, run_text.format_output_facts(output)
    if not media:
        facts += [(f"file {place}", format_file(file)) for place, file in enumerate(output.files[:MAX_FILES], 1)]
        elsewhere = [blocks.small(ELSEWHERE)] if output.files else []
        return render_card(blocks.heading(type(output).__name__), blocks.facts(facts), *elsewhere)
    known = run_text.describe_file(media[0])
    # The seed is in both.
    known = replace(known, outputs=(*facts, *(fact for fact in known.outputs if fact not in facts)))
    return render_media(media, known)


def output_strip_jpeg(output: Output) -> bytes | None:
    """The frames of the output's first file as a JPEG, where that is on this machine."""
    media = output._local_files
    return strip_jpeg(media[0]) if media else None


def format_file(file: File) -> str:
    """A file at the service on one line: its name, kind, size and address."""
    size = None if file.file_size is None else format_size(max(file.file_size, 0))
    address = "inside the answer itself" if is_data_address(file.url) else shorten(file.url, MAX_ADDRESS_LENGTH)
    return join_with_dots(*(shorten(one, 200) for one in (file.file_name, file.content_type, size) if one), address)


# The provenance of a file.


def provenance_table(provenance: Provenance) -> str:
    """A table of the model, the inputs that differ from the defaults, and the run; what is unknown is left out."""
    facts = [(shorten(name, MAX_LABEL_LENGTH), shorten(value, MAX_LABEL_LENGTH)) for name, value in _origin(provenance)]
    return render_card(blocks.facts(facts), blocks.small(_format_source(provenance)))


def format_provenance(provenance: Provenance) -> str:
    """Model, seed and request id of a file on one line."""
    seed = None if provenance.seed is None else f"seed {provenance.seed}"
    request = provenance.request_id and f"request {provenance.request_id}"
    line = join_with_dots(*(shorten(part, 60) for part in (provenance.model, seed, request) if part))
    return line or "Nothing is known of its making."


def _origin(provenance: Provenance) -> Iterator[tuple[str, Any]]:
    values = provenance.values if provenance.input is None else provenance.input.changed()
    # The seed that was used is in a later row, whether it was passed or random.
    inputs = [(name, value) for name, value in values.items() if name not in ("seed", "model", "software")]
    more = len(inputs) - MAX_VALUES
    engine = " ".join(part for part in (provenance.engine, provenance.engine_version) if part)
    source = f" ({shorten(provenance.credits_source, MAX_LABEL_LENGTH)})" if provenance.credits_source else ""
    facts = [
        ("model", provenance.model),
        *inputs[:MAX_VALUES],
        ("…", f"and {more} more" if more > 0 else None),
        ("seed", provenance.seed),
        ("engine", engine or None),
        ("part", provenance.part),
        ("service", provenance.service and describe_maker(provenance.service, None)),
        ("request", provenance.request_id),
        ("credits", None if provenance.credits is None else f"{provenance.credits:,}{source}"),
        ("made", None if provenance.made_at is None else f"{provenance.made_at:%Y-%m-%d %H:%M %Z}"),
    ]
    yield from ((name, value) for name, value in facts if value is not None)


def _format_source(provenance: Provenance) -> str:
    if provenance.note:
        return provenance.note
    return "as the file says" if provenance.input is not None else "as the file says; not all of it makes an input here"


# A library, and its uncertain runs.


def library_card(library: Library, last: pd.DataFrame | None = None, key: str = "") -> str:
    """The card of a library: its runs, credits, size, folder, and the table of its last runs.

    By `key` that table requests clips of a kernel.
    """
    from .tables.table_html import table_bundle

    summary, last = library.summary(), library.latest().iloc[::-1] if last is None else last
    count = int(summary["runs"].sum())
    about = "≈ " if summary["estimated"].any() else ""
    content = render(
        "library.html",
        runs=format_count(count, "run") if len(summary) else "",
        facts=[f"{about}{summary['credits'].sum():,} credits", f"{format_size(library.size)} on disk"],
        states=summary["runs"].items(),
        folder=format_folder(library.folder),
        uncertain=int(summary["runs"].get("uncertain", 0)),
        table=Markup(table_bundle(last, key=key)["text/html"]) if len(last) else "",
        shown=len(last),
        count=count,
    )
    return render_card(content, width=960)


def uncertain_table(entries: Sequence[Uncertain]) -> str:
    """The uncertain runs, with their possible cost and how to resolve them."""
    from ..storage.library import ADVICE

    if not entries:
        return render_card(Markup("<div>No uncertain runs.</div>"))
    rows = [
        (
            f"? {entry.run}",
            blocks.two_lines(shorten(entry.what, 44), shorten(entry.reason, 160), shorten(entry.what, 4_000)),
            f"{entry.when:%Y-%m-%d %H:%M} UTC",
            "unknown" if entry.credits is None else f"{entry.credits:,} credits",
        )
        for entry in entries
    ]
    table = blocks.rows(rows, head=("run", "asked", "sent", "at most"), numbers=[3])
    return render_card(table, blocks.small(ADVICE), width=options.max_width)
