"""What a run costs, exact to the credit."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from reelbook.display.cards import estimate_table
from reelbook.errors import BadRates
from reelbook.models.base import Input
from reelbook.models.catalog import Estimate, Rate, Rates, estimate, read_rates
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.images_to_video import Frame, ImagesToVideo
from reelbook.models.smart_resize import SmartResize
from reelbook.models.text_to_video import TextToVideo
from tests.spec import tables

BOAT = TextToVideo(prompt="a paper boat")
CLOSER = ImageToVideo(prompt="closer", image_url="a.png")
POSTER = SmartResize(image_url="a.png", target_sizes=["300x600", "1000x500"], num_images_per_size=3)
SHOW = ImagesToVideo(images=["a.png", Frame(url="b.png", frames=12)])


def rates(request: Input, unit: Any, rate: str | Decimal) -> Rates:
    return {request.endpoint_id: Rate(unit, Decimal(rate))}


def total(found: Estimate) -> int:
    """The charge that the breakdown adds up to, from top to bottom."""
    amount = Decimal(0)
    for line in found.breakdown:
        if line.factor is not None:
            amount *= line.factor
        elif line.label == "at least":
            amount = max(amount, line.credits or Decimal(0))
        else:
            amount += line.credits or Decimal(0)
    return math.ceil(amount)


@pytest.mark.parametrize("request_", [BOAT, CLOSER, POSTER, SHOW], ids=lambda request: type(request).__name__)
def test_a_run_costs_what_the_specification_says(request_: Input) -> None:
    """53, 53, 11 and 53 credits, from the catalog and so assumed; twice that with the detail pass."""
    model = tables.model(request_.endpoint_id)

    found = estimate(request_)

    assert found.credits == model.base_credits == {"svc/smart-resize": 11}.get(model.id, 53)
    assert (found.rate_card, found.source) == (model.rate_card, "assumed")
    for switch, factor in model.multipliers.items():
        assert estimate(request_.revised(**{switch: True})).credits == 53 * Decimal(factor) == 106


def test_an_estimate_says_how_it_comes_about() -> None:
    """Base, factors, whose word it is, and what limits count where the service says less than the catalog."""
    assert repr(estimate(BOAT)) == "Estimate(53 credits, assumed): base 53"
    assert repr(estimate(BOAT.revised(enable_detail_pass=True))) == (
        "Estimate(106 credits, assumed): base 53, detail pass × 2.0"
    )
    assert repr(Estimate(53, source="exact")) == "Estimate(53 credits, exact)"
    assert repr(Estimate(None)) == "Estimate(unknown)"
    low = Estimate(0, source="exact", catalog=53)
    assert repr(low) == "Estimate(0 credits, exact; limits count 53)"
    assert "limits of a sweep count 53 credits, the price in the catalog" in estimate_table(low)
    for sound in (Estimate(60, source="exact", catalog=53), Estimate(60, source="exact"), Estimate(None, catalog=53)):
        assert "limits" not in repr(sound) + estimate_table(sound)


def test_a_model_without_a_row_has_no_price() -> None:
    """Nobody can tell, and nobody guesses."""

    class Stranger(Input):
        """What to ask of a stranger."""

        endpoint_id = "svc/stranger"

    assert estimate(Stranger()) == Estimate(None)


@pytest.mark.parametrize(
    ("request_", "unit", "rate", "credits"),
    [
        # 240 frames at 24 are 10 seconds: 4.375, below the minimum of 53.
        (BOAT.revised(num_frames=240), "second", "0.4375", 53),
        # 205.857… seconds: 90.06…, so 91.
        (BOAT.revised(num_frames=1441, frame_rate=7), "second", "0.4375", 91),
        (BOAT.revised(num_frames=1440, frame_rate=10), "second", "0.4376", 64),
        # 160 thirds of a second at 3 credits are 160 and not a whit more, whatever binary thirds add up to.
        (BOAT.revised(num_frames=160, frame_rate=3), "second", "3", 160),
        (BOAT.revised(num_frames=160, frame_rate=3), "second", "3.0001", 161),
        # 0.1 and 0.7 have no binary spelling either: 70 tenths times 10 seconds.
        (CLOSER.revised(duration="10"), "second", "7.7", 77),
        (CLOSER.revised(duration="5"), "second", "10.6", 53),
        (CLOSER.revised(duration="5"), "second", "10.6000000001", 54),
        (POSTER, "image", "1.8333333333", 11),
        (POSTER, "image", "1.8333333334", 12),
        (SHOW.revised(fps=29.97), "second", "44.9550", 54),
        # 12 frames of 0.9216 megapixels at 5 credits, twice.
        (BOAT.revised(num_frames=12, enable_detail_pass=True), "megapixel", "5", 111),
    ],
)
def test_a_charge_is_rounded_up_once_and_never_below_the_minimum(
    request_: Input, unit: Any, rate: str, credits: int
) -> None:
    """Exact fractions up to the last step, which rounds up to a whole credit."""
    found = estimate(request_, rates(request_, unit, rate))

    assert found.credits == credits
    assert total(found) == credits


def table(folder: Path, text: str) -> Path:
    path = folder / "rates.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_rates_are_read_from_a_table(tmp_path: Path) -> None:
    """One for each model, exact to the last digit."""
    path = table(
        tmp_path,
        '["svc/smart-resize"]\nunit = "megapixel"\nrate = 0.4375\n'
        '["svc/text-to-video-13b-distilled"]\nunit = "second"\nrate = 20\n',
    )

    found = read_rates(path)

    assert found == {
        "svc/smart-resize": Rate("megapixel", Decimal("0.4375")),
        "svc/text-to-video-13b-distilled": Rate("second", Decimal(20)),
    }
    assert estimate(BOAT, found).credits == math.ceil(Fraction(121, 24) * 20)


BAD_TABLES = {
    "not TOML": ("rate = = 1", "cannot be used: Invalid value"),
    "too deep": (f"a = {'[' * 5000}{']' * 5000}", "cannot be used"),
    "an unknown model": ('["svc/other"]\nunit = "image"\nrate = 1', "There is no model 'svc/other'."),
    "no table": ('"svc/smart-resize" = 5', "svc/smart-resize: input should be a dictionary"),
    "another entry": ('["svc/smart-resize"]\nunit = "image"\nrate = "1"\ncurrency = "EUR"', "svc/smart-resize currency: unexpected"),
    "a unit that cannot be counted": ('["svc/smart-resize"]\nunit = "second"\nrate = "1"', "svc/smart-resize is counted in images or megapixels, not in seconds"),
    **{
        f"the rate {rate[:20]}": (f'["svc/smart-resize"]\nunit = "image"\nrate = {rate}', "svc/smart-resize rate: ")
        for rate in ("true", "-1", '"nan"', "nan", "1e999999999", '"1e999999999"', "1000001", "0.0000000000001")
    },
}  # fmt: skip


@pytest.mark.parametrize(("text", "said"), list(BAD_TABLES.values()), ids=list(BAD_TABLES))
def test_a_bad_table_gets_a_clear_sentence(text: str, said: str, tmp_path: Path) -> None:
    """Which file, which model, what is wrong and how it is written."""
    path = table(tmp_path, text)

    with pytest.raises(BadRates) as caught:
        read_rates(path)

    assert said in str(caught.value)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 1000
