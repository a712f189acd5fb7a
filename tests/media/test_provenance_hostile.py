"""Files from strangers: whatever they say of their making, reading them gives clean values or one clear error."""

from __future__ import annotations

import json
import struct
import time
import tracemalloc
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reelbook.errors import ReelbookError
from reelbook.media.metadata.packets import make_packet
from reelbook.media.metadata.provenance import Provenance, read, write
from reelbook.media.metadata.run_record import format_record, parse_record
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.text_to_video import TextToVideo
from tests.media.making import FACTS, KINDS, MODEL, signed
from tests.media.test_packets import chunk, picture
from tests.support import examples


def with_chunks(*chunks: bytes) -> bytes:
    """A small PNG with these chunks right behind its header."""
    data = picture("png")
    return data[:33] + b"".join(chunks) + data[33:]


def told(texts: dict[str, str], folder: Path) -> Provenance | None:
    """What is read from a PNG with these texts, the one called `reelbook` in our packet; None for the error."""
    packed = {
        "XML:com.adobe.xmp" if name == "reelbook" else name: make_packet(text) if name == "reelbook" else text.encode()
        for name, text in texts.items()
    }
    chunks = [chunk(b"iTXt", name.encode() + b"\0\0\0\0\0" + text) for name, text in packed.items()]
    (folder / "a.png").write_bytes(with_chunks(*chunks))
    try:
        return read(folder / "a.png")
    except ReelbookError:
        return None


def record(**changes: Any) -> str:
    """An engine's record with these values in it."""
    sound = {"endpointId": MODEL, "input": {"prompt": "a boat"}, "seed": 7, "engine": "sketch", "engineVersion": "1"}
    return json.dumps({**sound, **changes})


JUNK: list[Any] = [None, True, 7, 1.5, 1e400, -1, "", "x", [], {}, [[[]]], {"a": {"b": []}}, "9" * 5000, 10**4000]


@pytest.mark.parametrize("name", ["reelbook", "generation"])
@pytest.mark.parametrize(
    "field", ["endpointId", "input", "seed", "engine", "engineVersion", "requestId", "credits", "creditsSource", "madeAt", "service"]
)  # fmt: skip
def test_a_value_of_the_wrong_type_is_none(name: str, field: str, tmp_path: Path) -> None:
    """Each field with each kind of junk: what is given has the type it should have, or is None."""
    for junk in JUNK:
        found = told({name: record(**{field: junk}).replace("Infinity", "1e400")}, tmp_path)

        if found is None:
            continue
        texts = (found.model, found.engine, found.engine_version, found.request_id, found.credits_source, found.service)
        assert all(text is None or (isinstance(text, str) and 0 < len(text) <= 300) for text in texts)
        assert {type(found.seed), type(found.credits)} <= {int, type(None)}
        assert isinstance(found.values, dict)


@pytest.mark.parametrize(
    "asked",
    [
        {f"field{number}": number for number in range(50_000)},
        {"prompt": "x", "loras": [{"path": 1}] * 20_000},
        {"prompt": "x" * 900_000},
        {"prompt": "x", "num_frames": 10**4000},
        {"prompt": {"__class__": "os.system"}, "seed": "__import__('os').system('id')"},
        {"self": 1, "values": 2, "__init__": 3, "prompt": "x"},
    ],
    ids=lambda asked: next(iter(asked)),
)
def test_hostile_values_take_no_time_and_make_no_input(asked: dict[str, Any], tmp_path: Path) -> None:
    """Fields in masses, lists of junk, numbers beyond measure: a second at most, and plain values at the end."""
    start = time.process_time()

    found = told({"generation": record(input=asked)}, tmp_path)

    assert time.process_time() - start < 2
    assert found is not None
    assert found.input is None or len(asked["prompt"]) == 900_000


@pytest.mark.parametrize(
    "picture", [1, None, [], {}, [[0, 0, 0]] * 50, {"url": "a.png"}, "", "\0", "x" * 100_000, "sha256:" + "z" * 64, "file:///etc/passwd"]
)  # fmt: skip
def test_a_hostile_picture_opens_nothing(picture: Any, tmp_path: Path) -> None:
    """Whatever stands where a picture should, reading it looks at no file and keeps no folder."""
    found = told(
        {"generation": record(endpointId=ImageToVideo.endpoint_id, input={"prompt": "x", "image_url": picture})},
        tmp_path,
    )

    assert found is not None
    assert not isinstance(found.input, ImageToVideo) or "/" not in found.input.image_url


def test_words_come_without_what_moves_a_cursor(tmp_path: Path) -> None:
    """Names and ids are printed in terminals; the prompt is kept as it is, and escaped by whoever shows it."""
    dirty = "\x1b[2J\x07so\u202eme\0thing\u2066"
    found = told({"reelbook": record(service=dirty, requestId=dirty, engine=dirty, input={"prompt": dirty})}, tmp_path)

    assert found is not None
    assert {found.service, found.request_id, found.engine} == {"[2Jsomething"}
    assert found.input is not None
    assert found.input["prompt"] == dirty
    assert "\x1b" not in repr(found)
    assert "\u202e" not in repr(found)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A file of each kind with both records."""
    folder = tmp_path_factory.mktemp("sound")
    for kind in KINDS:
        write(signed(folder / f"signed.{kind}"), folder / f"copy.{kind}", FACTS)
    return {kind: (folder / f"copy.{kind}").read_bytes() for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(15, 150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused_and_always_copied(
    kind: str, sound: dict[str, bytes], tmp_path: Path, data: st.DataObject
) -> None:
    """Bytes changed anywhere, cut anywhere: an answer or our error, and a copy; never another error."""
    content = bytearray(sound[kind])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.sampled_from([0, 1, 8, 0x7F, 0xFF]))
    content = content[: data.draw(st.just(len(content)) | st.integers(0, len(content)))]
    path = tmp_path / f"a.{kind}"
    path.write_bytes(content)

    with suppress(ReelbookError):
        assert isinstance(read(path), Provenance)
    write(path, tmp_path / f"b.{kind}", FACTS)

    assert (tmp_path / f"b.{kind}").exists()


def _declared(kind: str) -> bytes:
    huge = 200_000_000
    packed = zlib.compress(bytes(2**25), 1)
    return {
        "png": with_chunks(struct.pack(">I", huge) + b"iTXtreelbook\0"),
        "bomb": with_chunks(*[chunk(b"zTXt", b"b%d\0\0" % number + packed) for number in range(20)]),
        "jpeg": b"\xff\xd8" + (b"\xff\xfe\xff\xff" + bytes(65_533)) * 20,
        "webp": b"RIFF" + struct.pack("<I", huge) + b"WEBPXMP " + struct.pack("<I", huge),
        "mp4": struct.pack(">I4s4sI", 16, b"ftyp", b"isom", 0) + struct.pack(">I4s", huge, b"moov"),
    }[kind]


@pytest.mark.parametrize("kind", ["png", "bomb", "jpeg", "webp", "mp4"])
def test_a_small_file_takes_no_large_memory(kind: str, tmp_path: Path) -> None:
    """Texts that unpack to gigabytes and chunks that claim 200 MB take a few megabytes to read."""
    (tmp_path / "a.bin").write_bytes(_declared(kind))

    tracemalloc.start()
    try:
        with pytest.raises(ReelbookError, match="carries no provenance"):
            read(tmp_path / "a.bin")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 30_000_000


def test_a_record_has_only_facts_of_the_run_and_has_bounds() -> None:
    """Not where a library keeps it; an input beyond all measure is left out, and the run stays."""
    assert format_record({"request_id": "r", "path": "/home/jane", "credits": None}) == '{"requestId":"r"}'
    for values in (TextToVideo(prompt="x" * 1_000_000), {"images": ["https://example.org/a.png"] * 100_000}):
        assert json.loads(format_record({"input": values, "seed": 7})) == {"input": None, "seed": 7}


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"a":', "not JSON", '{"a":' * 100_000, '{"a":' * 60 + "1" + "}" * 60, '{"seed":' + "9" * 5000 + "}", '{"a":"' + "x" * 3_000_000 + '"}'],
    ids=lambda text: text[:12],
)  # fmt: skip
def test_what_is_no_record_is_none(text: str) -> None:
    """Not JSON, not an object, too deep, too long, numbers that Python does not read."""
    assert parse_record(text) is None
