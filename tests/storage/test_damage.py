"""Damage of every kind: a ledger opens in seconds, in words, with what can be read of it, and nothing paid is paid again."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import struct
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from reelbook.errors import LibraryError
from reelbook.storage.ledger import claims, connection, crash_recovery, second_copy, transitions
from reelbook.storage.ledger.budget import join_scope
from reelbook.storage.ledger.claims import RunRequest
from reelbook.storage.ledger.transitions import Entry
from reelbook.storage.ledger.writer import Ledger
from reelbook.storage.run_identity import make_identity

RUNS = 60
PAGE = 4096
SECONDS = 8.0
"""A rescue may take 3 s and a bit, and the machine is busy with other tests."""
SERVICE = "8f14e45fceea167a5a36dedd4bea2543"

Hurt = Callable[[bytes, random.Random], bytes]


def text_of(number: int) -> str:
    return json.dumps({"prompt": f"a paper boat, number {number}, " + "and some more words " * (number % 40)})


def named(number: int) -> str:
    return make_identity("svc/boats", text_of(number))


def asked(number: int) -> RunRequest:
    return RunRequest(SERVICE, named(number), "svc/boats", text_of(number), 5, False, True)


def request_of(number: int) -> str:
    return f"{random.Random(number).getrandbits(128):032x}"


def paid(db: sqlite3.Connection, ledger: Ledger, number: int) -> Entry:
    """A run that is paid for, and stored, but for every third one."""
    run = claims.find_or_claim(db, asked(number), ledger, key=None).entry
    transitions.mark_sending(db, run.id, ledger.owner, None)
    transitions.mark_accepted(db, run.id, request_of(number))
    if number % 3:
        output = {"video": {"url": "https://host.example/v"}, "log": "x" * (9000 * (number == 7))}
        transitions.mark_completed(db, run.id, json.dumps(output), 5, 0.5, 2.0)
        transitions.mark_stored(db, run.id, "[]")
    else:
        transitions.release(db, run.id, ledger.owner)
    return run


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of paid runs, all of them known to the log; one has a text of many pages."""
    folder = tmp_path_factory.mktemp("sound") / "library"
    ledger = Ledger(folder)
    runs = ledger.transact_now(lambda db: [paid(db, ledger, number) for number in range(RUNS)])
    lines = [crash_recovery.make_acceptance(run, request_of(number)) for number, run in enumerate(runs)]
    second_copy.append(folder, [second_copy.format_line(line) for line in lines])
    ledger.transact_now(lambda db: join_scope(db, "plan", SERVICE, [(named(number), 0) for number in range(RUNS)]))
    ledger.close()
    return folder


@dataclass(frozen=True)
class Kind:
    """A way in which a file is hurt, and the seed of where."""

    family: str
    seed: int

    def __str__(self) -> str:
        return f"{self.family} {self.seed}"


def _page(content: bytes, number: int) -> bytes:
    return content[number * PAGE : (number + 1) * PAGE]


def _with(content: bytes, start: int, new: bytes) -> bytes:
    return content[:start] + new + content[start + len(new) :]


def flipped_bits(content: bytes, dice: random.Random) -> bytes:
    hurt = bytearray(content)
    for _ in range(dice.choice([1, 1, 1, 2, 20])):
        hurt[dice.randrange(len(hurt))] ^= 1 << dice.randrange(8)
    return bytes(hurt)


def flipped_in(start: int, end: int) -> Hurt:
    def flip(content: bytes, dice: random.Random) -> bytes:
        place = dice.randrange(start, end)
        return _with(content, place, bytes([content[place] ^ 1 << dice.randrange(8)]))

    return flip


def no_text(content: bytes, dice: random.Random) -> bytes:
    """A byte that begins no letter, somewhere in the texts of the runs."""
    places = [place for place in range(PAGE, len(content)) if 0x20 < content[place] < 0x7F]
    return _with(content, dice.choice(places), dice.choice([b"\xff", b"\xc3", b"\x80"]))


def in_a_run(content: bytes, dice: random.Random) -> bytes:
    """A letter of what a run is found by becomes another."""
    number = dice.randrange(RUNS)
    wanted = dice.choice([named(number), request_of(number), SERVICE, "svc/boats", "stored"]).encode()
    places = [place for place in range(len(content)) if content.startswith(wanted, place)]
    place = dice.choice(places) + dice.randrange(len(wanted))
    return _with(content, place, bytes([content[place] ^ dice.choice([1, 2, 4, 8, 0x80])]))


def zeroed(content: bytes, dice: random.Random) -> bytes:
    for _ in range(dice.choice([1, 1, 3, 10])):
        content = _with(content, dice.randrange(len(content) // PAGE) * PAGE, bytes(PAGE))
    return content


def noise(content: bytes, dice: random.Random) -> bytes:
    length = dice.choice([16, 512, PAGE, 3 * PAGE])
    return _with(content, dice.randrange(len(content) - length), dice.randbytes(length))


def swapped(content: bytes, dice: random.Random) -> bytes:
    one, other = dice.sample(range(len(content) // PAGE), 2)
    first, second = _page(content, one), _page(content, other)
    return _with(_with(content, one * PAGE, second), other * PAGE, first)


def doubled(content: bytes, dice: random.Random) -> bytes:
    one, other = dice.sample(range(len(content) // PAGE), 2)
    return _with(content, one * PAGE, _page(content, other))


def cut(content: bytes, dice: random.Random) -> bytes:
    return content[: dice.randrange(len(content))]


def longer(content: bytes, dice: random.Random) -> bytes:
    return content + dice.randbytes(dice.choice([1, PAGE, 5 * PAGE]))


def looped(content: bytes, dice: random.Random) -> bytes:
    """Pages of branches that lead to themselves, to each other, or back to where they came from."""
    count = len(content) // PAGE
    branches = [page for page in range(count) if content[page * PAGE + (100 if page == 0 else 0)] in (2, 5)]
    for page in branches if dice.random() < 0.5 else [dice.choice(branches)]:
        header = page * PAGE + (100 if page == 0 else 0)
        (cells,) = struct.unpack(">H", content[header + 3 : header + 5])
        for cell in range(cells):
            if dice.random() < 0.7:
                (at,) = struct.unpack(">H", content[header + 12 + 2 * cell : header + 14 + 2 * cell])
                if at < PAGE - 4:
                    target = dice.choice([page + 1, dice.choice(branches) + 1, dice.randrange(1, count + 1)])
                    content = _with(content, page * PAGE + at, struct.pack(">I", target))
        if dice.random() < 0.5:
            content = _with(content, header + 8, struct.pack(">I", dice.randrange(1, count + 1)))
    return content


def branch_for_leaf(content: bytes, dice: random.Random) -> bytes:
    """A leaf becomes a branch whose every cell leads to one page."""
    count = len(content) // PAGE
    page, target = dice.randrange(1, count), dice.randrange(1, count + 1)
    cells = dice.choice([3, 100, 400])
    at = 12 + 2 * cells + 8
    body = bytes([5]) + struct.pack(">HHHB", 0, cells, at, 0) + struct.pack(">I", target)
    body += struct.pack(">H", at) * cells
    return _with(_with(content, page * PAGE, body), page * PAGE + at, struct.pack(">I", target) + b"\x05")


def chain(content: bytes, dice: random.Random) -> bytes:
    """A text of many pages that leads back to its own first page, or to any other."""
    place = content.find(b"x" * 4000)
    page = place // PAGE
    target = dice.choice([page + 1, dice.randrange(1, len(content) // PAGE + 1)])
    return _with(content, page * PAGE, struct.pack(">I", target))


def free_list(content: bytes, dice: random.Random) -> bytes:
    """Free pages that lead to themselves or to pages in use."""
    count = len(content) // PAGE
    first = dice.randrange(1, count + 1)
    content = _with(content, 32, struct.pack(">II", first, dice.choice([1, count, 2**31 - 1])))
    links = struct.pack(">II", first, dice.choice([0, 1000])) + struct.pack(">I", first) * 1000
    return _with(content, (first - 1) * PAGE + (100 if first == 1 else 0), links)


def header(content: bytes, dice: random.Random) -> bytes:
    """A field of the first page says something else: the size of pages, the version, the encoding, and so on."""
    start, size = dice.choice(
        [(0, 16), (16, 2), (18, 1), (19, 1), (20, 1), (28, 4), (44, 4), (52, 4), (56, 4), (96, 4)]
    )
    return _with(content, start, dice.randbytes(size))


def page_size(content: bytes, dice: random.Random) -> bytes:
    return _with(content, 16, struct.pack(">H", dice.choice([0, 1, 512, 1024, 2048, 8192, 32768, 4095])))


def schema(content: bytes, dice: random.Random) -> bytes:
    """A letter of the tables' own description."""
    place = dice.choice([place for place in range(100, PAGE) if 0x20 < content[place] < 0x7F])
    return _with(content, place, bytes([dice.choice(b"abcXYZ,()'\xff\x00")]))


def by_sql(statement: str) -> Hurt:
    """What SQLite itself has written, by another hand."""

    def change(content: bytes, dice: random.Random) -> bytes:
        with sqlite3.connect(":memory:") as db:
            db.deserialize(content)
            db.execute("PRAGMA writable_schema = ON")
            db.execute(statement.replace("?", str(dice.randrange(1, RUNS))))
            db.commit()
            content = db.serialize()
        db.close()
        return content

    return change


ODD_VALUES = {
    "a take that is a text": "UPDATE runs SET take = 'first' WHERE id = ?",
    "a price that is a text": "UPDATE runs SET price = 'much' WHERE id = ?",
    "an identity of bytes": "UPDATE runs SET identity = x'ff00' WHERE id = ?",
    "a service of bytes": "UPDATE runs SET service = x'c328' WHERE id = ?",
    "an input of bytes": "UPDATE runs SET input = x'ff' WHERE id = ?",
    "a request that is a number": "UPDATE runs SET request_id = x'7f', attempt = -1 WHERE id = ?",
    "a state of nobody's": "UPDATE runs SET state = 'lost at sea' WHERE id = ?",
    "files that are no JSON": "UPDATE runs SET media = '[{', output = 'x' WHERE id = ?",
    "times that are texts": "UPDATE runs SET created = 'noon', sent = 'later' WHERE id = ?",
    "another take": "UPDATE runs SET take = 9 WHERE id = ?",
    "a text that is no UTF-8": "UPDATE runs SET request_id = CAST(x'ffc3' AS TEXT) WHERE id = ?",
    "an event of bytes": "UPDATE events SET note = CAST(x'ffc3' AS TEXT) WHERE seq = ?",
    "a scope of bytes": "UPDATE OR IGNORE scopes SET scope = CAST(x'ffc3' AS TEXT)",
    "no version": "UPDATE meta SET value = 'one' WHERE name = 'schema'",
    "an alias of bytes": "INSERT INTO meta VALUES ('service at http://a', CAST(x'ffc3' AS TEXT))",
    "no runs": "DELETE FROM runs",
    "a table of another name": "UPDATE sqlite_master SET sql = replace(sql, ' take ', ' tbke ') WHERE name = 'runs'",
    "a key of another name": "UPDATE sqlite_master SET sql = replace(sql, 'name', 'nbme') WHERE name = 'meta'",
    "a count of another name": "UPDATE sqlite_master SET sql = replace(sql, ',seq', ',seb') WHERE name = 'sqlite_sequence'",
    "a number of another name": "UPDATE sqlite_master SET sql = replace(sql, 'seq ', 'seb ') WHERE name = 'events'",
    "a root that is another's": "UPDATE sqlite_master SET rootpage = 2 WHERE name = 'runs'",
    "an index that is gone": "DELETE FROM sqlite_master WHERE name = 'runs_by_request'",
}

FAMILIES: dict[str, Hurt] = {
    "flipped bits": flipped_bits,
    "flipped in the header": flipped_in(0, 100),
    "flipped in the first page": flipped_in(100, PAGE),
    "no text": no_text,
    "a letter of a run": in_a_run,
    "zeroed pages": zeroed,
    "noise": noise,
    "swapped pages": swapped,
    "a page twice": doubled,
    "cut": cut,
    "longer": longer,
    "branches in a loop": looped,
    "a branch for a leaf": branch_for_leaf,
    "a chain in a loop": chain,
    "free pages in a loop": free_list,
    "header": header,
    "page size": page_size,
    "schema": schema,
    **{name: by_sql(statement) for name, statement in ODD_VALUES.items()},
}

AROUND = ("an empty file", "another file", "a folder", "a journal of noise", "a journal of before", "a log of noise")


def hurt(folder: Path, kind: Kind) -> None:
    """Damage a library."""
    dice = random.Random(str(kind))
    path = folder / connection.NAME
    content = path.read_bytes()
    journal = path.with_name(f"{path.name}-journal")
    if kind.family in FAMILIES:
        path.write_bytes(FAMILIES[kind.family](content, dice))
    elif kind.family == "an empty file":
        path.write_bytes(b"")
    elif kind.family == "another file":
        path.write_bytes(dice.randbytes(20_000))
    elif kind.family == "a folder":
        path.unlink()
        path.mkdir()
    elif kind.family == "a journal of noise":
        journal.write_bytes(dice.randbytes(5_000))
    elif kind.family == "a journal of before":
        magic = bytes.fromhex("d9d505f920a163d7")
        head = magic + struct.pack(">IIIII", 1, 0, len(content) // PAGE, 512, PAGE)
        body = struct.pack(">I", dice.randrange(2, 9)) + dice.randbytes(PAGE)
        journal.write_bytes(
            head.ljust(512, b"\0") + body + struct.pack(">I", sum(body[4 + PAGE - 200 :: -200]) & 0xFFFFFFFF)
        )
    else:
        log = folder / second_copy.NAME
        log.write_bytes(noise(log.read_bytes(), dice))


def verdict(db: sqlite3.Connection, ledger: Ledger, number: int) -> str:
    return claims.find_or_claim(db, asked(number), ledger, key=None, take=0).action


def verdicts(folder: Path) -> Counter[str]:
    """What is to be done about each of the runs: one that is sent is paid for again."""
    ledger = Ledger(folder)
    try:
        steps = [ledger.submit(partial(verdict, ledger=ledger, number=number)) for number in range(RUNS)]
        return Counter(step.result(30) for step in steps)
    finally:
        ledger.close()


@dataclass
class Outcome:
    """What came of a damaged library."""

    kind: Kind
    did: Counter[str]
    said: str
    seconds: float
    refused: str | None = None


def outcome(sound: Path, place: Path, kind: Kind) -> Outcome:
    folder = place / "library"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(sound, folder)
    hurt(folder, kind)
    since = time.monotonic()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found, refused = verdicts(folder), None
        except LibraryError as error:
            found, refused = Counter[str](), str(error)
        except Exception as error:
            raise AssertionError(f"{kind}: {type(error).__name__}: {error}") from error
    words = " ".join(str(one.message) for one in said)
    return Outcome(kind, found, words, time.monotonic() - since, refused)


MAY_REFUSE = ("a folder", "header", "flipped in the header", "flipped in the first page", "flipped bits")
"""Where it is not SQLite's file any more, or says that a newer version made it: refused in words, and nothing is sent."""


def check(one: Outcome) -> None:
    """Everything that must be so, whatever the damage."""
    about = f"{one.kind}: {dict(one.did)} in {one.seconds:.1f} s; {one.said or one.refused}"
    assert one.seconds < SECONDS, about
    if one.refused is not None:
        assert one.kind.family in MAY_REFUSE, about
        return
    assert one.did["send"] == 0, about
    assert one.did.total() == RUNS, about
    if one.did["serve"] < RUNS - RUNS // 3:
        assert any(words in one.said for words in ("damaged", "was empty", "put back")), about


KINDS = [Kind(family, 0) for family in (*FAMILIES, *AROUND)] + [
    pytest.param(Kind(family, seed), marks=pytest.mark.deep)
    for family in ("a letter of a run", "no text", "branches in a loop")
    for seed in (1, 2, 3)
]


@pytest.mark.parametrize("reads", ["a step", "a look"])
def test_a_row_that_is_hit_while_the_library_is_open(sound: Path, tmp_path: Path, reads: str) -> None:
    """Who meets it hears nothing of it; what can be read is rescued, and the log knows the rest."""
    folder = shutil.copytree(sound, tmp_path / "library")
    ledger = Ledger(folder)
    with sqlite3.connect(folder / connection.NAME) as db:
        db.execute("UPDATE runs SET request_id = CAST(x'ffc3' AS TEXT), model = CAST(x'ff' AS TEXT) WHERE id = 7")
    db.close()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if reads == "a look":
            rows = ledger.read(lambda db: db.execute("SELECT model, request_id FROM runs").fetchall())
            assert ("svc/boats", request_of(6)) in rows
        done = [ledger.transact_now(partial(verdict, ledger=ledger, number=number)) for number in (5, 6, 7)]
    ledger.close()

    assert done == ["serve", "follow", "serve"]
    assert [*folder.glob("ledger.damaged-*.sqlite")]


def deep_kinds() -> Iterator[Kind]:
    for family in FAMILIES:
        for seed in range(4 if family in ODD_VALUES else 60):
            yield Kind(family, seed)
    for family in AROUND:
        for seed in range(1 if family in ("an empty file", "a folder") else 10):
            yield Kind(family, seed)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_damaged_ledger_opens_and_nothing_is_paid_again(sound: Path, tmp_path: Path, kind: Kind) -> None:
    """Within seconds, with no error but ours; whatever was lost is said, and the log knows what was paid."""
    check(outcome(sound, tmp_path, kind))


@pytest.mark.deep
@pytest.mark.timeout(1800)
def test_a_thousand_kinds_of_damage(sound: Path, tmp_path: Path) -> None:
    """The same, for all places that the dice find."""
    kinds = [*deep_kinds()]
    assert len(kinds) >= 1_000
    found, failures = [], []
    for kind in kinds:
        try:
            found.append(outcome(sound, tmp_path, kind))
            check(found[-1])
        except AssertionError as error:
            failures.append(str(error).splitlines()[0])
    refused = Counter(one.kind.family for one in found if one.refused)
    print(f"{len(found)} kinds, slowest {max(one.seconds for one in found):.1f} s, refused {dict(refused)}")
    print(f"served {sum(one.did['serve'] for one in found):,} of {len(found) * (RUNS - RUNS // 3):,}")
    assert failures == []
