"""How much of a file goes into a notebook, at each level."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image

from reelbook.display import embedding
from reelbook.display.figure import file_figure
from reelbook.display.formatting import format_size
from reelbook.display.run_card import run_figure
from reelbook.media.local_file import LocalFile
from reelbook.settings import options
from tests.clips import at, film
from tests.display.embedded import decoded
from tests.display.stand_in import bare, run_of
from tests.support import png


@pytest.fixture(scope="module")
def light(tmp_path_factory: pytest.TempPathFactory) -> LocalFile:
    """A clip that is small as it is."""
    return film(tmp_path_factory.mktemp("films") / "light.mp4", size=(320, 180))


@pytest.fixture(scope="module")
def heavy(tmp_path_factory: pytest.TempPathFactory) -> LocalFile:
    """A clip of half a megabyte and more."""
    clip = film(tmp_path_factory.mktemp("films") / "heavy.mp4", size=(640, 360), noise=12)
    assert clip.path.stat().st_size > 500_000
    return clip


def clip_in(html: str) -> tuple[str, bytes] | None:
    """The clip that a page holds."""
    players = bare(html).all("video")
    return decoded(players[0]["src"]) if players else None


class TestByItself:
    """A clip that is shown alone plays anywhere, also reopened without a kernel."""

    @pytest.mark.parametrize("level", ["poster", "preview", "full"])
    def test_a_small_file_is_there_whole(self, light: LocalFile, level: str) -> None:
        """The bytes in the page are those of the file, and it can be saved as what it is."""
        with options(embed=level):
            html = file_figure(light)

        assert clip_in(html) == ("video/mp4", light.path.read_bytes())
        assert "data-rb-whole" in bare(html).one("figure")

    @pytest.mark.parametrize("level", ["poster", "preview"])
    def test_of_a_large_one_there_is_a_small_copy(self, heavy: LocalFile, level: str, tmp_path: Path) -> None:
        """At most 150 kB, frame for frame; the line says that it is a copy, and still how large the file is."""
        with options(embed=level):
            html = file_figure(heavy)

        found = clip_in(html)
        assert found
        kind, content = found
        (tmp_path / "small.mp4").write_bytes(content)
        assert kind == "video/mp4"
        assert len(content) <= 150_000
        assert at(tmp_path / "small.mp4").probe.frames == heavy.probe.frames
        assert f"preview 480×270, {len(content) / 1000:.0f} kB" in bare(html).text
        assert "data-rb-whole" not in bare(html).one("figure")

    def test_full_is_the_file_itself(self, heavy: LocalFile) -> None:
        """Byte for byte."""
        with options(embed="full"):
            html = file_figure(heavy)

        assert clip_in(html) == ("video/mp4", heavy.path.read_bytes())

    def test_full_stops_where_a_notebook_would_break(self, heavy: LocalFile, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file beyond 20 MB is a copy there too, and the line says why, and how large it is."""
        monkeypatch.setattr(embedding, "MAX_FULL_BYTES", 400_000)

        with options(embed="full"):
            html = file_figure(heavy)

        found = clip_in(html)
        assert found
        assert len(found[1]) <= 150_000
        assert (
            f"because a file of {format_size(heavy.path.stat().st_size)} is too large for a notebook" in bare(html).text
        )


class TestAmongOthers:
    """Where many are shown, each brings pictures only, unless more is asked for."""

    def test_by_default_there_is_a_poster_only(self, light: LocalFile) -> None:
        """One picture, no player, and little more than the markup."""
        html = file_figure(light, many=True)

        assert clip_in(html) is None
        assert len(bare(html).all("img")) == 1

    def test_preview_brings_the_clips_along(self, heavy: LocalFile) -> None:
        """At most 150 kB each."""
        with options(embed="preview"):
            found = clip_in(file_figure(heavy, many=True))

        assert found
        assert len(found[1]) <= 150_000

    def test_several_files_of_one_run_are_many(self, light: LocalFile) -> None:
        """A run with a row of clips does not fill the notebook."""
        html = run_figure(run_of(light, light, light))

        posters = bare(html).all("img")
        assert [poster["data-rb-path"] for poster in posters] == [light.path.name] * 3
        assert html.count("<script") == 1
        assert clip_in(html) is None


@pytest.mark.parametrize("level", ["poster", "full"])
def test_what_browsers_do_not_play_goes_in_as_a_copy(tmp_path: Path, level: str) -> None:
    """A .mov that calls itself one is refused by Chromium, also where it holds what Chromium plays."""
    clip = at(film(tmp_path / "made.mp4", frames=3).path.rename(tmp_path / "a.mov"))

    with options(embed=level):
        shown = embedding.embed_clip(clip)

    assert (shown.mime_type, shown.is_whole) == ("video/mp4", False)
    assert shown.content != clip.path.read_bytes()
    assert "browsers do not play .mov files" in shown.note


def test_a_picture_goes_in_as_it_is_or_as_a_jpeg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small ones whole; of a large one as much as is seen; `full` takes it whole again."""
    (tmp_path / "a.png").write_bytes(png(1600, 900))
    file, count = at(tmp_path / "a.png"), len(png(1600, 900))
    whole = embedding.embed_picture(file, 640)
    monkeypatch.setattr(embedding, "MAX_PREVIEW_BYTES", count - 1)

    small = embedding.embed_picture(file, 640)
    with options(embed="full"):
        full = embedding.embed_picture(file, 640)

    assert (whole.mime_type, whole.content, whole.is_whole) == ("image/png", png(1600, 900), True)
    assert (small.mime_type, small.is_whole) == ("image/jpeg", False)
    assert Image.open(io.BytesIO(small.content)).width in (640, 1280)
    assert full.content == png(1600, 900)
