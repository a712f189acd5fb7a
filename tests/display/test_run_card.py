"""A run in every state, and what a model answered: the words, the table, and what to do next."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from reelbook.display.cards import format_file, output_card, output_strip_jpeg
from reelbook.display.run_card import failed_card, find_blamed_fields, format_failure, run_figure, run_strip_jpeg
from reelbook.display.run_text import format_file as local_line
from reelbook.display.run_text import format_status
from reelbook.errors import DownloadFailed, ReelbookError, RunCancelled, RunFailed
from reelbook.models.base import File
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.images_to_video import ImagesToVideo
from reelbook.models.text_to_video import LoRA, TextToVideo, TextToVideoOutput
from reelbook.runs.run import Run
from tests.clips import film
from tests.display.stand_in import StandIn, bare, run_of

SAIL = ImageToVideo(prompt="the boat sails", image_url="https://example.org/boat.png")
FILE = File(url="https://example.org/a.mp4?<script>", content_type="video/mp4", file_name="a.mp4", file_size=1_400_000)


def failed(failure: ReelbookError, request: Any = SAIL, **others: Any) -> Run:
    status = "cancelled" if isinstance(failure, RunCancelled) else "failed"
    return cast(Run, StandIn(request, status=status, failure=failure, **{"credits": 0, **others}))


@pytest.mark.parametrize(
    ("state", "line"),
    [
        ({"status": "IN_QUEUE", "progress": (0.0, "2 ahead in the queue")}, "◔ 2 ahead in the queue · 3 s"),
        ({"status": "IN_PROGRESS", "progress": (0.0, "starting")}, "◑ starting · 3 s"),
        ({"status": "IN_PROGRESS", "progress": (0.254, "pass 2")}, "◑ pass 2 · 25% · 3 s"),
        ({"status": "IN_PROGRESS", "progress": (0.5, "x"), "timings": {"total": 200.0}}, "◑ x · 50% · 3 min 20 s"),
        ({"status": "completed"}, "● completed · 3.2 s"),
        ({"status": "completed", "from_library": True}, "◉ from library · 3.2 s"),
    ],
)
def test_each_state_has_its_mark_and_word(state: dict[str, object], line: str) -> None:
    """State is told by a mark and a word, never by colour; no percentage is made up."""
    assert format_status(run_of(**state)) == line  # type: ignore[arg-type]  # Names vary, types fit.


def test_a_run_under_way_is_a_line_and_a_bar() -> None:
    """What is not finished is shown as where it stands, without waiting, with the last thing that was said."""
    run = run_of(status="IN_PROGRESS", progress=(0.4, "painting"), logs=["one", "two boats"])

    page = bare(run_figure(run))

    assert page.text == "◑ painting · 40% · 3 stwo boats"
    assert page.one("progress")["value"] == "0.400"
    assert run_strip_jpeg(run) is None


def test_what_comes_from_the_library_says_so(tmp_path: Path) -> None:
    """In the line, and in the table whether anything was paid now."""
    run = run_of(film(tmp_path / "a.mp4", frames=2), from_library=True)

    text = bare(run_figure(run)).text

    assert "53 credits · ◉ from library" in text
    assert "paid when it was made; nothing now" in text


class TestFailure:
    """A run without a result says why, which value was at fault, what it cost, and what to do."""

    def test_it_names_the_field_that_its_kind_is_about(self) -> None:
        """A picture that cannot be read is that of the input."""
        run = failed(RunFailed("r-1", "The source could not be fetched.", "file_download_error"))

        text = bare(failed_card(run)).text

        for words in (
            "✕ failed · file download error", "The source could not be fetched.", "image_urlhttps://example.org/boat.png",
            "not charged", "request-1", "Change `image_url` and run it again:", "rb.run(rb.ImageToVideo(",
        ):  # fmt: skip
            assert words in text

    @pytest.mark.parametrize(
        ("message", "kind", "request_", "fields"),
        [
            ("`prompt` is not allowed", None, SAIL, ["prompt"]),
            ("no", "content_policy_violation", SAIL, ["prompt"]),
            ("no", "lora_load_error", TextToVideo(prompt="a boat", loras=[LoRA(path="paper")]), ["loras"]),
            ("no", "image_load_error", SAIL, ["image_url"]),
            ("b.png is empty", "image_load_error", ImagesToVideo(images=["a.png", "b.png"]), ["images[1].url"]),
            ("images[1].url is empty", None, ImagesToVideo(images=["a.png", "b.png"]), ["images[1].url"]),
            ("prompts and prompted", "engine_error", SAIL, []),
        ],
    )
    def test_the_field_at_fault(self, message: str, kind: str | None, request_: Any, fields: list[str]) -> None:
        """Those that the service names, else those that its kind of error is about, else none."""
        assert [name for name, _ in find_blamed_fields(failed(RunFailed("r-1", message, kind), request_))] == fields

    def test_one_line_says_the_same(self) -> None:
        """Where no HTML is shown."""
        line = format_failure(failed(RunFailed("r-1", "no such picture", "image_load_error")))

        assert "\n" not in line
        for words in (
            "✕ failed: image load error: no such picture",
            "image_url = https://example.org/boat.png",
            "not charged",
        ):
            assert words in line

    def test_what_is_paid_for_is_picked_up_and_not_run_again(self) -> None:
        """Where only the file is missing, the next step costs nothing."""
        run = failed(DownloadFailed("r-1", "https://example.org/a.mp4", "404"), credits=53)

        text = bare(failed_card(run)).text

        assert "53 credits · charged" in text
        assert "rb.attach('request-1', model='svc/text-to-video-13b-distilled')" in text
        assert "rb.run(" not in text


class TestOutput:
    """The answer itself as the value of a cell."""

    def test_its_files_are_shown_from_this_machine(self, tmp_path: Path) -> None:
        """The clip that the answer names, and what else it says, in one figure."""
        clip = replace(film(tmp_path / "a.mp4", frames=3), facts={"seed": 7, "model": TextToVideo.endpoint_id})
        output = TextToVideoOutput(video=FILE, seed=7, prompt="a boat at dusk, longer")
        output._local_files = (clip,)

        page = bare(output_card(output))

        assert page.one("video")["src"].startswith("data:video/mp4;base64,")
        assert "a boat at dusk, longer" in page.text
        assert output_strip_jpeg(output)

    def test_one_that_was_made_by_hand_shows_addresses_as_text(self) -> None:
        """Nothing is loaded from the service."""
        page = bare(output_card(TextToVideoOutput(video=FILE, seed=7, prompt="a boat")))

        assert {tag for tag, _ in page.elements} <= {"div", "b", "table", "caption", "tbody", "tr", "th", "td", "bdi"}
        assert "https://example.org/a.mp4?<script>" in page.text


def test_a_file_at_the_service_is_its_facts_and_its_address() -> None:
    """As text; no element leads anywhere."""
    page = bare(output_card(FILE))

    for words in ("a.mp4", "video/mp4", "https://example.org/a.mp4?<script>"):
        assert words in page.text
    assert not [attributes for _, attributes in page.elements if {"src", "href"} & attributes.keys()]
    assert format_file(FILE) == "a.mp4 · video/mp4 · 1.4 MB · https://example.org/a.mp4?<script>"


def test_a_local_file_is_one_useful_line(tmp_path: Path) -> None:
    """What it is, what it holds, and where it lies."""
    clip = replace(film(tmp_path / "a.mp4", frames=24), facts={"seed": 7, "input": {"prompt": "a boat"}, "credits": 53})

    line = local_line(clip)

    assert line.startswith("a boat · seed 7 · 64×48 · 24 frames at 24/s · 1.0 s · ")
    assert line.endswith(f"53 credits · {clip.path}")
