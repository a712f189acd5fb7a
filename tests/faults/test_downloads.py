"""Figure 8: of many downloads from a host that misbehaves, no wrong byte is accepted and nothing sound is lost.

The oracle is the sha256 of what the host was given to serve. Left out, because nobody could tell: bits flipped inside
compressed pictures where the kind carries no checksum (everything but PNG), and a kind without structure whose length
is told wrongly by everybody.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections import Counter
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

import pytest

from reelbook.errors import DownloadFailed
from reelbook.models.base import File
from reelbook.storage.shelf import Shelf
from reelbook.transport import downloader
from reelbook.transport.downloader import DownloadedFile, Downloader
from tests.faults.bodies import every_kind, film, picture
from tests.faults.file_host import Document
from tests.transport.variants import Hosted, Reply

SEED = 8
DAMAGED_SHARE = 0.4

WAYS_TO_SERVE = ("sound", "untagged", "open_ended", "chunked", "zipped", "called_html")
"""Unusual, and not wrong."""

PASSING = (
    *(
        "short",
        "short_untagged",
        "cut_open",
        "cut_chunked",
        "ended_chunked",
        "told_less",
        "told_more",
        "zipped_and_cut",
    ),
    *("empty", "page", "page_as_html", "told_in_json", "busy", "too_many", "reset", "silent", "garbage", "loop"),
    *("stalled", "dripping"),
)
"""What a next attempt gets over."""

CONTINUED = (
    *("part_ignored", "part_elsewhere", "part_of_another", "part_unnamed", "part_of_more", "part_refused", "short"),
)
"""Wrong answers to a request that goes on after a body that broke off."""

LASTING = (
    *("short_untagged", "cut_open", "cut_chunked", "ended_chunked", "told_less", "told_more", "zipped_and_cut"),
    *("empty", "page", "page_as_html", "told_in_json", "busy", "loop", "to_a_file", "expired", "missing", "gone"),
)
"""What never gets better: such a file must be refused."""


@dataclass(frozen=True)
class Planned:
    """One download: what to ask for, what to serve, and what is right."""

    path: str
    document: Document
    told: dict[str, object]
    damaged: bool
    obtainable: bool

    def file(self, address: str) -> File:
        return File.model_validate({"url": address + self.path, **self.told})

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.document.content).hexdigest()


def corpus() -> list[tuple[bytes, str]]:
    """Files of all kinds, small and not so small, and some of no kind."""
    types = {".png": "image/png", ".jpg": "image/jpeg", ".webp": "image/webp", ".gif": "image/gif", ".mp4": "video/mp4"}
    files = [
        (content, types[Path(name).suffix]) for name, content in every_kind().items() if Path(name).suffix in types
    ]
    files += [(picture("PNG", side=90, seed=seed), "image/png") for seed in (1, 2)]
    files += [(film(frames=12, side=96, seed=seed), "video/mp4") for seed in (1, 2, 3)]
    return [*files, (random.Random(1).randbytes(30_000), "application/octet-stream")]


class Dice:
    """What goes wrong where, by a seed; each way in turn, so that none is left out."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.ways, self.passing, self.continued, self.lasting = (
            cycle(self.chance.sample(names, len(names))) for names in (WAYS_TO_SERVE, PASSING, CONTINUED, LASTING)
        )

    def faults(self, content: bytes, content_type: str) -> tuple[tuple[str, ...], bool]:
        """What goes wrong with a damaged file, and whether that never ends."""
        way = self.chance.random()
        if content_type == "image/png" and way < 0.3:
            return ("flipped",), self.chance.random() < 0.3
        if len(content) > 8_000 and way < 0.55:
            return ("short", *islice(self.continued, self.chance.choice((1, 2)))), False
        if way < 0.8:
            return tuple(islice(self.passing, self.chance.choice((1, 1, 2)))), False
        return (next(self.lasting),), True


def plan(count: int, seed: int = SEED) -> list[Planned]:
    """So many downloads, of which a share is damaged in ways that the seed chooses."""
    dice, files = Dice(seed), corpus()
    return [_planned(number, dice, files) for number in range(count)]


def _planned(number: int, dice: Dice, files: list[tuple[bytes, str]]) -> Planned:
    chance = dice.chance
    content, content_type = chance.choice(files)
    shapeless = content_type == "application/octet-stream"
    damaged, lasting = chance.random() < DAMAGED_SHARE, False
    faults: tuple[str, ...] = ("sound",) if shapeless else (next(dice.ways),)
    if damaged:
        faults, lasting = dice.faults(content, content_type)
    told: dict[str, object] = {
        "content_type": chance.choice((content_type, content_type, None)),
        "file_name": chance.choice((None, "clip", "../../x", "..\\..\\evil.exe")),
        # Of a file that shows its own end, a wrong size must not matter.
        "file_size": len(content) if shapeless else chance.choice((len(content), None, len(content) + 7, 0)),
    }
    document = Document(content, content_type, faults, lasting or not damaged, other=files[number % len(files)][0])
    moved = "/moved" if chance.random() < 0.1 else ""
    name = "film.mp4" if content_type == "video/mp4" else "file"
    return Planned(f"{moved}/{number}/{name}", document, told, damaged, not lasting)


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same rules in a shorter life."""
    monkeypatch.setattr(downloader, "PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(downloader, "STALL_SECONDS", 1.5)


async def all_brought(planned: list[Planned], folder: Path) -> list[DownloadedFile | DownloadFailed]:
    """Every download at once, from a host and the one it sends some of us to."""
    with Hosted() as other, Hosted() as host:
        for one in planned:
            if one.path.startswith("/moved"):
                moved = {"location": other.base_url + one.path, "set-cookie": "a=b"}
                host.on("GET", one.path, Reply(307, b"", moved))
            (other if one.path.startswith("/moved") else host).on("GET", one.path, one.document)
        downloads = Downloader(Shelf(folder))

        async def bring(number: int, one: Planned) -> DownloadedFile | DownloadFailed:
            try:
                return await downloads.download(one.file(host.base_url), f"r-{number}")
            except DownloadFailed as error:
                return error

        told = await asyncio.gather(*(bring(number, one) for number, one in enumerate(planned)))
        await downloads.close()
        return list(told)


def judge(planned: list[Planned], told: list[DownloadedFile | DownloadFailed]) -> Counter[str]:
    """How it went, by kind of outcome."""
    outcome: Counter[str] = Counter()
    for one, result in zip(planned, told, strict=True):
        if isinstance(result, DownloadFailed):
            outcome["lost" if one.obtainable else "refused"] += 1
            continue
        content = hashlib.sha256(result.path.read_bytes()).hexdigest()
        right = content == one.sha256 == result.sha256 == result.path.stem
        outcome["right" if right else "wrong"] += 1
        outcome["right though hopeless"] += not one.obtainable
    return outcome


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize("count", [150, pytest.param(2_000, marks=pytest.mark.deep)])
def test_no_wrong_byte_is_accepted_and_nothing_sound_is_lost(count: int, tmp_path: Path) -> None:
    """What can be had is brought, byte for byte; what is damaged for ever is refused; no other file gets a name."""
    planned = plan(count)

    told = asyncio.run(all_brought(planned, tmp_path))

    outcome = judge(planned, told)
    assert 0.35 * count <= sum(one.damaged for one in planned) <= 0.45 * count
    assert outcome["wrong"] == 0
    assert outcome["lost"] == 0, [
        (one.document.faults, one.told, str(result))
        for one, result in zip(planned, told, strict=True)
        if one.obtainable and isinstance(result, DownloadFailed)
    ]
    assert outcome["right though hopeless"] == 0
    assert outcome["refused"] == sum(not one.obtainable for one in planned) >= 0.05 * count
    assert Shelf(tmp_path).hashes() == {one.sha256 for one in planned if one.obtainable}
    used = {fault for one in planned for fault in one.document.faults}
    assert used >= {*WAYS_TO_SERVE, *PASSING, *CONTINUED, *LASTING, "flipped"}
