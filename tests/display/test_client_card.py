"""The card of a client: everything but the key."""

from __future__ import annotations

from pathlib import Path

import pytest

import reelbook as rb
from reelbook.display.cards import client_card
from tests.support import KEY, Serve
from tests.transport.patience import Clock
from tests.transport.variants import Hosted


def test_the_card_says_which_service_whose_account_and_what_is_left(serve: Serve, tmp_path: Path) -> None:
    """Address, account, credits, features, library; the key is not in it."""
    served = serve()
    with rb.connect(served.base_url, api_key=KEY, library=tmp_path) as client:
        card = client_card(client)

    assert all(told in card for told in (served.base_url, "default", "1,000,000 left", "idempotency", str(tmp_path)))
    assert KEY not in card


def test_a_service_that_does_not_answer_still_has_a_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says so, and shows the rest; hostile words are words."""
    monkeypatch.setattr("reelbook.transport.http.RetryPolicy", Clock().policy)
    with Hosted() as hosted, rb.connect(hosted.base_url, api_key="a-key-of-this-test", library=tmp_path) as client:
        hosted.on("GET", "/account", {"name": "<script>alert(1)</script>", "credits_available": "many"})
        card = client_card(client)
        hosted.stop_listening()
        dead = client_card(client)

    assert "&lt;script&gt;" in card
    assert "<script>" not in card
    assert "answers" in dead
    assert hosted.base_url in dead
