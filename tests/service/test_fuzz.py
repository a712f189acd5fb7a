"""The service called as it describes itself, over real HTTP, and for `make deep` by schemathesis with all its checks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import jsonschema_rs
import pytest

from reelbook.models.catalog import CATALOG
from reelbook_service.accounts import NewAccount
from reelbook_service.docs import describe_service
from tests.service.test_addresses import inputs
from tests.support import KEY, RESIZE, Serve, Served, as_data_uri, png

CONFIG = Path(__file__).with_name("schemathesis.toml")
MONEY = 20 * 53
"""Enough for about twenty runs: the fuzzer shall meet results, and not heat the room."""


def something_of_each_kind(served: Served, dot: str) -> dict[str, list[str]]:
    """Requests of all models that are finished, one that failed and one that was cancelled; tokens of files."""
    jobs = inputs(dot)
    jobs[RESIZE]["sync_mode"] = True
    finished = [served.submitted(row.id, jobs[row.id]) for row in CATALOG]
    failed = served.submitted(CATALOG[3].id, {"images": [as_data_uri(b"no picture")]})
    cancelled = served.submitted(CATALOG[0].id, {"prompt": "a lake", "num_frames": 1441})
    served.cancel(CATALOG[0].id, cancelled)
    for row, request_id in zip(CATALOG, finished, strict=True):
        served.finished(row.id, request_id)
    served.finished(CATALOG[3].id, failed)
    served.finished(CATALOG[0].id, cancelled)
    url = served.result(CATALOG[3].id, finished[3]).json()["video"]["url"]
    upload = served.http.post("/files", files={"file": ("a.png", png())}, headers={"x-api-key": served.key}).json()[
        "url"
    ]
    tokens = [address.split("/files/")[1].partition("/")[0] for address in (url, upload)]
    return {"requests": [*finished, failed, cancelled], "tokens": tokens}


def fuzzed(
    served: Served, known: dict[str, list[str]], folder: Path, examples: int, *options: str
) -> tuple[dict[str, Any], str]:
    """The report of a run of schemathesis with so many examples for each operation, and what it printed."""
    tables = "\n".join(f"[dictionaries.{name}]\nvalues = {json.dumps(values)}" for name, values in known.items())
    config, report = folder / "schemathesis.toml", folder / "report.json"
    config.write_text(f"{CONFIG.read_text(encoding='utf-8')}\n{tables}\n", encoding="utf-8")
    # All its checks are on unless the configuration turns one off.
    schemathesis = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(config)]
    described = [f"{served.base_url}/openapi.json", "--header", f"x-api-key: {KEY}"]
    done = subprocess.run(
        [*schemathesis, "run", *described, f"--max-examples={examples}", f"--report-json-path={report}", *options],
        cwd=folder,
        env={**os.environ, "NO_PROXY": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=100 + 10 * examples,
    )
    assert report.exists(), done.stdout + done.stderr
    return dict(json.loads(report.read_text(encoding="utf-8"))), done.stdout


BODIES = [b"", b"[]", b'{"endpointId": 5}', b'{"ids": [0], "image_url": {}}', b'{"images": ["data:,"], "fps": 0}']
"""What is sent to each address that takes something: never what it wants."""


def test_every_address_answers_as_it_is_described(shared: Served, dot: str) -> None:
    """Each operation with a key and without, for what there is and what there is not: a described status and body."""
    served = shared.with_own_account()
    known = something_of_each_kind(served, dot)
    document = describe_service(served.base_url)
    seen: Counter[int] = Counter()

    for path, method in ((path, method) for path, entry in document["paths"].items() for method in entry):
        if method not in ("get", "put", "post"):
            continue
        for key in (served.key, "", "unknown"):
            for request_id, token in zip(
                [*known["requests"], "unknown"], [*known["tokens"] * 3, "unknown"], strict=True
            ):
                for body in BODIES[: None if key == served.key else 1] if method == "post" else [None]:
                    response = served.http.request(
                        method,
                        path.format(request_id=request_id, token=token, name="a"),
                        headers={"x-api-key": key, "content-type": "application/json"},
                        content=body,
                    )
                    _check(document, document["paths"][path][method], response)
                    seen[response.status_code] += 1
                if "{" not in path:
                    break

    assert set(seen) >= {200, 400, 401, 404, 422}
    assert max(seen) < 500


def _check(document: dict[str, Any], operation: dict[str, Any], response: httpx.Response) -> None:
    """The status is one of those described, and so is the body."""
    described = operation["responses"].get(str(response.status_code))
    assert described is not None, (response.request.url, response.status_code)
    told = response.headers["content-type"].partition(";")[0]
    assert told in described["content"] or "*/*" in described["content"], response.request.url
    if schema := described["content"].get("application/json", {}).get("schema"):
        jsonschema_rs.Draft202012Validator({**schema, "components": document["components"]}).validate(response.json())


@pytest.mark.deep
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("examples", "phases", "cases"), [(1, "fuzzing", 20), (150, "coverage,fuzzing,stateful", 5000)]
)
def test_no_generated_call_gets_an_answer_that_is_not_described(
    serve: Serve, dot: str, tmp_path: Path, examples: int, phases: str, cases: int
) -> None:
    """Calls of every kind to every operation: no 5xx, no undocumented status, every answer as its schema says.

    Invalid data is refused, valid data taken, keys are asked for; with many examples also: every edge of every schema,
    and methods that are not there answer 405.
    """
    served = serve(workers=1, accounts=[NewAccount("default", KEY, budget=MONEY)])
    known = something_of_each_kind(served, dot)

    report, printed = fuzzed(served, known, tmp_path, examples, f"--phases={phases}")

    operations = sum(
        method in ("get", "put", "post") for path in describe_service("")["paths"].values() for method in path
    )
    assert report["failures"] == [], printed
    assert report["errors"] == [], printed
    assert report["exit_code"] == 0, printed
    assert report["stop_reason"] == "completed"
    # It leaves the address of the description itself alone, having read it already.
    assert report["operations"]["tested"] == report["operations"]["total"] == operations - 1
    statuses = {name: phase["status"] for name, phase in report["phases"].items() if phase["status"] != "skip"}
    assert statuses == dict.fromkeys(phases.split(","), "success")
    assert report["test_cases"]["generated"] - report["test_cases"]["without_checks"] >= cases
    assert served.http.get("/").status_code == 200
    statement = served.get("/account").json()
    assert statement["credits_available"] + statement["credits_reserved"] + statement["credits_spent"] == MONEY
    assert statement["credits_available"] >= 0
