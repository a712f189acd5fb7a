"""Labels: which font they are in, and that they stay in their room."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from matplotlib import get_data_path
from PIL import Image, ImageDraw

from reelbook.media import lettering as labels
from reelbook.media.lettering import Lettering, find_font, flatten

USUAL, OTHER = (Path(get_data_path(), "fonts", "ttf", name) for name in ("DejaVuSans.ttf", "STIXGeneral.ttf"))
WATCH = "⌚"
"""A character that only the other one of these fonts has."""


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A machine whose fonts the test chooses."""
    for known in (labels.find_font, labels._has_all, labels._find_installed):
        known.cache_clear()
    yield monkeypatch
    for known in (labels.find_font, labels._has_all, labels._find_installed):
        known.cache_clear()


def drawn(text: str, room: float) -> Image.Image:
    """A label in black on white."""
    picture = Image.new("L", (900, 60), 255)
    Lettering(26).draw(ImageDraw.Draw(picture), 0, 0, text, "black", room=room)
    return picture


def test_a_label_is_in_a_font_that_has_its_characters(tmp_path: Path, only: pytest.MonkeyPatch) -> None:
    """What the usual font lacks is drawn with another one; one that is damaged or gone is passed over."""
    torn = tmp_path / "torn.ttf"
    torn.write_bytes(OTHER.read_bytes()[:5_000])
    only.setattr(labels, "FONTS", tuple(map(str, (tmp_path / "gone.ttf", torn, USUAL, OTHER))))

    assert find_font("boat × 7") == str(USUAL)
    assert find_font(f"boat {WATCH} 7") == str(OTHER)
    assert find_font("船 that no font has") == str(USUAL)


def test_without_any_fonts_sizes_stay_readable(only: pytest.MonkeyPatch) -> None:
    """A server may have none."""
    only.setattr(labels, "FONTS", ())

    assert flatten("1280×720 – ≈ 53") == "1280x720 - ~ 53"


def test_nothing_turns_the_rest_around() -> None:
    """Signs that steer the order are left out, with those that steer a terminal."""
    assert flatten("a\u202eb\u2066c\x1b[31m\0d\ne\u2028f\ud83d") == "abc[31md e f"


def test_a_label_never_leaves_its_room() -> None:
    """However long, of whatever letters; what was cut ends with an ellipsis."""
    for text in ("a paper boat " * 200, "W" * 2000, "船" * 300):
        shown = Lettering(26).cut(text, 300)

        assert shown.endswith("…")
        assert 150 < Lettering(26).width(shown) <= 300
        assert drawn(text, 300).crop((304, 0, 900, 60)).getextrema() == (255, 255)


def test_lines_are_broken_between_words() -> None:
    """Each fits; long words are broken; the last line tells that there is more."""
    lines = Lettering(26).lines("a paper boat on a rainy street in the evening " + "w" * 90, 220, 4)

    assert len(lines) == 4
    assert all(Lettering(26).width(line) <= 220 for line in lines)
    assert lines[0].split()[-1] in ("boat", "paper", "on")
    assert lines[-1].endswith("…")
    assert Lettering(26).lines("boat", 220, 4) == ["boat"]
    assert Lettering(26).lines(" \n", 220, 4) == []
