"""Sheets and strips of tables: what is on them, read from their pixels and from what was written."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from IPython.core.formatters import DisplayFormatter
from PIL import Image, ImageSequence

import reelbook as rb
from reelbook.display.sheets import Canvas, draw_sheet, draw_strip, write_gif
from reelbook.display.theme import read_colours
from reelbook.media.lettering import Lettering
from tests.clips import DARKEST, STEP, at, film
from tests.display.stand_in import run_of, table_of

PAPER = (255, 255, 255)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every text that is drawn from now on, before it is cut."""
    words: list[str] = []
    write = Canvas.write

    def listen(self: Canvas, at: Any, text: str, room: float, colour: str, lettering: Lettering) -> None:
        words.append(text)
        write(self, at, text, room, colour, lettering)

    monkeypatch.setattr(Canvas, "write", listen)
    return words


def greys(picture: Image.Image, top: int, bottom: int) -> list[int]:
    """The numbers of the frames in a stretch of a sheet, from left to right: a film of ours is greyer with each."""
    pixels = np.asarray(picture.convert("RGB"))[top:bottom]
    found: list[int] = []
    for x in range(pixels.shape[1]):
        column = pixels[:, x].astype(int)
        middle = column[len(column) // 2]
        # Only what is the same grey from top to bottom: neither letters nor ground.
        if np.ptp(middle) <= 6 and np.ptp(column[:, 0]) <= 4 and middle[0] < 225:
            number = round((middle[0] - DARKEST) / STEP)
            if not found or found[-1] != number:
                found.append(number)
    return found


def colours_of(picture: Image.Image) -> set[str]:
    """Every colour that is on a picture."""
    packed = np.asarray(picture.convert("RGB")).astype(int) @ (1 << 16, 1 << 8, 1)
    return {f"#{value:06x}" for value in np.unique(packed)}


def picture_at(path: Path, size: tuple[int, int], colour: str = "red", mode: str = "RGB") -> str:
    Image.new(mode, size, colour).save(path)
    return str(path)


class TestSheet:
    def test_time_goes_across(self, tmp_path: Path) -> None:
        """The first frame, the last, and those evenly between them; each cell is one of them."""
        picture = draw_sheet(table_of(film(tmp_path / "clip.mp4").path), frames=5)

        assert picture.size[0] == 1600
        assert greys(picture, 230, 240) == [0, 6, 12, 18, 24]

    def test_the_header_tells_seconds_where_all_are_equally_long(self, tmp_path: Path, written: list[str]) -> None:
        """Else it tells the part of the whole; one frame alone is that in the middle."""
        long, short = film(tmp_path / "long.mp4").path, film(tmp_path / "short.mp4", frames=13).path

        draw_sheet(table_of(long, long), frames=3)
        equal = list(written)
        written.clear()
        draw_sheet(table_of(long, short), frames=3)
        unequal = list(written)
        one = draw_sheet(table_of(long), frames=1)

        assert [word for word in equal if word.endswith(" s")] == ["0.00 s", "0.50 s", "1.00 s"]
        assert [word for word in unequal if word in ("start", "50%", "end")] == ["start", "50%", "end"]
        assert any("25 frames at 24/s" in word for word in equal)
        assert not any("frames at" in word for word in unequal)
        assert greys(one, 230, 240) == [12]

    def test_a_run_is_told_by_what_varies(self, tmp_path: Path, written: list[str]) -> None:
        """What all have in common stands once, above; other columns can be chosen."""
        clip = film(tmp_path / "clip.mp4", frames=2).path
        table = table_of(clip, clip, prompt="a paper boat", num_frames=[9, 17], credits=53, credits_source="charged")

        draw_sheet(table)
        by_itself = list(written)
        written.clear()
        draw_sheet(table, labels=["num_frames"])

        assert by_itself[:2] == ["a paper boat", "2 runs · 2 completed · 106 credits · 64×48 · 2 frames at 24/s"]
        assert "9 frames" in "".join(written)
        assert not any("seed" in word for word in written)
        assert any("seed 1" in word for word in by_itself)
        with pytest.raises(rb.ReelbookError, match="Did you mean 'num_frames'"):
            draw_sheet(table, labels="num_frame")

    def test_a_run_without_a_file_says_how_it_stands(self, tmp_path: Path, written: list[str]) -> None:
        """It keeps its place, with its word and the reason; a file that is gone or broken says that."""
        clip = film(tmp_path / "clip.mp4", noise=40).path
        (tmp_path / "torn.mp4").write_bytes(clip.read_bytes()[:900])
        table = table_of(clip, None, tmp_path / "gone.mp4", tmp_path / "torn.mp4")
        table["error"] = [None, "The picture could not be read.", None, None]

        picture = draw_sheet(table)

        assert {"failed", "The picture could not be read.", "file is gone", "file cannot be read"} <= set(written)
        assert read_colours(is_dark=False)["raised"] in colours_of(picture)

    def test_pictures_stand_side_by_side(self, tmp_path: Path, written: list[str]) -> None:
        """Several outputs of a run go across, under their sizes."""
        red, blue = picture_at(tmp_path / "a.png", (40, 80)), picture_at(tmp_path / "b.png", (90, 30), "blue")
        table = pd.DataFrame({"seed": [1, 2], "output_images": [[red, blue], [red, blue]], "status": "completed"})

        picture = draw_sheet(table)

        assert {"#ff0000", "#0000ff"} <= colours_of(picture)
        assert {"40×80", "90×30"} <= set(written)

    def test_a_picture_for_each_run_makes_a_grid(self, tmp_path: Path, written: list[str]) -> None:
        """A column of single pictures would waste the rest of the sheet."""
        paths = [[picture_at(tmp_path / f"{number}.png", (60, 40))] for number in range(9)]
        table = pd.DataFrame({"seed": range(9), "output_images": paths, "status": "completed"})

        picture = draw_sheet(table)

        assert picture.height < picture.width
        assert {f"run {number} · seed {number}" for number in range(9)} <= set(written)

    def test_a_long_table_says_what_is_left_out(self, written: list[str]) -> None:
        """And how to get it; a picture that programs can open ends somewhere."""
        picture = draw_sheet(table_of(*[None] * 450))

        assert "The first 100 of 450 runs. The next ones: table[100:].reel.sheet()" in written
        assert picture.height < 30_500

    @pytest.mark.parametrize(
        "prompt", ["very long " * 200, "قارب ورقي في شارع ممطر", "纸船在雨中的街道上", "🚀👩‍🚀\0\u202e", ""]
    )
    def test_every_text_fits(self, tmp_path: Path, prompt: str) -> None:
        """Nothing is written over the pictures, whatever a person has typed."""
        clip = film(tmp_path / "clip.mp4", frames=2, size=(320, 180)).path

        picture = draw_sheet(table_of(clip, clip, prompt=["a boat", prompt]), frames=4)

        lower = np.asarray(picture.convert("L"))[-90:-70]
        assert set(np.unique(lower[:, 800:1100])) <= {*range(10, 40), *range(250, 256)}

    def test_it_is_light_unless_dark_was_chosen(self) -> None:
        """A picture has no host to ask for its colours."""
        table = table_of(None)
        with rb.options(theme="dark"):
            dark = draw_sheet(table).getpixel((0, 0))

        assert draw_sheet(table).getpixel((0, 0)) == PAPER
        assert dark == (15, 19, 24)

    def test_what_cannot_be_drawn_is_refused(self) -> None:
        """With what would do instead; a white picture would say nothing."""
        for wrong, words in (({"frames": 0}, "1 to 24"), ({"frames": True}, "whole number"), ({"width": 10}, "320")):
            with pytest.raises(rb.ReelbookError, match=words):
                draw_sheet(table_of(None), **wrong)
        with pytest.raises(rb.ReelbookError, match="no runs"):
            draw_sheet(table_of(None)[:0])


def test_clips_move_together_in_an_animation(tmp_path: Path) -> None:
    """As quick as they are, and a shorter one stays on its last frame; nothing is written of a table without a clip."""
    short, long = film(tmp_path / "short.mp4", frames=12).path, film(tmp_path / "long.mp4").path

    with Image.open(write_gif(table_of(short, long), tmp_path / "a.gif", width=640)) as picture:
        lasting, shown = 0, []
        for step in ImageSequence.Iterator(picture):
            lasting += step.info["duration"]
            left, *others = greys(step, picture.height - 60, picture.height - 50)
            shown.append((left, others[-1] if others else left))

    assert lasting == pytest.approx(1000 * 25 / 24, abs=60)
    assert shown[0] == (0, 0)
    assert 10 <= shown[-1][0] <= 12
    assert 21 <= shown[-1][1] <= 24
    with pytest.raises(rb.ReelbookError, match="1 to 60 clips, and this table has 0"):
        write_gif(table_of(None), tmp_path / "b.gif")
    with pytest.raises(rb.ReelbookError, match="gif"):
        write_gif(table_of(short), tmp_path / "b.mp4")
    assert not list(tmp_path.glob("b.*"))


class TestStrip:
    def test_it_is_one_clip_over_time(self, tmp_path: Path, written: list[str]) -> None:
        """With its times and what is known of it."""
        clip = film(tmp_path / "clip.mp4")

        picture = draw_strip(clip, frames=3, width=800)

        assert greys(picture, 110, 130) == [0, 12, 24]
        assert [word for word in written if word] == [
            *("clip.mp4", "64×48 · 25 frames at 24/s · 1.0 s"),
            *("0.00 s", "0.50 s", "1.00 s"),
        ]
        assert draw_strip(str(clip.path), frames=3, width=800).tobytes() == picture.tobytes()

    def test_what_has_no_frames_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A run that is not done, a file that is gone, one that cannot be read, and something else."""
        run = run_of(status="IN_QUEUE")
        monkeypatch.setattr("reelbook.display.sheets.Run", type(run))
        (tmp_path / "torn.mp4").write_bytes(b"torn")

        with pytest.raises(rb.ReelbookError, match="IN_QUEUE"):
            draw_strip(run)
        with pytest.raises(rb.ReelbookError, match="not there any more"):
            draw_strip(tmp_path / "gone.mp4")
        with pytest.raises(rb.ReelbookError, match="cannot be read"):
            draw_strip(at(tmp_path / "torn.mp4"))
        with pytest.raises(rb.ReelbookError, match="of a run or of a file"):
            draw_strip(7)  # type: ignore[arg-type]


def test_a_notebook_keeps_a_sheet_in_few_bytes(tmp_path: Path) -> None:
    """However grainy 12 runs are: as one small JPEG, not also as a PNG; saved as PNG it has every pixel."""
    clip = film(tmp_path / "clip.mp4", frames=6, size=(320, 180), noise=120).path
    drawn = draw_sheet(table_of(*[clip] * 12))
    bundle = DisplayFormatter().format(drawn)[0]  # type: ignore[no-untyped-call]  # IPython is untyped here

    (shown,) = re.findall(r"data:image/jpeg;base64,([\w+/=]+)", bundle["text/html"])
    drawn.save(tmp_path / "whole.png")

    assert set(bundle) == {"text/plain", "image/jpeg", "text/html"}
    assert str(drawn.width) in bundle["text/plain"]
    assert len(bundle["image/jpeg"]) < len(base64.b64decode(shown)) <= 300_000
    assert 1000 <= Image.open(io.BytesIO(base64.b64decode(shown))).width <= drawn.width == 1600
    assert np.array_equal(np.asarray(Image.open(tmp_path / "whole.png")), np.asarray(drawn))


class TestLabelsOfSeveralModels:
    def test_each_model_is_told_by_what_varies_in_it(self, written: list[str]) -> None:
        """Its short name comes first; what only the other models have is not named at all."""
        clips = pd.DataFrame(
            {"model": "svc/text-to-video", "prompt": "a boat", "loras": [[], []], "seed": [7, 8], "status": "failed"}
        )
        sized = pd.DataFrame({"model": "svc/smart-resize", "prompt": "", "seed": [1, 2], "status": "failed"})
        table = pd.concat([clips, sized], ignore_index=True).assign(output_video=None)

        draw_sheet(table)

        assert [words for words in written if "seed" in words] == [
            *(f"run {run} · text-to-video · seed {seed}" for run, seed in enumerate((7, 8))),
            *(f"run {run} · smart-resize · seed {seed}" for run, seed in enumerate((1, 2), 2)),
        ]
        assert not any("loras" in words or '""' in words or "–" in words for words in written)
