"""The spec's addresses, called with nothing but HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from reelbook.models.catalog import CATALOG, get_endpoint
from tests.support import KEY, MOVE, RESIZE, STITCH, TEXT, Serve, Served


def inputs(dot: str) -> dict[str, dict[str, Any]]:
    """The smallest job of each model."""
    return {
        TEXT: {"prompt": "a paper boat", "num_frames": 9, "resolution": "480p", "aspect_ratio": "1:1", "seed": 7},
        MOVE: {"prompt": "closer", "image_url": dot},
        RESIZE: {"image_url": dot, "target_sizes": ["16x16", "24x16"], "num_images_per_size": 2},
        STITCH: {"images": [{"url": dot, "frames": 2}, dot], "fps": 4},
    }


@pytest.mark.parametrize("endpoint_id", [row.id for row in CATALOG])
def test_each_model_goes_from_run_to_result_and_its_files_can_be_fetched(
    shared: Served, dot: str, endpoint_id: str
) -> None:
    """Run, status, result and download work for every model with the fields of the spec."""
    answer = shared.run(endpoint_id, inputs(dot)[endpoint_id]).json()
    final = shared.finished(endpoint_id, answer["requestId"])
    output = shared.result(endpoint_id, answer["requestId"]).json()

    assert final["status"] == "COMPLETED"
    assert (
        final["metrics"]["credits"] == answer["credits"] == next(r.base_credits for r in CATALOG if r.id == endpoint_id)
    )
    files = get_endpoint(endpoint_id).output.model_validate(output).files
    assert len(files) == (4 if endpoint_id == RESIZE else 1)
    for file in files:
        fetched = shared.http.get(file.url)
        assert fetched.status_code == 200
        assert len(fetched.content) == file.file_size
        assert fetched.headers["content-type"] == file.content_type
        assert fetched.headers["x-content-type-options"] == "nosniff"
    if endpoint_id == RESIZE:
        assert [result["images"] for result in output["results"]] == [output["images"][:2], output["images"][2:]]
    if endpoint_id == TEXT:
        assert (output["seed"], output["prompt"]) == (7, "a paper boat")


def test_the_queue_answers_under_the_whole_id_and_under_its_first_two_segments(shared: Served, dot: str) -> None:
    """A request can be followed by both prefixes, and by no other model's."""
    request_id = shared.submitted(STITCH, inputs(dot)[STITCH])
    shared.finished(STITCH, request_id)

    for prefix in (STITCH, "svc/frames-api"):
        assert shared.get(f"/{prefix}/requests/{request_id}/status").json()["status"] == "COMPLETED"
        assert shared.result(prefix, request_id).status_code == 200
    assert shared.get(f"/{RESIZE}/requests/{request_id}/status").status_code == 404
    assert shared.result("svc/video-gen", request_id).status_code == 404


def test_a_model_takes_its_input_as_the_whole_body_too(shared: Served, dot: str) -> None:
    """POST to a model's own path answers a status object with the addresses to follow."""
    response = shared.http.post(f"/{STITCH}", json=inputs(dot)[STITCH], headers={"x-api-key": KEY})

    status = response.json()
    assert response.status_code == 200
    assert status["status"] in ("IN_QUEUE", "IN_PROGRESS", "COMPLETED")
    assert status["status_url"] == f"{shared.base_url}/{STITCH}/requests/{status['request_id']}/status"
    assert response.headers["x-request-id"] == status["request_id"]
    shared.finished(STITCH, status["request_id"])


def test_status_tells_place_progress_and_log(serve: Serve, dot: str) -> None:
    """The status object holds the fields of the spec, and the log is empty unless it is asked for."""
    served = serve(workers=1)
    first = served.submitted(TEXT, {**inputs(dot)[TEXT], "num_frames": 241})
    waiting = [served.submitted(STITCH, inputs(dot)[STITCH]) for _ in range(3)]

    places = [served.get(f"/{STITCH}/requests/{request_id}/status").json() for request_id in waiting]
    served.cancel(TEXT, first)
    final = served.finished(STITCH, waiting[-1])

    assert [(place["status"], place["queue_position"]) for place in places] == [
        ("IN_QUEUE", 0),
        ("IN_QUEUE", 1),
        ("IN_QUEUE", 2),
    ]
    assert places[0]["logs"] == {}
    entries = final["logs"]["entries"]
    assert entries
    assert set(entries[0]) == {"message", "level", "source", "timestamp"}
    assert "stitch" in entries[0]["message"]
    assert final["metrics"]["engine"].startswith("stitch")


def test_an_estimate_prices_a_run_without_running_it(shared: Served, dot: str) -> None:
    """Credits, breakdown, rate card and source; nothing is charged; a bad input gets the same 422 as a run."""
    served = shared.with_own_account()

    def estimate(input: object) -> object:
        body = {"endpointId": TEXT, "input": input}
        return served.http.post("/models/pricing/estimate", json=body, headers={"x-api-key": served.key})

    good = estimate({"prompt": "a boat", "enable_detail_pass": True})
    bad = estimate({"prompt": "a boat", "num_frames": 8})

    assert good.json() == {  # type: ignore[attr-defined]
        "credits": 106,
        "breakdown": [{"label": "base", "credits": 53.0}, {"label": "detail pass", "factor": 2.0}],
        "rateCard": "video-standard",
        "source": "exact",
    }
    assert bad.status_code == 422  # type: ignore[attr-defined]
    assert bad.json() == served.run(TEXT, {"prompt": "a boat", "num_frames": 8}).json()  # type: ignore[attr-defined]
    assert served.charges() == []


def test_sync_mode_puts_the_pictures_into_the_answer(shared: Served, dot: str) -> None:
    """With sync_mode each url is a data URI that holds the very file."""
    output = shared.done(
        RESIZE, {"image_url": dot, "target_sizes": ["24x16"], "sync_mode": True, "output_format": "webp"}
    )

    (image,) = output["images"]
    assert image["url"].startswith("data:image/webp;base64,UklGR")
    assert (image["width"], image["height"]) == (24, 16)
