"""A client as a card: which service, whose account, how many credits, where its library is. Never the key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ReelbookError
from .fact_table import card, fact_table
from .formatting import cut

if TYPE_CHECKING:
    from ..client import Client

LONGEST = 300


def client_card(client: Client) -> str:
    """The card; where the service does not answer, it says so and shows the rest."""
    return card(fact_table((name, cut(value, LONGEST)) for name, value in facts(client)))


def facts(client: Client) -> list[tuple[str, str]]:
    """What the card tells, as names and values."""
    kind = "embedded, on this machine: no key, no cost" if client.is_embedded else "hosted: runs are paid for"
    known = [("service", f"{client.base_url} ({kind})"), ("library", str(client.library))]
    try:
        account = client.account()
        features = ", ".join(sorted(client.features())) or "what the specification shows"
    except ReelbookError as error:
        return [*known, ("answers", f"no: {error}")]
    known[1:1] = [
        ("account", str(account.get("name", "unknown"))),
        ("credits", _credits(account)),
        ("offers", features),
    ]
    return known


def _credits(account: object) -> str:
    """What is left, and what is set aside or spent, as far as the service tells."""
    told = account if isinstance(account, dict) else {}
    names = {"credits_available": "left", "credits_reserved": "set aside for runs under way", "credits_spent": "spent"}
    parts = [f"{told[name]:,} {word}" for name, word in names.items() if isinstance(told.get(name), (int, float))]
    return ", ".join(parts) or "unknown"
