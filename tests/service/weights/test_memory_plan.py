"""The memory plan: the sums of the measured tables, and the setting that fits on a card."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from reelbook_service.weights.memory_plan import (
    advise_memory,
    format_setting,
    plan_card,
    plan_memory,
    propose_setting,
)
from reelbook_service.weights.weights_row import WeightsRow

LTX = WeightsRow(
    "svc/text-to-video-13b-distilled", "ltx", Path("weights/ltx-13b-0.9.8"), upsampler=Path("weights/upsampler")
)
WAN = WeightsRow("svc/video-gen/v2.1/master/image-to-video", "wan", Path("weights/wan-5b"), guidance=(1.0, 9.0))


@pytest.mark.parametrize(
    ("row", "frames", "card", "host"),
    [
        (LTX, 121, 38.8, 0),
        (LTX, 257, 42.0, 0),
        (LTX, 1441, 42.0, 0),
        (replace(LTX, text_encoder="park"), 257, 35.7, 8.9),
        (replace(LTX, storage="float8_e4m3fn", text_encoder="cpu", downscale=0.5), 121, 16.6, 8.9),
        (replace(LTX, storage="float8_e4m3fn", text_encoder="cpu"), 121, 17.8, 8.9),
        (replace(LTX, guidance=(1.0, 3.0)), 121, 41.9, 0),
        (WAN, 121, 27.8, 0),
        (replace(LTX, folder=Path("weights/ltx-2b-0.9.8")), 121, 18.1, 0),
    ],
)  # fmt: skip
def test_the_sums_are_those_of_the_measured_tables(row: WeightsRow, frames: int, card: float, host: float) -> None:
    """Weights and peak of each setting that the design has worked out."""
    plan = plan_memory(row, frames)

    assert plan.card == pytest.approx(card, abs=0.15)
    assert plan.host == pytest.approx(host)


@pytest.mark.parametrize(
    ("row", "card", "setting"),
    [
        (LTX, 24.0, 'storage = "float8_e4m3fn", text_encoder = "cpu", downscale = 0.5'),
        (LTX, 44.4, 'dtype = "bfloat16", text_encoder = "park", downscale = 0.6667'),
        (LTX, 48.0, 'dtype = "bfloat16", text_encoder = "stay", downscale = 0.6667'),
        (LTX, 79.1, 'dtype = "bfloat16", text_encoder = "stay", downscale = 0.6667'),
        (WAN, 24.0, 'dtype = "bfloat16", text_encoder = "cpu"'),
        (WAN, 79.1, 'dtype = "bfloat16", text_encoder = "stay"'),
    ],
)  # fmt: skip
def test_the_first_setting_that_fits_is_proposed(row: WeightsRow, card: float, setting: str) -> None:
    """A large card has the row as it is; a smaller one parks the encoder first, and gives up quality last."""
    proposed = propose_setting(row, card)

    assert proposed is not None
    assert format_setting(proposed) == setting


def test_a_card_that_is_too_small_is_said_so() -> None:
    """No setting is made up for it, and the sentence says what would do."""
    assert propose_setting(LTX, 12.0) is None
    assert "no setting makes these weights fit" in advise_memory(LTX, 12.0)
    assert advise_memory(LTX, 24.0).endswith("downscale = 0.5 in models.toml, which takes 18.6 GiB")
    assert advise_memory(LTX, 79.1).endswith("the card has 79.1: it fits")


def test_two_loaded_models_add_up() -> None:
    """The weights of both and the larger of their peaks; one folder counts once."""
    both = [LTX, WAN, replace(LTX, endpoint_id=WAN.endpoint_id)]

    assert plan_card(both) == pytest.approx(42.0, abs=0.1)
    assert plan_card(both, max_loaded=2) == pytest.approx(42.0 + 22.5, abs=0.1)
    assert plan_card([LTX, replace(LTX, endpoint_id=WAN.endpoint_id)], max_loaded=2) == plan_card([LTX])


def test_weights_that_are_there_are_counted_by_their_headers(tmp_path: Path) -> None:
    """In the type in which they are loaded, whatever is on the disk; a damaged file leaves the table's figure."""
    header = json.dumps(
        {"__metadata__": {"format": "pt"}, "a": {"dtype": "F32", "shape": [1024, 1024, 512], "data_offsets": [0, 1]}}
    ).encode()
    for part in ("transformer", "text_encoder"):
        (tmp_path / part).mkdir()
        (tmp_path / part / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    (tmp_path / "vae").mkdir()
    (tmp_path / "vae" / "model.safetensors").write_bytes(b"no table of contents")

    plan = plan_memory(replace(LTX, folder=tmp_path, storage="float8_e4m3fn"))

    assert plan.weights == {"transformer": 0.5, "text_encoder": 1.0, "vae": 2.3, "upsampler": 0.24}
