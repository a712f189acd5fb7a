"""What the library knows of a plan: the names of its runs are those under which they are paid, and asking is quick."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import reelbook as rb
from reelbook.client import Client
from reelbook.sweeps.plan import sweep
from tests.support import Served, as_data_uri, png
from tests.sweeps.dots import PRICE, dots, reserved


def test_pictures_are_known_by_their_content(served: Served, client: Client, tmp_path: Path) -> None:
    """Wherever they come from: in memory, a file, inside an address, the library. What was paid for once is not due."""
    picture = tmp_path / "a.png"
    picture.write_bytes(png(16, 16, "red"))
    same: list[Any] = [picture, picture.read_bytes(), as_data_uri(png(16, 16, "red")), rb.Image.of(str(picture))]
    client.run(rb.ImagesToVideo(images=[rb.Frame(url=picture, frames=1)]))

    for source in (*same, rb.library().run(1).input.images[0].url):
        assert sweep(rb.ImagesToVideo(images=[rb.Frame(url=source, frames=1)])).credits_due == 0
    assert sweep(rb.ImagesToVideo(images=[rb.Frame(url=png(16, 16), frames=1)])).credits_due == PRICE


def test_what_is_due_follows_the_library(served: Served, client: Client) -> None:
    """Before, between and after; the table of the plan and its summary say the same."""
    plan = dots(4).repeated(2)

    before = plan.credits_due
    plan[:3].run(budget=3 * PRICE)
    between = plan.credits_due
    frame, text = plan.frame, repr(plan)

    assert (before, between) == (8 * PRICE, 5 * PRICE)
    assert frame["credits_due"].tolist() == [0, 0, 0, PRICE, PRICE, PRICE, PRICE, PRICE]
    assert f"3 in the library already, {5 * PRICE} credits due" in text


def test_a_file_that_is_gone_is_fetched_again_at_no_cost(served: Served, client: Client) -> None:
    """Somebody tidied the shelf up: the run is not in the library as a whole, and still paid for."""
    plan = dots(3)
    table = plan.run(budget=plan.credits)
    Path(str(table.loc[1, "output_video"])).unlink()

    again = plan.run(budget=0)

    assert again["status"].tolist() == ["completed"] * 3
    assert Path(str(again.loc[1, "output_video"])).exists()
    assert len(reserved(served)) == 3
