"""The pictures of a form, spoken to without a page: uploads arrive whole, what is no picture is refused in words, nothing is fetched."""

from __future__ import annotations

import base64
import hashlib
import io
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image as Pillow

import reelbook as rb
from reelbook.errors import ReelbookError
from reelbook.media import stills
from reelbook.models import images
from reelbook.models.images import Image
from reelbook.widgets.forms import pictures
from reelbook.widgets.forms.pictures import MAX_TEXT_LENGTH, MAX_TEXTS, Pictures
from reelbook.widgets.link import Link
from tests.clips import film, number_of


def drawn(kind: str = "PNG", size: tuple[int, int] = (64, 48), grey: int = 120, **options: Any) -> bytes:
    """The bytes of a picture file."""
    out = io.BytesIO()
    Pillow.new("RGB", size, (grey, grey, 90)).save(out, kind, **options)
    return out.getvalue()


def hashed(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


class OneLibrary:
    """A session with a library in a folder: the client and the shelf of it are the same object."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "media"
        self.folder.mkdir()
        self.current = self.shelf = self
        self.runs = pd.DataFrame()
        self.is_full = False

    def find(self, sha256: str) -> Path | None:
        return next(iter(self.folder.glob(f"{sha256}.*")), None)

    def keep(self, content: bytes, suffix: str) -> None:
        if self.is_full:
            raise ReelbookError("There is no room left.")
        (self.folder / f"{hashlib.sha256(content).hexdigest()}{suffix}").write_bytes(content)

    def library(self) -> OneLibrary:
        return self

    @property
    def frame(self) -> pd.DataFrame:
        return self.runs

    def put(self, content: bytes, suffix: str) -> Path:
        """A file of an earlier run."""
        self.keep(content, suffix)
        found = self.find(hashlib.sha256(content).hexdigest())
        assert found is not None
        return found


class Form(Link):
    """What pictures need of a form; its background is the thread that asks."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        library: Any = OneLibrary(folder)
        self.session = library
        self.sent: list[tuple[dict[str, Any], list[bytes]]] = []
        self.started: list[Callable[[], None]] = []
        self.pictures = Pictures(self, self.session)

    def send(self, content: Any, buffers: Any = None) -> None:
        self.sent.append((content, list(buffers or [])))

    def in_background(self, name: str, function: Callable[[], None]) -> None:
        self.started.append(function)
        function()

    def ask(self, content: dict[str, Any], *buffers: bytes) -> dict[str, Any]:
        """The answer to a request of the page, with its buffers; empty where there is none."""
        before = len(self.sent)
        if handler := self.pictures.handlers.get(content["do"]):
            handler({**content, "id": "7"}, [memoryview(buffer) for buffer in buffers])
        answers = self.sent[before:]
        assert all(answer.pop("did") == "7" for answer, _ in answers)
        assert len(answers) < 2
        return {**answers[0][0], **({"buffers": answers[0][1]} if answers[0][1] else {})} if answers else {}

    def upload(self, content: bytes, name: str = "boat.png", *, parts: int = 1, **more: Any) -> dict[str, Any]:
        """Bring a picture in so many parts; the last answer."""
        size, answer = -(-len(content) // parts), dict[str, Any]()
        for part in range(parts):
            message = {"do": "upload", "upload": "one", "name": name, "part": part, "of": parts, **more}
            answer = self.ask(message, content[part * size : (part + 1) * size])
            if answer:
                break
        return answer

    def shown(self, picture: str) -> dict[str, Any]:
        return self.ask({"do": "shown", "picture": picture})


@pytest.fixture
def form(tmp_path: Path) -> Form:
    return Form(tmp_path)


def test_an_upload_in_parts_becomes_a_picture_that_can_be_run(form: Form) -> None:
    """Named by its content, kept in the library, equal to the same bytes in Python; one that lost its beginning starts again."""
    content = drawn(size=(640, 360))
    late = form.ask({"do": "upload", "upload": "lost", "name": "boat.png", "part": 1, "of": 2}, content)

    told = form.upload(content, parts=3)
    kept = form.pictures.find(hashed(content))

    assert late == {"error": "boat.png did not arrive whole. Choose it again."}
    assert told == {"picture": hashed(content)}
    assert isinstance(kept, Image)
    assert kept == Image.of(content)
    assert form.session.find(str(kept.sha256)) is not None
    assert rb.ImageToVideo(prompt="closer", image_url=kept).image_url == hashed(content)


def test_a_picture_is_shown_small_and_told_in_words(form: Form) -> None:
    """Name, pixels, bytes, what the service receives; the thumbnail is a small JPEG, upright as its camera was held."""
    exif = Pillow.Exif()
    exif[0x0112] = 6
    content = drawn("JPEG", (900, 600), exif=exif)
    form.upload(content, "boat.jpg")

    told = form.shown(hashed(content))

    thumb = told.pop("url").removeprefix("data:image/jpeg;base64,")
    with Pillow.open(io.BytesIO(base64.b64decode(thumb))) as small:
        assert (small.format, small.size) == ("JPEG", (213, 320))
    assert told == {
        "name": "boat.jpg",
        "words": f"boat.jpg · 600 × 900 · {len(content) / 1e3:.0f} kB",
        "receives": f"Sent as a JPEG of {len(content) / 1e3:.0f} kB, uploaded once.",
    }


REFUSED = [
    (b"", "is empty."),
    (b"just words", "is no picture."),
    (b"%PDF-1.7 ...", "is a PDF."),
    (b"<svg xmlns='x'></svg>", "is an SVG."),
    (b"\0\0\0\x18ftypheic....", "is a HEIC picture."),
    (drawn()[:60], "is damaged or cut short"),
    (drawn("JPEG", (300, 300))[:-300], "is damaged or cut short"),
]


@pytest.mark.parametrize(("content", "words"), REFUSED)
def test_what_is_no_picture_is_refused_in_words(form: Form, content: bytes, words: str) -> None:
    """The sentence names the file and says what it is; nothing is kept of it."""
    told = form.upload(content, "thing.png")

    assert told["error"].startswith("thing.png is")
    assert words.split(".")[0] in told["error"]
    assert "picture" not in told
    assert list(form.session.folder.iterdir()) == []


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few bytes that says that it is immense."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 999)) + chunk(b"IEND", b"")
    )


def test_a_bomb_is_refused_by_its_header(form: Form, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is more than 40 megapixels is never decoded, the frames of a GIF included."""
    monkeypatch.setattr(stills, "read_picture", lambda *_: pytest.fail("decoded"))
    gif = bytearray(drawn("GIF"))
    at = gif.index(b",")
    gif[at + 5 : at + 9] = struct.pack("<HH", 60_000, 60_000)

    told = [form.upload(content, "big.png")["error"] for content in (bomb(50_000, 50_000), bytes(gif))]

    assert told[0] == "big.png has 50,000 × 50,000 pixels; the limit is 40 megapixels. Make it smaller."
    assert "is a GIF that is damaged" in told[1] or told[1].endswith("megapixels. Make it smaller.")


def test_too_many_bytes_are_refused_before_the_last_arrives(form: Form, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has to wait for the rest."""
    monkeypatch.setattr(pictures, "MAX_BYTES", 1000)
    monkeypatch.setattr(images, "MAX_BYTES", 1000)

    told = form.upload(b"x" * 5400, "film.png", parts=9)

    assert told["error"] == "film.png has 0.0 MB; the limit is 0.001 MB. Make it smaller."


def test_of_a_video_the_last_frame_is_taken(form: Form, tmp_path: Path) -> None:
    """Whether it is an earlier result or a path of this machine; its words say so."""
    clip = film(tmp_path / "clip.mp4", frames=12).path
    kept = form.session.put(clip.read_bytes(), ".mp4")

    by_path = form.shown(str(clip))
    taken = form.ask({"do": "still", "picture": f"film:{kept.stem}"})["picture"]

    assert form.shown(taken)["name"].startswith("last frame of a clip")
    assert ("error" in by_path, "url" in by_path) == (False, True)
    assert by_path["words"].startswith("last frame of clip.mp4 · 64 × 48")
    assert by_path["receives"].startswith("Read when it is run. Sent as a PNG of ")
    with Pillow.open(form.session.find(taken[7:])) as picture:
        assert number_of(picture) == 11


def test_a_path_is_looked_at_and_stays_a_path(form: Form, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file is shown as it is now, relative ones from where the kernel runs; the run reads it, not the form."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "boat.png").write_bytes(drawn())

    first = form.shown("boat.png")
    (tmp_path / "boat.png").write_bytes(drawn("PNG", (10, 20)))
    second = form.shown((tmp_path / "boat.png").as_uri())

    assert first["url"]
    assert "10 × 20" in second["words"]
    assert first["receives"].startswith("Read when it is run. Sent as a PNG of ")
    assert form.pictures.find("boat.png") == "boat.png"


def test_a_path_that_is_no_picture_says_why(form: Form, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gone, a folder, another kind, too large, no name for a path: each in words, and none is read whole."""
    monkeypatch.setattr(images, "MAX_BYTES", 5000)
    (tmp_path / "notes.png").write_text("only words")
    (tmp_path / "large.png").write_bytes(drawn() + bytes(6000))
    asked = ["gone.png", "", "notes.png", "large.png", "x" * 300]

    told = [form.shown(str(tmp_path / name))["error"] for name in asked]
    odd = [form.shown(text)["error"] for text in ("s3://bucket/a.png", "/dev/null")]

    assert f"there is no such file in {tmp_path}" in told[0]
    assert "cannot be read" in told[1]
    assert "is no picture; PNG, JPEG, WebP and GIF can be sent." in told[2]
    assert "the limit is 0.005 MB." in told[3]
    assert "cannot be read" in told[4]
    assert ["only http and https" in odd[0], "which is no ordinary file" in odd[1]] == [True] * 2


def test_an_address_is_never_fetched(form: Form, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a name is looked up nor a connection opened: the page shows the address, and the service will fetch it."""
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: pytest.fail("looked up"))
    monkeypatch.setattr("socket.create_connection", lambda *_, **__: pytest.fail("connected"))

    told = form.shown("https://example.org/pictures/a%20boat.png?size=2")
    upload = form.shown("file_0123abcd")
    odd = [form.shown(text) for text in ("https://", "http://[::1", "https:///a.png")]

    assert ("buffers" in told, told["name"]) == (False, "a boat.png")
    assert told["words"] == "https://example.org/pictures/a%20boat.png?size=2"
    assert told["receives"] == "The service fetches it itself; nothing is loaded here."
    assert upload["receives"] == "An upload that the service has already."
    assert all("is no whole address" in one["error"] for one in odd)


def test_what_python_gives_is_remembered(form: Form) -> None:
    """Pictures in memory and data: addresses by their content; addresses and paths as the text they are."""
    array = np.full((8, 9, 3), 200, np.uint8)
    content = drawn()
    data = f"data:image/png;base64,{base64.urlsafe_b64encode(content).decode().rstrip('=')}"

    texts = [form.pictures.remember(value) for value in (array, content, data, "a.png", "https://example.org/a.png")]

    assert texts[1:] == [hashed(content), hashed(content), "a.png", "https://example.org/a.png"]
    assert all(type(text) is str for text in texts)
    assert form.pictures.find(texts[0]) == Image.of(array)
    assert form.pictures.remember(Image.from_library("a" * 64)) == f"sha256:{'a' * 64}"
    assert form.pictures.remember("data:image/png;base64,%%%") == "data:image/png;base64,%%%"
    assert "base64 is damaged" in form.shown("data:image/png;base64,%%%")["error"]


def test_content_of_the_library_is_known_and_what_is_nowhere_is_not(form: Form) -> None:
    """By its hash alone; a name that is none is not looked for among the files."""
    content = drawn()
    form.session.put(content, ".png")

    known = form.pictures.find(hashed(content))

    assert isinstance(known, Image)
    assert (known.content, known) == (None, hashed(content))
    assert form.pictures.find(f"sha256:{'0' * 64}") is None
    assert form.pictures.find("sha256:../../etc/passwd") is None
    assert "not in the library" in form.shown(f"sha256:{'0' * 64}")["error"]


def test_a_full_library_takes_nothing_away(form: Form) -> None:
    """The picture is in memory; once there is room, `keep_all` puts it where code can name it."""
    form.session.is_full = True
    told = form.upload(drawn())

    missing = list(form.session.folder.iterdir())
    form.session.is_full = False
    form.pictures.store_all()

    assert missing == []
    assert isinstance(form.pictures.find(told["picture"]), Image)
    assert [path.stem for path in form.session.folder.iterdir()] == [told["picture"].removeprefix("sha256:")]


def test_earlier_outputs_come_newest_first(form: Form, tmp_path: Path) -> None:
    """Each file once; clips by their last frame; what one chooses is known, and nothing else of the disk can be asked for."""
    shots = [form.session.put(drawn(grey=grey), ".png") for grey in range(5)]
    clip = form.session.put(film(tmp_path / "clip.mp4", frames=3).path.read_bytes(), ".mp4")
    form.session.runs = pd.DataFrame(
        {
            "prompt": ["a boat", None, None],
            "model": ["a/text-to-video", "a/smart-resize", "a/smart-resize"],
            "status": ["completed"] * 3,
            "credits": [53, 24, 24],
            "output_video": [str(clip), None, None],
            "output_images": [None, [str(path) for path in shots], [str(shots[0]), str(tmp_path / "else.png")]],
        }
    )

    listed = form.ask({"do": "earlier"})["earlier"]

    assert [one["picture"] for one in listed] == [*(f"sha256:{path.stem}" for path in shots), f"film:{clip.stem}"]
    assert listed[0]["words"] == "24 credits"
    assert listed[-1]["words"] == "last frame of a boat · 53 credits"
    assert form.shown(listed[-1]["picture"])["url"]
    still = form.ask({"do": "still", "picture": listed[-1]["picture"]})["picture"]
    assert form.shown(still)["name"] == "last frame of a boat"
    assert form.shown(listed[0]["picture"])["name"].startswith("picture ")
    assert form.shown(f"film:{'0' * 64}")["error"] == "last frame of a clip is not in the library any more."


def test_an_empty_library_has_nothing_earlier(form: Form) -> None:
    """A table without any files is an answer too; one that cannot be read is said in words."""
    empty = form.ask({"do": "earlier"})
    form.session.library = lambda: (_ for _ in ()).throw(ReelbookError("The library is locked."))
    locked = form.ask({"do": "earlier"})

    assert empty == {"earlier": []}
    assert locked["error"] == "The library is locked."


def test_earlier_prompts_are_offered_the_newest_first(form: Form) -> None:
    """Each once, and neither more nor longer ones than a page takes; a library without any is an answer, too."""
    empty = form.ask({"do": "prompts", "name": "prompt"})
    form.session.runs = pd.DataFrame(
        {"prompt": [*(f"{number}{'x' * 30_000}" for number in range(200)), "a kite", "a boat <b>", "a kite"], "negative_prompt": "blur"}
    )  # fmt: skip

    texts = form.ask({"do": "prompts", "name": "prompt"})["texts"]

    assert empty == {"texts": []}
    assert texts[:2] == ["a kite", "a boat <b>"]
    assert texts[2].startswith("199x")
    assert (len(texts), max(map(len, texts))) == (MAX_TEXTS, MAX_TEXT_LENGTH)


HOSTILE: list[dict[str, Any]] = [
    {"do": "upload"}, {"do": "upload", "upload": 3, "part": 0, "of": 1}, {"do": "upload", "upload": "a", "part": True, "of": 2},
    {"do": "shown"}, {"do": "shown", "picture": ["a"]}, {"do": "still"}, {"do": "prompts"},
]  # fmt: skip


@pytest.mark.parametrize("message", HOSTILE)
def test_a_message_that_makes_no_sense_does_nothing(form: Form, message: dict[str, Any]) -> None:
    """It is data from outside: no answer, no error, nothing kept."""
    assert form.ask(message, b"bytes") == {}
