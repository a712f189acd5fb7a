"""Where a file comes from, as a table for a notebook."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from reelbook.display.cards import provenance_table
from reelbook.media.metadata.provenance import Provenance
from reelbook.models.text_to_video import TextToVideo
from tests.display.stand_in import Read

BOAT = TextToVideo(prompt="a paper boat", num_frames=49, seed=7)
FULL = Provenance(
    model=BOAT.endpoint_id,
    input=BOAT,
    values=BOAT.wire(),
    seed=7,
    engine="sketch",
    engine_version="1",
    request_id="request-1",
    credits=1060,
    credits_source="charged",
    made_at=datetime(2026, 3, 1, 12, 30, tzinfo=UTC),
    service="https://host.example/api",
)


def rows(provenance: Provenance) -> list[str]:
    """The text of each row, its name and value with a colon between, and the small print."""
    page = re.sub(r"</th>\s*<td[^>]*>", ": ", provenance_table(provenance).partition("</style>")[2])
    return [Read(row).text for row in re.split(r"</tr>|</table>", page) if Read(row).text]


def test_it_shows_what_was_asked_and_what_is_known_of_the_run() -> None:
    """The model, what differs from its defaults, then the run; the seed once."""
    assert rows(FULL) == [
        "model: svc/text-to-video-13b-distilled",
        "prompt: a paper boat",
        "num_frames: 49",
        "seed: 7",
        "engine: sketch 1",
        "service: https://host.example/api",
        "request: request-1",
        "credits: 1,060 (charged)",
        "made: 2026-03-01 12:30 UTC",
        "as the file says",
    ]


def test_what_is_unknown_is_left_out() -> None:
    """No row says `None`."""
    assert rows(Provenance(model="svc/new", values={"strength": 0.5})) == [
        "model: svc/new",
        "strength: 0.5",
        "as the file says; not all of it makes an input here",
    ]
