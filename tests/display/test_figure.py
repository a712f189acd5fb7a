"""Files as figures: what is in them, how large, and how much of them goes into a notebook."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from reelbook.display import embedding
from reelbook.display.embedding import FRAMES, GAP, HEIGHT
from reelbook.display.figure import file_figure
from reelbook.display.run_card import run_figure, run_strip_jpeg
from reelbook.media.local_file import LocalFile
from reelbook.models.text_to_video import TextToVideo
from reelbook.settings import options
from tests.clips import at, film, number_of
from tests.display.stand_in import bare, decoded, run_of
from tests.support import png

BOAT = TextToVideo(prompt="a paper boat", num_frames=49, seed=7)
FACTS = {
    "model": BOAT.endpoint_id, "input": BOAT.wire(), "seed": 7, "request_id": "request-1", "credits": 53, "credits_source": "charged",
}  # fmt: skip


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> LocalFile:
    return film(tmp_path_factory.mktemp("films") / "clip.mp4", size=(320, 180))


def known(file: LocalFile, **changes: Any) -> LocalFile:
    """The file with what a run tells of it."""
    return replace(file, facts={**FACTS, **changes})


def picture(uri: str) -> Image.Image:
    return Image.open(io.BytesIO(decoded(uri)[1]))


def box(attributes: dict[str, str]) -> tuple[int, int]:
    return int(attributes["width"]), int(attributes["height"])


def caption(html: str) -> str:
    """The line under a figure."""
    found = re.search(r"<figcaption[^>]*>(.*?)</figcaption>", html, re.DOTALL)
    assert found
    return bare(found[1]).text


class TestVideo:
    """A clip as a figure."""

    def test_it_waits_in_a_place_of_its_own_shape(self, clip: LocalFile) -> None:
        """With buttons, muted, until it is started; its poster is a JPEG of the middle frame, and nothing jumps when it loads."""
        player = bare(run_figure(run_of(clip))).one("video")
        poster = picture(player["poster"])

        assert {"controls", "muted", "playsinline", "loop"} <= player.keys()
        assert "autoplay" not in player
        assert player["preload"] == "metadata"
        assert (poster.format, poster.size) == ("JPEG", (320, 180))
        assert number_of(poster) in (12, 13)
        assert box(player) == (320, 180)
        assert "aspect-ratio:320/180" in player["style"]
        assert "max-width:100%" in player["style"]

    @pytest.mark.parametrize(
        ("size", "shown"),
        [
            ((1280, 720), (640, 360)),
            ((720, 1280), (270, 480)),
            ((16, 16), (240, 240)),
        ],
    )
    def test_it_takes_little_room_and_enough_for_its_buttons(
        self, tmp_path: Path, size: tuple[int, int], shown: tuple[int, int]
    ) -> None:
        """Large clips shrink into 640×480, tall ones by their height; tiny ones grow to hold the player's buttons."""
        clip = film(tmp_path / "clip.mp4", frames=2, size=size)

        assert box(bare(run_figure(run_of(clip))).one("video")) == shown

    def test_a_strip_of_six_frames_lies_under_it(self, clip: LocalFile) -> None:
        """The strip shows first to last, and says in words what it is."""
        (frames,) = bare(run_figure(run_of(clip))).all("img")

        sheet = picture(frames["src"])
        width = (sheet.width + GAP) // FRAMES - GAP
        parts = [sheet.crop((n * (width + 2) + 4, 4, n * (width + 2) + width - 4, 86)) for n in range(6)]
        assert [number_of(part) for part in parts] == [0, 5, 10, 14, 19, 24]
        assert sheet.height == HEIGHT
        assert frames["alt"].startswith("six frames over time: a paper boat · seed 7 · 320×180")

    def test_the_caption_follows_the_grammar(self, clip: LocalFile) -> None:
        """Prompt, seed, size, frames, seconds, bytes, credits: in this order, the same on hover, and broken only between them."""
        html = run_figure(run_of(clip))

        facts = f"320×180 · 25 frames at 24/s · 1.0 s · {clip.path.stat().st_size / 1000:.0f} kB"
        wanted = f"a paper boat · seed 7 · {facts} · 53 credits"
        assert caption(html) == wanted
        assert bare(html).one("figcaption")["title"] == wanted
        kept = re.findall(r'<span class="rb-word"><span class="rb-dot">· </span>(.*?)</span>', html)
        assert [kept[:4], kept[-1]] == [["seed 7", "320×180", "25 frames at 24/s", "1.0 s"], "53 credits"]
        assert 'rb-word"><bdi>a paper boat</bdi></span> <span' in html
        # What is unknown is left out, and a price that the service has not told is marked.
        assert caption(run_figure(run_of(clip, prompt=None, seed=None, credits=None))) == facts
        guessed = run_of(clip, credits=1272, credits_source="estimated")
        assert "· ≈ 1,272 credits" in caption(run_figure(guessed))

    def test_a_file_of_which_no_copy_fits_shows_its_poster_and_its_strip(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where even the copy is too large, two pictures and a sentence are left."""
        clip = film(tmp_path / "clip.mp4", size=(640, 360), noise=30)
        monkeypatch.setattr(embedding, "MAX_PREVIEW_BYTES", 1_000)

        html = run_figure(run_of(clip))

        assert not bare(html).all("video")
        assert [picture(shown["src"]).height for shown in bare(html).all("img")] == [360, HEIGHT]
        assert caption(html).endswith("MB, too large to play here")


class TestActions:
    """What can be done with a figure, and what is folded away in it."""

    def test_the_code_makes_the_same_again(self, clip: LocalFile) -> None:
        """As one would type it, with the seed that was used."""
        html = file_figure(known(clip, seed=8, input=BOAT.revised(seed=None).wire()))

        code = re.search(r"<code>(.*?)</code>", html)
        assert code
        assert bare(code[1]).text == "rb.run(rb.TextToVideo(prompt='a paper boat', num_frames=49, seed=8))"

    def test_what_was_asked_and_answered_is_folded_away(self, clip: LocalFile) -> None:
        """What differs from the defaults, the model, the request, the money with its source, and where the file is."""
        page = bare(file_figure(known(clip)))

        assert len(page.all("details")) == 2
        assert not [details for details in page.all("details") if "open" in details]
        for words in (
            "num_frames49",
            "14 with default values",
            BOAT.endpoint_id,
            "request-1",
            "53 credits · charged",
        ):
            assert words in page.text
        assert f"{clip.path.parent.name}/{clip.path.name}" in page.text


class TestPicture:
    """A picture as a figure."""

    def test_it_is_shown_as_it_is(self, tmp_path: Path) -> None:
        """The bytes in the page are those of the file; its words stand in for it where it is not seen."""
        (tmp_path / "boat.png").write_bytes(png(300, 200))

        html = run_figure(run_of(at(tmp_path / "boat.png")))

        shown = bare(html).one("img")
        assert decoded(shown["src"]) == ("image/png", png(300, 200))
        assert box(shown) == (300, 200)
        count = len(png(300, 200))
        assert shown["alt"] == caption(html) == f"a paper boat · seed 7 · 300×200 · {count} bytes · 53 credits"

    def test_several_lie_side_by_side_and_name_the_price_once(self, tmp_path: Path) -> None:
        """The sizes of one run share rows of one height; prompt, seed and credits are said for all together."""
        for name, size in {"a": (600, 300), "b": (300, 600), "c": (300, 300)}.items():
            (tmp_path / f"{name}.png").write_bytes(png(*size))

        html = run_figure(run_of(*(at(tmp_path / f"{name}.png") for name in "abc"), credits=33))

        page = bare(html)
        assert [box(shown) for shown in page.all("img")] == [(336, 168), (84, 168), (168, 168)]
        assert "display:flex" in page.all("div")[0]["style"]
        assert caption(html.rpartition("<figure")[2]) == "a paper boat · seed 7 · 33 credits"
        assert page.text.count("33 credits") == 2  # In the line, and among what was answered.


class TestTrouble:
    """What cannot be shown."""

    @pytest.mark.parametrize("name", ["broken.mp4", "broken.png", "strange.bin"])
    def test_a_file_that_cannot_be_read_is_a_sentence(self, tmp_path: Path, name: str) -> None:
        """A paid run with a damaged file is still shown: what is known, and the line that fetches it again."""
        (tmp_path / name).write_bytes(b"not what it says")

        run = run_of(at(tmp_path / name))
        html = run_figure(run)

        assert not bare(html).all("video") + bare(html).all("img")
        assert caption(html).startswith("a paper boat · seed 7 · 53 credits · ")
        assert "cannot be read" in caption(html)
        assert "rb.attach('request-1', model='svc/text-to-video-13b-distilled')" in bare(html).text
        assert run_strip_jpeg(run) is None


def test_a_figure_names_no_colour_of_its_own(clip: LocalFile) -> None:
    """Every colour is one of the ten of the house, which are taken from the host where it has some."""
    html = run_figure(run_of(clip))

    tokens, _, own = html.partition("</style>")[0].partition(".rb-figure")
    assert "--rb-ink:" in tokens
    markup = bare(html.replace(html.partition("</style>")[0], "")).elements
    inline = " ".join(attributes.get("style", "") for _, attributes in markup)
    colours = re.findall(r"(?:color|background|border[a-z-]*):([^;}]*)", own + inline)
    assert colours
    assert not [colour for colour in colours if re.search(r"#[0-9a-f]{3}|rgb|hsl", colour)]


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


class TestAmongOthers:
    """Where many are shown, each brings pictures only, unless more is asked for."""

    def test_by_default_there_is_a_poster_only(self, light: LocalFile) -> None:
        """One picture, no player, and little more than the markup."""
        html = file_figure(light, many=True)

        assert clip_in(html) is None
        assert len(bare(html).all("img")) == 1

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
