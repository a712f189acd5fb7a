"""Cards of single values: inputs, models, options, a client, a library, provenance, and the code that makes an input again."""

from __future__ import annotations

import base64
import io
import re
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import PIL.Image
import pytest
from IPython.core.formatters import DisplayFormatter

import reelbook as rb
from reelbook.display import error_card, register, run_card
from reelbook.display.cards import (
    client_card,
    input_card,
    library_card,
    models_table,
    provenance_table,
    uncertain_table,
)
from reelbook.display.input_code import MAX_CODE_LENGTH, format_input_code, format_run_code
from reelbook.media.metadata.provenance import Provenance
from reelbook.models.base import File, Input
from reelbook.models.catalog import Estimate
from reelbook.models.described import describe
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.images import Image
from reelbook.models.images_to_video import Frame, ImagesToVideo
from reelbook.models.smart_resize import Size, SmartResize
from reelbook.models.text_to_video import LoRA, TextToVideo
from reelbook.runs.run import Run
from reelbook.storage.library import Uncertain
from tests.clips import film
from tests.display.stand_in import Read, bare
from tests.models.described_inputs import with_fields
from tests.storage.made import Made
from tests.support import KEY, Serve, png
from tests.transport.patience import Clock
from tests.transport.variants import Hosted

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
                [{"id": "lab/other", "category": "text-to-video", "minimum_credits": 12}, {"id": "svc/smart-resize"}]
            )
        )

        for words in ("2 models", "lab/other", "text-to-video", "12 credits", "Recomposes a picture"):
            assert words in page.text
        assert len(page.all("tr")) == 3


def test_a_shell_shows_each_of_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """After `register`, by their own types and those that are made of them; runs are left to `show`."""
    monkeypatch.setattr(error_card, "install", lambda shell: None)
    formatter: Any = DisplayFormatter()
    shell: Any = type("Shell", (), {"display_formatter": formatter, "kernel": None})()
    register(shell)
    clip = film(tmp_path / "a.mp4", frames=2)

    shown: list[Run] = []
    monkeypatch.setattr(run_card, "show", shown.append)
    run = object.__new__(Run)

    values = [BOAT, ImagesToVideo(images=["a.png"]), File(url="https://example.org/a.mp4"), clip, Estimate(53)]
    bundles = [formatter.format(value)[0] for value in values]

    assert all("text/html" in bundle for bundle in bundles)
    assert bundles[2]["text/plain"] == "https://example.org/a.mp4"
    assert bundles[3]["text/plain"].endswith("/a.mp4")
    assert "53 credits" in bundles[4]["text/html"]
    assert (formatter.format(run)[0], shown) == ({}, [run])
    assert formatter.format([clip])[0] == {"text/plain": f"[{clip!r}]"}


def test_the_card_says_which_service_whose_account_and_what_is_left(serve: Serve, tmp_path: Path) -> None:
    """Address, account, credits, features, library; the key is not in it."""
    served = serve()
    with rb.connect(served.base_url, api_key=KEY, library=tmp_path) as client:
        card = client_card(client)

    assert all(told in card for told in (served.base_url, "default", "1,000,000 left", "idempotency", str(tmp_path)))
    assert KEY not in card


def test_a_service_that_does_not_answer_still_has_a_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says so, and shows the rest; hostile words are words."""
    monkeypatch.setattr("reelbook.transport.http.RetryPolicy", Clock().policy)
    with Hosted() as hosted, rb.connect(hosted.base_url, api_key="a-key-of-this-test", library=tmp_path) as client:
        hosted.on("GET", "/account", {"name": "<script>alert(1)</script>", "credits_available": "many"})
        card = client_card(client)
        hosted.stop_listening()
        dead = client_card(client)

    assert "&lt;script&gt;" in card
    assert "<script>" not in card
    assert "answers" in dead
    assert hosted.base_url in dead


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Made]:
    library = Made(tmp_path / "library")
    yield library
    library.close()


def lost(**facts: Any) -> Uncertain:
    entry = SimpleNamespace(
        id=3, input='{"prompt": "a tram"}', sent=1.7e9, created=1.7e9, price=53, error="reset", **facts
    )
    return Uncertain(cast(Any, entry), cast(Any, None))


def pictures(html: str) -> list[PIL.Image.Image]:
    found = [picture["src"] for picture in Read(html).all("img")]
    return [PIL.Image.open(io.BytesIO(base64.b64decode(source.partition(",")[2]))) for source in found]


def test_a_card_says_how_much_there_is(made: Made) -> None:
    """Runs, credits, bytes, and how the runs stand, in numbers to read; and where uncertain runs are listed."""
    for seed in range(7):
        made.stored(BOAT.revised(seed=seed))
    made.failed(BOAT)
    certain = bare(library_card(made.library)).text
    made.uncertain(BOAT)

    text = bare(library_card(made.library)).text

    for words in ("8 runs", "371 credits", "6 bytes on disk", "● 7 completed, ✕ 1 failed", str(made.folder)):
        assert words in certain
    assert "≈" not in certain
    assert "uncertain" not in certain
    assert "≈ 424 credits" in text
    assert "1 run is uncertain: rb.library().uncertain" in text
    assert "The newest 6 of 9 runs" in text


def test_the_last_runs_are_a_table_with_posters(made: Made, tmp_path: Path) -> None:
    """The newest first, and their status before what is wide; a file that cannot be read leaves its place empty."""
    resize = SmartResize(image_url="https://e.org/a.png", target_sizes=["64x64"])
    made.stored(resize, [(png(64, 64), ".png")])
    made.stored(BOAT, [(b"no clip", ".mp4")])
    made.stored(BOAT.revised(seed=8), [(film(tmp_path / "c.mp4").path.read_bytes(), ".mp4")])
    made.failed(BOAT.revised(seed=9))

    html = library_card(made.library)

    table = bare(html)
    assert [one["alt"].partition(" · ")[0] for one in table.all("img")] == ["a paper boat", "seed 7"]
    assert len(table.all("tr")) == 5
    assert html.index("<bdi>status<") < html.index("<bdi>model<")
    assert len(html) < 80_000


def test_uncertain_runs_stand_in_a_table_with_what_to_do() -> None:
    """Which, what, when, at most how much; nothing to do where there are none."""
    text = Read(uncertain_table([lost()])).text

    for words in ("? 3", "a tram", "2023-11-14 22:13 UTC", "53 credits", "reset", "attach(request_id)", "write_off()"):
        assert words in text
    assert "No uncertain runs" in uncertain_table([])


FULL = Provenance(
    model=BOAT.endpoint_id,
    input=BOAT,
    values=BOAT.wire(),
    seed=7,
    engine="sketch",
    engine_version="1",
    request_id="request-1",
    credits=1060,
    credits_source="charged",
    made_at=datetime(2026, 3, 1, 12, 30, tzinfo=UTC),
    service="https://host.example/api",
)


def rows(provenance: Provenance) -> list[str]:
    """The text of each row, its name and value with a colon between, and the small print."""
    page = re.sub(r"</th>\s*<td[^>]*>", ": ", provenance_table(provenance).partition("</style>")[2])
    return [Read(row).text for row in re.split(r"</tr>|</table>", page) if Read(row).text]


def test_it_shows_what_was_asked_and_what_is_known_of_the_run() -> None:
    """The model, what differs from its defaults, then the run; the seed once."""
    assert rows(FULL) == [
        "model: svc/text-to-video-13b-distilled",
        "prompt: a paper boat",
        "num_frames: 49",
        "seed: 7",
        "engine: sketch 1",
        "service: https://host.example/api",
        "request: request-1",
        "credits: 1,060 (charged)",
        "made: 2026-03-01 12:30 UTC",
        "as the file says",
    ]


def test_what_is_unknown_is_left_out() -> None:
    """No row says `None`."""
    assert rows(Provenance(model="svc/new", values={"strength": 0.5})) == [
        "model: svc/new",
        "strength: 0.5",
        "as the file says; not all of it makes an input here",
    ]
