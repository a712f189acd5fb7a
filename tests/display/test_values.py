"""What else a cell can end with: inputs, models, options, and the code that makes an input again."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.formatters import DisplayFormatter

import reelbook as rb
from reelbook.display import error_card, register, run_progress
from reelbook.display.cards import MEANING, input_card, models_table, options_table
from reelbook.display.input_code import MAX_CODE_LENGTH, format_input_code, format_run_code
from reelbook.models.base import File, Input
from reelbook.models.described import describe
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.images import Image
from reelbook.models.images_to_video import Frame, ImagesToVideo
from reelbook.models.pricing import Estimate
from reelbook.models.smart_resize import Size, SmartResize
from reelbook.models.text_to_video import LoRA, TextToVideo
from reelbook.runs.run import Run
from reelbook.settings import options
from tests.clips import film
from tests.display.stand_in import bare
from tests.models.described_inputs import with_fields
from tests.support import png

BOAT = TextToVideo(prompt="a paper boat", num_frames=49, seed=7)
PICTURE = Image.of(png())


class TestCode:
    """An input as the code that makes it again."""

    @pytest.mark.parametrize(
        "request_",
        [
            BOAT,
            TextToVideo(prompt='it\'s "quoted"\n\u202e \\ {0}', loras=[LoRA(path="ink", scale=2), LoRA(path="oil")]),
            TextToVideo(prompt="a very long one " * 40),
            ImageToVideo(prompt="sail", image_url=PICTURE),
            ImagesToVideo(images=[Frame(url="a.png", frames=3), Frame(url=PICTURE, frames=2)], fps=12.5),
            SmartResize(image_url="a.png", target_sizes=[Size(width=300, height=200)]),
        ],
        ids=lambda request: type(request).__name__,
    )
    def test_it_gives_an_equal_input(self, request_: Input) -> None:
        """Typed into a cell it is the same again, whatever is in it."""
        assert eval(format_input_code(request_), {"rb": rb}) == request_

    def test_the_seed_that_was_drawn_is_in_it(self) -> None:
        """An input without one would give another clip."""
        assert format_input_code(BOAT.revised(seed=None), seed=9).endswith("seed=9)")
        assert "seed=7," in format_input_code(BOAT, seed=9)
        assert "seed" not in format_input_code(ImageToVideo(prompt="sail", image_url="a.png"), seed=9)

    def test_a_whole_picture_as_text_does_not_fill_the_page(self) -> None:
        """It is left to the run itself."""
        request = ImageToVideo(prompt="sail", image_url="data:image/png;base64," + "A" * MAX_CODE_LENGTH)

        assert format_run_code(request) == "# Too long to be shown. run.input has it, and rb.run(run.input) runs it."

    def test_a_model_without_a_class_is_spelt_as_one_types_it(self) -> None:
        """`rb.model(…)` gives its class; names that Python would not take are given in another way."""
        names = ["self", "a-b", "class", "size"]
        kind = describe(with_fields({name: {"type": "integer"} for name in names}), "svc/test")
        request = kind(**{name: place for place, name in enumerate(names)})

        code = format_input_code(request)

        assert code.startswith("rb.model('svc/test')(")
        assert eval(code, {"rb": SimpleNamespace(model=lambda name: kind)}) == request
        assert "svc/test" in input_card(request)


class TestInput:
    """An input as the value of a cell."""

    def test_what_differs_comes_first_and_the_rest_is_folded(self) -> None:
        """With the price, as the catalog has it."""
        page = bare(input_card(BOAT))

        text = page.text
        assert text.index("prompta paper boat") < text.index("num_frames49") < text.index("14 with default values")
        assert text.index("14 with default values") < text.index("frame_rate24")
        assert "≈ 53 credits, from the built-in catalog" in text
        assert len(page.all("details")) == 2

    def test_nobody_is_asked_for_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """No service, no network."""
        monkeypatch.setattr(socket.socket, "connect", lambda *arguments: pytest.fail("somebody was called"))

        assert "≈ 106 credits" in input_card(BOAT.revised(enable_detail_pass=True))


class TestModels:
    """The list of models."""

    def test_each_has_its_name_its_purpose_and_its_least_price(self) -> None:
        """As the service tells them, else as the catalog does."""
        page = bare(
            models_table(
                [{"id": "lab/other", "category": "text-to-video", "minimumCredits": 12}, {"id": "svc/smart-resize"}]
            )
        )

        for words in ("2 models", "lab/other", "text-to-video", "12 credits", "Recomposes a picture"):
            assert words in page.text
        assert len(page.all("tr")) == 3

    def test_odd_entries_do_no_harm(self) -> None:
        """A service answers what it likes."""
        odd: list[dict[str, Any]] = [
            {"id": None, "purpose": 7, "credits": True},
            {"id": "x" * 9999, "pricing": {"credits": 5}},
        ]

        assert "5 credits" in models_table(odd)


def test_the_options_say_what_they_decide() -> None:
    """Each with its value; all of them are explained."""
    with options(embed="full"):
        text = bare(options_table(options)).text

    assert "embed'full' · how much of a clip" in text
    assert set(MEANING) == set(dir(options))


def test_a_shell_shows_each_of_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """After `register`, by their own types and those that are made of them; runs are left to `show`."""
    monkeypatch.setattr(error_card, "install", lambda shell: None)
    formatter: Any = DisplayFormatter()
    shell: Any = type("Shell", (), {"display_formatter": formatter, "kernel": None})()
    register(shell)
    clip = film(tmp_path / "a.mp4", frames=2)

    shown: list[Run] = []
    monkeypatch.setattr(run_progress, "show", shown.append)
    run = object.__new__(Run)

    values = [BOAT, ImagesToVideo(images=["a.png"]), File(url="https://example.org/a.mp4"), options, clip, Estimate(53)]
    bundles = [formatter.format(value)[0] for value in values]

    assert all("text/html" in bundle for bundle in bundles)
    assert bundles[2]["text/plain"] == "https://example.org/a.mp4"
    assert bundles[4]["text/plain"].endswith("/a.mp4")
    assert "53 credits" in bundles[5]["text/html"]
    assert (formatter.format(run)[0], shown) == ({}, [run])
    assert formatter.format([clip])[0] == {"text/plain": f"[{clip!r}]"}
