"""The documentation page of the service, as one self-contained HTML document."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from markupsafe import Markup, escape

from reelbook._version import __version__
from reelbook.models.catalog import CATALOG, Endpoint

from .lanes import LaneTable
from .openapi_document import STATUS_MEANINGS
from .refusals import CODES
from .spec_decisions import CHOICES

HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
    "x-content-type-options": "nosniff",
}

ADDRESSES = (
    ("POST", "/models/run", "Run a model: {endpointId, input} → {requestId, …}"),
    ("POST", "/models/pricing/estimate", "What that run would cost; nothing is sent and nothing is charged"),
    ("POST", "/{model id}", "The same run, with the input as the whole body"),
    ("GET", "/{model id}/requests/{request id}/status", "Where it stands; ?logs=1 adds the log"),
    ("GET", "/{model id}/requests/{request id}/status/stream", "Every change as it happens (text/event-stream)"),
    ("GET", "/{model id}/requests/{request id}", "The output, once the status is COMPLETED"),
    ("PUT", "/{model id}/requests/{request id}/cancel", "Cancel it; its credits come back"),
    ("POST", "/requests/status", "The status of many requests: {ids: […]}"),
    ("POST", "/files", "Upload a picture; its file_id serves as an address in inputs"),
    ("GET", "/files/{token}/{name}", "Fetch a file; Range is understood"),
    ("GET", "/account", "Credits and permissions of your key"),
    ("GET", "/models", "The list of models"),
    ("GET", "/models/openapi.json?endpoint_id={model id}", "One model, described for machines"),
    ("GET", "/openapi.json", "Every address, described for machines"),
    ("GET", "/", "Who answers here, and which extras it has"),
)

STYLE = """
:root { color-scheme: light dark; --ink: light-dark(#1d2226, #e3e6e8); --soft: light-dark(#586069, #9aa4ad);
  --line: light-dark(#dde1e5, #363d43); --paper: light-dark(#ffffff, #15181b); --raised: light-dark(#f4f6f7, #1f2428);
  --accent: light-dark(#0b5cad, #7db8f0) }
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.55 system-ui, sans-serif }
main { max-width: 960px; margin: 0 auto; padding: 32px 20px 64px }
h1 { font-size: 28px; margin: 0 0 4px } h2 { font-size: 20px; margin: 44px 0 8px } h3 { font-size: 16px; margin: 28px 0 4px; overflow-wrap: anywhere }
p { margin: 4px 0 12px } .soft { color: var(--soft) } a { color: var(--accent) }
code, pre { font: 13px/1.5 ui-monospace, monospace } code { background: var(--raised); padding: 1px 4px; border-radius: 4px; overflow-wrap: anywhere }
pre { background: var(--raised); padding: 12px 16px; border-radius: 6px; overflow-x: auto }
.wide { overflow-x: auto } table { border-collapse: collapse; width: 100% } th, td { text-align: left; vertical-align: top; padding: 6px 14px 6px 0; border-bottom: 1px solid var(--line) }
th { color: var(--soft); font-weight: 500; font-size: 13px } td.number { text-align: right; font-variant-numeric: tabular-nums } .name code { white-space: nowrap; overflow-wrap: normal }
nav a { margin-right: 16px }
@media (max-width: 760px) { .wide table { min-width: 720px } } /* Columns of a few letters cannot be read; these scroll. */
"""


def page(base_url: str, lanes: LaneTable | None = None) -> str:
    """The HTML of the page; `lanes` says which engine answers for each model."""
    lanes = lanes or LaneTable()
    where = "some runs are made by a service elsewhere" if lanes.has_elsewhere else "every run is made here"
    example = (
        f"curl {base_url}/models/run \\\n  -H 'content-type: application/json' -H 'x-api-key: YOUR_KEY' \\\n"
        f'  -d \'{{"endpointId": "{CATALOG[0].id}", "input": {{"prompt": "a paper boat", "seed": 7}}}}\''
    )
    parts = [
        Markup("<h1>Reelbook service</h1><p class=soft>Version {} · answers on this machine · {}, by engines that "
               "say in their logs what they are.</p>").format(__version__, where),
        Markup("<nav><a href=#addresses>Addresses</a><a href=#models>Models</a><a href=#errors>Errors</a><a href=#choices>Choices</a></nav>"),
        Markup("<h2>A first run</h2><pre>{}</pre>").format(example),
        Markup("<h2 id=addresses>Addresses</h2>"),
        _table(("method", "address", "what it does"), ((escape(method), _code(path), escape(what)) for method, path, what in ADDRESSES)),
        Markup("<h2 id=models>Models</h2>"),
        *(_model(row, lanes) for row in CATALOG),
        Markup("<h2 id=errors>Errors</h2><p>Every refusal is JSON: <code>detail</code> is a sentence, or a list with one entry "
               "for each wrong field; <code>error_type</code> is one of these. The header <code>x-request-id</code> names the request.</p>"),
        _table(("error_type", "code", "when"), ((_code(name), escape(code), escape(STATUS_MEANINGS[code])) for name, code in CODES.items())),
        Markup("<h2 id=choices>Choices</h2><p>What the specification does not show, this service had to decide. A client should not depend on it.</p>"),
        _table(("what is open", "what we chose", "because"), ((escape(c.gap), escape(c.choice), escape(c.because)) for c in CHOICES)),
    ]  # fmt: skip
    return str(
        Markup("<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
               "<title>Reelbook service</title><style>{}</style><main>{}</main></html>").format(Markup(STYLE), Markup("").join(parts))
    )  # fmt: skip


def _model(row: Endpoint, lanes: LaneTable) -> Markup:
    schema = row.input.model_json_schema()
    switches = "".join(f" × {factor} with {name}" for name, factor in row.multipliers)
    price = f"{row.base_credits} credits{switches} · rate card {row.rate_card} · engine {lanes.label_of(row.id)}"
    rows = (_field(name, rule, name in schema.get("required", ())) for name, rule in schema["properties"].items())
    return Markup("<h3><code>{}</code></h3><p>{} <span class=soft>{}</span></p>").format(
        row.id, row.purpose, price
    ) + _table(("field", "type", "default", "allowed", "meaning"), rows)


def _field(name: str, rule: Mapping[str, Any], required: bool) -> tuple[Markup, ...]:
    options = [option for option in rule.get("anyOf", [rule]) if option.get("type") != "null"]
    kind = options[0].get("type", "object") + (" or null" if len(options) < len(rule.get("anyOf", [rule])) else "")
    default = Markup("<b>required</b>") if required else _code(json.dumps(rule.get("default"), ensure_ascii=False))
    return (
        Markup("<span class=name>{}</span>").format(_code(name)),
        escape(kind),
        default,
        escape(_allowed(rule)),
        escape(rule.get("description", "")),
    )


def _allowed(rule: Mapping[str, Any]) -> str:
    if "enum" in rule:
        return ", ".join(map(str, rule["enum"]))
    parts = [f"{rule['minimum']:g} to {rule['maximum']:g}"] if "minimum" in rule and "maximum" in rule else []
    parts += [f"steps of {rule['multipleOf']:g}"] if "multipleOf" in rule else []
    parts += [f"up to {rule['maxLength']:,} characters"] if "maxLength" in rule else []
    return ", ".join(parts)


def _table(heads: Iterable[str], rows: Iterable[tuple[Markup, ...]]) -> Markup:
    head = Markup("").join(Markup("<th>{}</th>").format(name) for name in heads)
    body = Markup("").join(
        Markup("<tr>{}</tr>").format(Markup("").join(Markup("<td>{}</td>").format(cell) for cell in row))
        for row in rows
    )
    return Markup("<div class=wide><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>").format(head, body)


def _code(text: str) -> Markup:
    return Markup("<code>{}</code>").format(text)
