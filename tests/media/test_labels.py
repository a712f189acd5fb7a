"""Labels in any script: which font has what, and what is written where none has it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from reelbook.media import lettering as labels
from reelbook.media.lettering import Lettering, flatten, split_by_font
from tests.media.fonts import font

ARABIC, CHINESE = "قارب ورقي", "纸船"


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A machine whose fonts the test chooses; at first it has none."""
    for known in (labels.split_by_font, labels._find_font, labels._usual, labels._has):
        known.cache_clear()
    monkeypatch.setattr(labels, "find_font_files", lambda: ())
    yield monkeypatch
    for known in (labels.split_by_font, labels._find_font, labels._usual, labels._has):
        known.cache_clear()


def drawn(text: str, room: float | None = None) -> Image.Image:
    """A label in black on white."""
    picture = Image.new("L", (900, 60), 255)
    Lettering(26).draw(ImageDraw.Draw(picture), 0, 0, text, "black", room=room)
    return picture


class TestCoverage:
    @pytest.mark.parametrize("characters", ["abc", "a\u4e2d\u4e2e\u4e2f", "x\U0001f680\U0001f681", "\uffee"])
    def test_it_has_what_the_font_has_and_nothing_else(self, tmp_path: Path, characters: str) -> None:
        """Characters of the first plane and beyond it, which a font lists in two different tables."""
        file = str(font(tmp_path / "some.ttf", characters))

        assert labels._has_all(file, characters)
        assert not any(labels._has(file, one) for one in "bdyz\u4e2c\u4e30\U0001f682" if one not in characters)


class TestFonts:
    def test_each_character_is_from_a_font_that_has_it(self, tmp_path: Path, only: pytest.MonkeyPatch) -> None:
        """What the usual font lacks comes from another one, and is drawn rather than named."""
        other = str(font(tmp_path / "other.ttf", CHINESE))
        only.setattr(labels, "find_font_files", lambda: (other,))

        found = split_by_font(f"boat {CHINESE} 7")

        assert [(run.text, run.font == other) for run in found] == [
            ("boat ", False),
            (f"{CHINESE} ", True),
            ("7", False),
        ]
        assert drawn(CHINESE).getpixel((8, 18)) == 0

    def test_what_no_font_has_is_named(self, only: pytest.MonkeyPatch) -> None:
        """A code point can be looked up; a row of boxes says nothing."""
        assert "".join(run.text for run in split_by_font("a 船 🚀 \ud83d")) == "a [U+8239] [U+1F680] [U+D83D]"

    def test_signs_that_say_the_same_stand_in(self, only: pytest.MonkeyPatch) -> None:
        """On a machine without fonts sizes and estimates stay readable."""
        assert "".join(run.text for run in split_by_font("1280×720 – ≈ 53")) == "1280x720 - ~ 53"

    def test_a_font_that_cannot_be_opened_is_passed_over(self, tmp_path: Path, only: pytest.MonkeyPatch) -> None:
        """It tells its characters and is cut off after them, or is gone by now."""
        whole = font(tmp_path / "whole.ttf", CHINESE)
        torn = tmp_path / "torn.ttf"
        torn.write_bytes(whole.read_bytes()[:-600])
        fonts = ((str(tmp_path / "gone.ttf")), (str(torn)), (str(whole)))
        only.setattr(labels, "find_font_files", lambda: fonts)

        assert [run.font for run in split_by_font(CHINESE)] == [fonts[2]]

    def test_the_fonts_of_this_machine_are_files(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """In the folders of the system and of the user; upright ones come before bold ones."""
        (tmp_path / "more").mkdir()
        mine = font(tmp_path / "more" / "mine-bold.ttf", "a"), font(tmp_path / "mine.ttf", "a")
        (tmp_path / "note.txt").touch()
        monkeypatch.setattr(labels, "_font_folders", lambda: [tmp_path, tmp_path / "not there"])

        assert labels.find_font_files.__wrapped__() == tuple(str(path) for path in mine[::-1])


class TestRightToLeft:
    def test_facts_after_a_prompt_stay_where_they_are(self, tmp_path: Path, only: pytest.MonkeyPatch) -> None:
        """What follows a prompt that is written from the right does not move before it."""
        only.setattr(labels, "find_font_files", lambda: ((str(font(tmp_path / "other.ttf", ARABIC))),))

        assert [run.text for run in split_by_font(f"{ARABIC} · seed 7")] == [f"{ARABIC} ", "· seed 7"]

    def test_nothing_turns_the_rest_around(self) -> None:
        """Signs that steer the order are left out, with those that steer a terminal."""
        assert flatten("a\u202eb\u2066c\x1b[31m\0d\ne\u2028f") == "abc[31md e f"


class TestRoom:
    def test_a_label_never_leaves_its_room(self) -> None:
        """However long, of whatever letters; what was cut ends with an ellipsis."""
        for text in ("a paper boat " * 200, "W" * 2000, "船" * 300, ARABIC * 50):
            shown = Lettering(26).cut(text, 300)

            assert shown.endswith("…")
            assert 150 < Lettering(26).width(shown) <= 300
            assert drawn(text, 300).crop((304, 0, 900, 60)).getextrema() == (255, 255)

    def test_lines_are_broken_between_words(self) -> None:
        """Each fits; long words are broken; the last line tells that there is more."""
        lines = Lettering(26).lines("a paper boat on a rainy street in the evening " + "w" * 90, 220, 4)

        assert len(lines) == 4
        assert all(Lettering(26).width(line) <= 220 for line in lines)
        assert lines[0].split()[-1] in ("boat", "paper", "on")
        assert lines[-1].endswith("…")
        assert Lettering(26).lines("boat", 220, 4) == ["boat"]
        assert Lettering(26).lines(" \n", 220, 4) == []

    def test_a_mark_stays_with_its_letter(self) -> None:
        """A cut does not fall between a letter and its accent."""
        text = "e\u0301" * 100

        for room in range(60, 120, 7):
            shown = Lettering(26).cut(text, room).removesuffix("…")
            assert len(shown) % 2 == 0
