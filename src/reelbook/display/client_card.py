"""A client as a card: service, account, credits and library, never the key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ReelbookError
from .fact_table import render_card, render_fact_table
from .formatting import shorten

if TYPE_CHECKING:
    from ..client import Client

MAX_VALUE_LENGTH = 300


def client_card(client: Client) -> str:
    """The card of a client; if the service does not respond, it reports that beside the other facts."""
    return render_card(
        render_fact_table((name, shorten(value, MAX_VALUE_LENGTH)) for name, value in format_facts(client))
    )


def format_facts(client: Client) -> list[tuple[str, str]]:
    """The rows of the card: names and values."""
    kind = "embedded, on this machine: no key, no cost" if client.is_embedded else "hosted: runs are paid for"
    known = [("service", f"{client.base_url} ({kind})"), ("library", str(client.library))]
    try:
        account = client.account()
        features = ", ".join(sorted(client.features())) or "what the specification shows"
    except ReelbookError as error:
        return [*known, ("answers", f"no: {error}")]
    known[1:1] = [
        ("account", str(account.get("name", "unknown"))),
        ("credits", _format_account(account)),
        ("offers", features),
    ]
    return known


def _format_account(account: object) -> str:
    """Credits available, reserved and spent, as far as the service reports them."""
    amounts = account if isinstance(account, dict) else {}
    names = {"credits_available": "left", "credits_reserved": "set aside for runs under way", "credits_spent": "spent"}
    parts = [f"{amounts[name]:,} {word}" for name, word in names.items() if isinstance(amounts.get(name), (int, float))]
    return ", ".join(parts) or "unknown"
