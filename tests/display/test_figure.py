"""Files as figures: what is in them, how large, and how hostile texts come out."""

from __future__ import annotations

import base64
import io
import re
from decimal import Decimal
from pathlib import Path

import pytest
from PIL import Image

from reelbook.display import figure
from reelbook.display.figure import file_figure, run_figure, run_strip, status_line, strip
from reelbook.display.prices import estimate_table
from reelbook.errors import RunFailed
from reelbook.media.local import LocalFile
from reelbook.models.pricing import Estimate, Line
from tests.clips import at, film, number_of
from tests.display.stand_in import Read, run_of
from tests.support import png

HOSTILE = [
    "<script>alert(1)</script>",
    "</figure></figcaption><img src=x onerror=alert(1)>",
    '" onload="alert(1)" x=\'y',
    "' autofocus onfocus='alert(1)",
    "--><svg onload=alert(1)>",
    "&lt;b&gt; &amp; {0} %s {{evil}} \\u003cscript\\u003e",
    "javascript:alert(1)",
    "\x00\u202e\u2066 turned around \ufffe",
    "<bdi></bdi></title><style>*{display:none}</style>",
    "a very long one " * 2000,
]


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> LocalFile:
    return film(tmp_path_factory.mktemp("films") / "clip.mp4", size=(320, 180))


def decoded(uri: str) -> tuple[str, bytes]:
    """The kind and the content of a data URI."""
    kind, _, body = uri.removeprefix("data:").partition(";base64,")
    return kind, base64.b64decode(body, validate=True)


def picture(uri: str) -> Image.Image:
    return Image.open(io.BytesIO(decoded(uri)[1]))


def box(attributes: dict[str, str]) -> tuple[int, int]:
    return int(attributes["width"]), int(attributes["height"])


class TestVideo:
    """A clip as a figure."""

    def test_the_player_holds_the_whole_file(self, clip: LocalFile) -> None:
        """The bytes in the page are those of the file, so that a saved notebook plays it."""
        player = Read(run_figure(run_of(clip))).one("video")

        assert decoded(player["src"]) == ("video/mp4", clip.path.read_bytes())

    def test_nothing_plays_or_sounds_unasked(self, clip: LocalFile) -> None:
        """The player has its buttons, is muted, and waits to be started."""
        player = Read(run_figure(run_of(clip))).one("video")

        assert {"controls", "muted", "playsinline", "loop"} <= player.keys()
        assert "autoplay" not in player
        assert player["preload"] == "metadata"

    def test_a_poster_shows_the_middle_before_it_plays(self, clip: LocalFile) -> None:
        """The poster is a JPEG of the middle frame, of the clip's own size."""
        poster = picture(Read(run_figure(run_of(clip))).one("video")["poster"])

        assert (poster.format, poster.size) == ("JPEG", (320, 180))
        assert number_of(poster) == 14

    def test_its_place_is_kept_free_before_anything_loads(self, clip: LocalFile) -> None:
        """Width, height and shape are said in the markup, so that nothing jumps, and it gives way in a narrow column."""
        player = Read(run_figure(run_of(clip))).one("video")

        assert box(player) == (320, 180)
        assert "aspect-ratio:320/180" in player["style"]
        assert "max-width:100%" in player["style"]

    @pytest.mark.parametrize(
        ("size", "shown"),
        [
            ((1280, 720), (640, 360)),
            ((720, 1280), (270, 480)),
            ((720, 720), (480, 480)),
            ((854, 480), (640, 360)),
            ((400, 300), (400, 300)),
            ((16, 16), (240, 240)),
        ],
    )
    def test_it_takes_little_room_and_enough_for_its_buttons(
        self, tmp_path: Path, size: tuple[int, int], shown: tuple[int, int]
    ) -> None:
        """Large clips shrink into 640×480, tall ones by their height; tiny ones grow to hold the player's buttons."""
        clip = film(tmp_path / "clip.mp4", frames=2, size=size)

        assert box(Read(run_figure(run_of(clip))).one("video")) == shown

    def test_a_strip_of_six_frames_lies_under_it(self, clip: LocalFile) -> None:
        """The strip shows first to last, and says in words what it is."""
        (frames,) = Read(run_figure(run_of(clip))).all("img")

        sheet = picture(frames["src"])
        width = (sheet.width + figure.GAP) // figure.STRIP_FRAMES - figure.GAP
        parts = [sheet.crop((n * (width + 2) + 4, 4, n * (width + 2) + width - 4, 86)) for n in range(6)]
        assert [number_of(part) for part in parts] == [0, 5, 10, 14, 19, 24]
        assert frames["alt"].startswith("six frames over time: a paper boat · seed 7 · 320×180")

    def test_the_caption_follows_the_grammar(self, clip: LocalFile) -> None:
        """Prompt, seed, size, frames, seconds, credits: in this order, and the same on hover."""
        page = Read(run_figure(run_of(clip)))

        wanted = "a paper boat · seed 7 · 320×180 · 25 frames at 24/s · 1.0 s · 53 credits"
        assert page.text == wanted
        assert page.one("figcaption")["title"] == wanted

    def test_the_caption_breaks_only_between_facts(self, clip: LocalFile) -> None:
        """In a narrow column a number stays with its unit and the dot after it; only the prompt may be broken."""
        html = run_figure(run_of(clip))

        kept = re.findall(r'<span style="white-space:nowrap">(.*?)</span>', html)
        assert kept == ["seed 7 ·", "320×180 ·", "25 frames at 24/s ·", "1.0 s ·", "53 credits"]
        assert "<bdi>a paper boat</bdi> · <span" in html

    def test_a_price_that_is_only_estimated_says_so(self, clip: LocalFile) -> None:
        """≈ stands before credits that the service has not told."""
        assert "· ≈ 1,272 credits" in Read(run_figure(run_of(clip, credits=1272, credits_source="estimated"))).text

    def test_what_is_unknown_is_left_out(self, clip: LocalFile) -> None:
        """No prompt, seed or price leaves no gap in the line."""
        page = Read(run_figure(run_of(clip, prompt=None, seed=None, credits=None)))

        assert page.text == "320×180 · 25 frames at 24/s · 1.0 s"

    def test_a_long_prompt_is_cut_and_whole_on_hover(self, clip: LocalFile) -> None:
        """The line stays short; the title holds every word, on one line."""
        prompt = "a paper boat\n  on a   " + "very " * 40 + "long river"

        page = Read(run_figure(run_of(clip, prompt=prompt)))

        seen, whole = page.text.partition(" · ")[0], " ".join(prompt.split())
        assert len(seen) <= figure.LONGEST_LEAD
        assert seen.endswith("…")
        assert whole.startswith(seen[:-1])
        assert page.one("figcaption")["title"].startswith(f"{whole} · seed 7")

    def test_a_large_file_plays_as_a_small_copy(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Beyond the limit the page holds a small copy, says so, and still tells the file's own size."""
        clip = film(tmp_path / "clip.mp4", size=(640, 360), noise=30)
        monkeypatch.setattr(figure, "MOST_INLINE", 300_000)
        size = clip.path.stat().st_size
        assert size > 300_000

        page = Read(run_figure(run_of(clip)))

        kind, content = decoded(page.one("video")["src"])
        (tmp_path / "small.mp4").write_bytes(content)
        assert kind == "video/mp4"
        assert len(content) <= 300_000
        assert at(tmp_path / "small.mp4").probe.frames == 25
        assert page.text.endswith(f"53 credits · preview of {size / 1e6:.1f} MB")

    def test_a_file_of_which_no_copy_fits_shows_its_strip(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where even the copy is too large, the strip and a sentence are left."""
        clip = film(tmp_path / "clip.mp4", size=(640, 360), noise=30)
        monkeypatch.setattr(figure, "MOST_INLINE", 1_000)

        page = Read(run_figure(run_of(clip)))

        assert not page.all("video")
        assert picture(page.one("img")["src"]).height == figure.STRIP_HEIGHT
        assert page.text.endswith("MB, too large to play here")


class TestPicture:
    """A picture as a figure."""

    def test_it_is_shown_as_it_is(self, tmp_path: Path) -> None:
        """The bytes in the page are those of the file; its words stand in for it where it is not seen."""
        (tmp_path / "boat.png").write_bytes(png(300, 200))

        page = Read(run_figure(run_of(at(tmp_path / "boat.png"))))

        shown = page.one("img")
        assert decoded(shown["src"]) == ("image/png", png(300, 200))
        assert box(shown) == (300, 200)
        assert shown["alt"] == page.text == "a paper boat · seed 7 · 300×200 · 53 credits"

    def test_a_large_one_is_shown_smaller(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Beyond the limit the page holds a JPEG of it, at most twice as wide as it is shown."""
        (tmp_path / "boat.png").write_bytes(png(3000, 2000))
        monkeypatch.setattr(figure, "MOST_INLINE", 1_000)

        shown = Read(run_figure(run_of(at(tmp_path / "boat.png")))).one("img")

        assert decoded(shown["src"])[0] == "image/jpeg"
        assert picture(shown["src"]).size == (1280, 853)
        assert box(shown) == (640, 427)

    def test_several_lie_side_by_side_and_name_the_price_once(self, tmp_path: Path) -> None:
        """The sizes of one run share a row; the credits are those of all together."""
        for name in "abc":
            (tmp_path / f"{name}.png").write_bytes(png(600, 300))

        page = Read(run_figure(run_of(*(at(tmp_path / f"{name}.png") for name in "abc"), credits=33)))

        assert [box(shown) for shown in page.all("img")] == [(312, 156)] * 3
        assert "display:flex" in page.all("div")[0]["style"]
        assert page.text.count("credits") == 1
        assert page.text.endswith("33 credits in all")


class TestTrouble:
    """What cannot be shown."""

    @pytest.mark.parametrize("name", ["broken.mp4", "broken.png", "strange.bin"])
    def test_a_file_that_cannot_be_read_is_a_sentence(self, tmp_path: Path, name: str) -> None:
        """A paid run with a damaged file is still shown: what is known, and what to do."""
        (tmp_path / name).write_bytes(b"not what it says")

        run = run_of(at(tmp_path / name))
        page = Read(run_figure(run))

        assert not page.all("video") + page.all("img")
        assert page.text.startswith("a paper boat · seed 7 · 53 credits · ")
        assert "cannot be read" in page.text
        assert run_strip(run) is None

    def test_a_run_under_way_is_a_line(self) -> None:
        """What is not finished is shown as where it stands, without waiting."""
        run = run_of(status="IN_PROGRESS", progress=(0.4, "painting"))

        assert Read(run_figure(run)).text == "◑ painting · 40% · 3 s"
        assert run_strip(run) is None

    def test_a_failure_is_told_with_its_reason(self) -> None:
        """A failed run shows the mark, the word, and the service's own sentence, escaped."""
        run = run_of(status="failed", failure=RunFailed("r-1", "<b>no</b> such picture", "image_load_error"))

        page = Read(run_figure(run))

        assert page.text.startswith("✕ failed: Run r-1 failed [image_load_error]: <b>no</b> such picture.")
        assert not page.all("b")


@pytest.mark.parametrize(
    ("state", "line"),
    [
        ({"status": "IN_QUEUE", "progress": (0.0, "2 ahead in the queue")}, "◔ 2 ahead in the queue · 3 s"),
        ({"status": "IN_PROGRESS", "progress": (0.0, "starting")}, "◑ starting · 3 s"),
        ({"status": "IN_PROGRESS", "progress": (0.254, "pass 2")}, "◑ pass 2 · 25% · 3 s"),
        ({"status": "completed"}, "● done · 3.2 s"),
    ],
)
def test_each_state_has_its_mark_and_word(state: dict[str, object], line: str) -> None:
    """State is told by a mark and a word, never by colour; no percentage is made up."""
    assert status_line(run_of(**state)) == line  # type: ignore[arg-type]  # Names vary, types fit.


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:20])
def test_a_hostile_text_stays_a_text(clip: LocalFile, tmp_path: Path, text: str) -> None:
    """Whatever a prompt or a stage says, the page has the same elements and attributes as for a friendly one."""
    (tmp_path / "boat.png").write_bytes(png())
    still = at(tmp_path / "boat.png")

    def shapes(words: str) -> list[list[tuple[str, list[str]]]]:
        pages = [
            run_figure(run_of(clip, prompt=words)),
            run_figure(run_of(still, still, prompt=words)),
            run_figure(run_of(status="IN_PROGRESS", progress=(0.5, words))),
            file_figure(clip, words, lead=words),
            estimate_table(Estimate(1, (Line(words, Decimal(1)),))),
        ]
        return [[(tag, sorted(attributes)) for tag, attributes in Read(page).elements] for page in pages]

    assert shapes(text) == shapes("a paper boat")


def test_the_watch_on_hostile_texts_works(clip: LocalFile) -> None:
    """The control of the test above: markup that is not escaped is noticed."""
    friendly, hostile = (Read(f"<figcaption>{text}</figcaption>").elements for text in ("a boat", HOSTILE[0]))

    assert friendly != hostile


def test_figures_bring_no_colours_fonts_or_scripts(clip: LocalFile) -> None:
    """The host's colours and fonts are used as they are, so the figure fits into any theme."""
    page = run_figure(run_of(clip))

    assert not re.search(r"(?<!-)color:|background|font-family|<script|<style", page)


def test_the_strip_of_a_picture_is_the_picture(tmp_path: Path) -> None:
    """Where no HTML is shown, a picture stands for itself, no wider than a figure."""
    (tmp_path / "boat.png").write_bytes(png(1000, 500))

    alone = Image.open(io.BytesIO(strip(at(tmp_path / "boat.png"))))

    assert (alone.format, alone.size) == ("JPEG", (640, 320))


class TestEstimate:
    """A price as a table."""

    def test_it_shows_how_the_price_comes_about(self) -> None:
        """Each line of the breakdown, the price, and that the service itself says so."""
        lines = (Line("base", Decimal(53)), Line("detail pass", factor=Decimal("2.0")))

        page = Read(estimate_table(Estimate(1106, lines, "video-standard", "exact")))

        assert page.text == "base53detail pass× 2.0price1,106 creditsexact, says the service"
        assert len(page.all("tr")) == 4

    def test_an_assumed_price_and_an_unknown_one_say_so(self) -> None:
        """≈ for what our own catalog says; `unknown` where nobody can tell."""
        assert Read(estimate_table(Estimate(53))).text == "price53 credits≈ assumed, from the catalog kept here"
        assert Read(estimate_table(Estimate(None))).text.startswith("priceunknown")
