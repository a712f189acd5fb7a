"""Two runs are the same run if, and only if, the same service is asked for the same."""

from __future__ import annotations

from typing import Any

import pytest

import reelbook as rb
from reelbook.models.images import Image
from reelbook.storage.run_identity import dumps, format_canonical, make_identity
from reelbook.util.loopback import normalise_address
from tests.support import png


@pytest.mark.parametrize(
    ("one", "other", "are_same"),
    [
        (1, 1.0, True), (1, True, False), (0, False, False), (0.0, -0.0, True), (10**22, 1e22, True), (2**53, 2**53 + 1, False),
        (0.1 + 0.2, 0.3, False), ("1", 1, False), (None, False, False), ("é", "e\u0301", False), ([1], (1,), True),
        ("\ud83d", "\ude00", False), ("\ud83d\ude00", "😀", False), ("\\ud83d", "\ud83d", False),
    ],
)  # fmt: skip
def test_numbers_count_by_their_value_and_texts_by_their_letters(one: Any, other: Any, are_same: bool) -> None:
    """A whole number may be typed with a fraction; a truth value is no number; letters are never made alike."""
    assert (dumps(one) == dumps(other)) == are_same
    assert (make_identity("m", dumps(one)) == make_identity("m", dumps(other))) == are_same


def test_defaults_are_spelled_out() -> None:
    """Who leaves a field out and who writes its default ask for the same; whole numbers may have a fraction."""
    short = rb.TextToVideo(prompt="a paper boat", seed=7)
    long = rb.TextToVideo(prompt="a paper boat", seed=7, num_frames=121, resolution="720p")

    assert format_canonical(short) == format_canonical(long)
    assert format_canonical(short) != format_canonical(short.revised(seed=8))


def test_the_model_is_part_of_the_name() -> None:
    """The same input of another model is another run, also where a name looks like JSON."""
    names = {make_identity(model, "{}") for model in ("a", "b", 'a"', '{"input":{},"model":"a"}', "")}

    assert len(names) == 5


def test_a_picture_counts_by_its_content() -> None:
    """As bytes, from the library or from a file: it is the hash that counts, and neither label nor address."""
    picture = Image.of(png())
    request = rb.ImageToVideo(prompt="closer", image_url=picture)
    again = rb.ImageToVideo(prompt="closer", image_url="elsewhere.png")
    place = ("image_url",)

    one, other = format_canonical(request, {place: "0" * 64}), format_canonical(again, {place: "0" * 64})

    assert one == other
    assert one != format_canonical(again, {place: "1" * 64})
    assert "elsewhere" not in one


HOSTED, LOCAL = "https://host.example/api", "http://127.0.0.1:8000"


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        (HOSTED, HOSTED),
        (HOSTED + "/", HOSTED),
        (HOSTED + "//", HOSTED),
        ("https://HOST.Example/api", HOSTED),
        ("HTTPS://host.example/api", HOSTED),
        ("http://host.example/api", HOSTED),
        ("http://host.example:80/api", HOSTED),
        ("https://host.example:443/api", HOSTED),
        ("https://host.example./api", HOSTED),
        ("http://localhost:8000", LOCAL),
        ("http://[::1]:8000", LOCAL),
        ("https://other.example/api", "https://other.example/api"),
        ("https://host.example/staging", "https://host.example/staging"),
        ("http://127.0.0.1:8001", "http://127.0.0.1:8001"),
    ],
)
def test_every_spelling_of_an_address_names_one_service(spelling: str, name: str) -> None:
    """And another address names another service."""
    assert normalise_address(spelling) == name
