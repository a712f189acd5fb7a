"""Picture fields and the timeline of pictures on a bare page: they talk to the kernel's own part, which runs in this process."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import pytest
from PIL import Image as Pillow
from PIL import ImageDraw
from playwright.sync_api import ConsoleMessage, Locator, Page, expect

from reelbook.widgets.forms.pictures import Pictures
from reelbook.widgets.link import Link
from tests.browser.axe import beyond, faint, findings, tabbed
from tests.browser.bare_form import build
from tests.browser.bare_page import without_errors
from tests.browser.looks import shot
from tests.clips import film
from tests.support import deep

pytestmark = pytest.mark.browser

HOLD = {"name": "frames", "label": "Frames", "kind": "whole", "min": 1, "max": 100_000, "required": True}
FRAME = {"kind": "object", "fields": [{"name": "url", "label": "Url", "kind": "image", "required": True}, HOLD]}
FIELDS = [
    {"name": "image_url", "label": "Image", "kind": "image", "special": "image", "required": True},
    {
        "name": "images", "label": "Images", "kind": "list", "special": "timeline", "required": True, "least": 1, "most": 12,
        "item": {"kind": "either", "forms": [FRAME, {"kind": "image"}]}, "beside": {"rate": "fps", "most": 100_000},
    },
    {"name": "fps", "label": "Frames per second", "kind": "real", "min": 1, "max": 120, "default": 24},
]  # fmt: skip

Scheme = Literal["light", "dark"]


def drawn(number: int = 0, size: tuple[int, int] = (320, 180), *, padded: int = 0) -> bytes:
    """A PNG of which one can tell the number, with so many bytes behind it."""
    picture = Pillow.new("RGB", size, (40 + 12 * number, 110, 190 - 8 * number))
    ImageDraw.Draw(picture).ellipse((size[0] * 0.3, size[1] * 0.2, size[0] * 0.7, size[1] * 0.8), fill=(225, 205, 130))
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue() + bytes(padded)


def named(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def file(name: str, content: bytes, kind: str = "image/png") -> Any:
    """A file as the dialog gives it."""
    return {"name": name, "mimeType": kind, "buffer": content}


class Kernel(Link):
    """The kernel's side: the pictures of a form, with a library in a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.session: Any = self
        self.folder = folder
        self.current = self.shelf = self
        self.out: list[tuple[dict[str, Any], list[str]]] = []
        self.runs = pd.DataFrame()
        self.pictures = Pictures(self, self.session)

    def handle(self, content: dict[str, Any], buffers: list[str]) -> list[tuple[dict[str, Any], list[str]]]:
        self.pictures.handlers[content["do"]](content, [memoryview(base64.b64decode(part)) for part in buffers])
        answers, self.out = self.out, []
        return answers

    def send(self, content: Any, buffers: Any = None) -> None:
        self.out.append((content, [base64.b64encode(part).decode() for part in buffers or []]))

    def in_background(self, name: str, function: Callable[[], None]) -> None:
        function()

    def find(self, sha256: str) -> Path | None:
        return next(iter(self.folder.glob(f"{sha256}.*")), None)

    def keep(self, content: bytes, suffix: str) -> None:
        (self.folder / f"{hashlib.sha256(content).hexdigest()}{suffix}").write_bytes(content)

    def library(self) -> Any:
        return self

    @property
    def frame(self) -> pd.DataFrame:
        return self.runs


class Form:
    """The form on a page."""

    def __init__(self, page: Page, kernel: Kernel) -> None:
        self.page, self.kernel = page, kernel
        self.image, self.line = page.locator("[data-field=image_url]"), page.locator("[data-field=images]")
        self.tiles = self.line.locator(".rbf-tl-tile")

    @property
    def draft(self) -> Any:
        return self.page.evaluate("link.draft")

    @property
    def sent(self) -> list[dict[str, Any]]:
        """What the page sent to the kernel."""
        return list(self.page.evaluate("sent"))

    def fill(self, **draft: Any) -> None:
        """Show this draft, as the kernel would."""
        self.page.evaluate("draft => fill(draft)", draft)

    def give(self, place: Locator, event: str, *, files: list[Any] | None = None, text: str = "") -> None:
        """Drop something there, or paste it."""
        packed = [[one["name"], one["mimeType"], base64.b64encode(one["buffer"]).decode()] for one in files or []]
        place.evaluate(
            """(element, [event, files, text]) => {
              const data = new DataTransfer();
              for (const [name, type, content] of files)
                data.items.add(new File([Uint8Array.from(atob(content), l => l.charCodeAt(0))], name, {type}));
              if (text) data.setData('text/plain', text);
              const box = element.getBoundingClientRect();
              const at = {clientX: box.left + 2, clientY: box.top + box.height / 2, bubbles: true, cancelable: true};
              if (event === 'paste') element.focus();
              if (event === 'paste') element.dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, ...at}));
              else for (const name of ['dragenter', 'dragover', 'drop']) element.dispatchEvent(new DragEvent(name, {dataTransfer: data, ...at}));
            }""",
            [event, packed, text],
        )

    def labels(self) -> list[str]:
        return [tile.get_attribute("aria-label") or "" for tile in self.tiles.all()]

    def holds(self) -> list[Any]:
        """For how many frames each is drafted."""
        return [image["frames"] for image in self.draft["images"]]

    def names(self) -> list[str]:
        """The pictures of the timeline in their order."""
        return [label.split(", ")[1] for label in self.labels()]

    def add(self, *numbers: int) -> list[str]:
        """Put these pictures into the timeline by the dialog; says what stands for each."""
        contents = [drawn(number) for number in numbers]
        before = self.tiles.count()
        self.line.locator("input[type=file]").set_input_files(
            [file(f"frame {number}.png", content) for number, content in zip(numbers, contents, strict=True)]
        )
        expect(self.tiles).to_have_count(before + len(numbers))
        expect(self.tiles.last).to_have_attribute(
            "aria-label",
            f"picture {before + len(numbers)} of {before + len(numbers)}, frame {numbers[-1]}.png, 24 frames",
        )
        return [named(content) for content in contents]


@pytest.fixture(scope="module")
def kernels(offline_page: Page) -> list[Kernel]:
    """Those that have answered the page, which is one for all tests; the last one does."""
    kernels: list[Kernel] = []
    offline_page.set_default_timeout(10_000)
    offline_page.expose_function("kernel", lambda content, buffers: kernels[-1].handle(content, buffers))
    return kernels


@pytest.fixture
def opened(offline_page: Page, kernels: list[Kernel], tmp_path: Path) -> Iterator[Callable[..., Form]]:
    """Opens the form; nothing may complain, and nothing be asked of any server."""
    page, complaints = offline_page, list[str]()
    (tmp_path / "media").mkdir()

    def note(message: ConsoleMessage) -> None:
        # The browser's own word on a damaged data: address, which is tried on purpose.
        if message.type == "error" and "ERR_INVALID_URL" not in message.text:
            complaints.append(message.text)

    def show(*, width: int = 640, height: int = 900, scheme: Scheme = "light", is_calm: bool = False) -> Form:
        kernels.append(Kernel(tmp_path / "media"))
        motion = "reduce" if is_calm else "no-preference"
        build(page, tmp_path, FIELDS, {}, width=width, height=height, color_scheme=scheme, reduced_motion=motion)
        return Form(page, kernels[-1])

    page.on("console", note)
    with without_errors(page):
        yield show
    page.remove_listener("console", note)
    assert complaints == []


def test_a_file_is_uploaded_in_parts_and_shown(opened: Callable[..., Form]) -> None:
    """No message has more than 4 MB; progress is seen; then thumbnail, name, pixels, bytes and what the service gets."""
    form = opened()
    content = drawn(padded=4_100_000)
    form.page.evaluate(
        """() => {
          window.seen = [];
          const field = document.querySelector('[data-field=image_url]');
          new MutationObserver(() => seen.push(field.innerText)).observe(field, {subtree: true, childList: true, characterData: true, attributes: true});
        }"""
    )

    form.image.locator("input[type=file]").set_input_files(file("boat.png", content))
    expect(form.image).to_contain_text("boat.png · 320 × 180 · 4.1 MB")
    uploads = [one for one in form.sent if one["do"] == "upload"]
    progress = form.page.evaluate("seen")

    expect(form.image).to_contain_text("Sent as a PNG of 4.1 MB, uploaded once.")
    assert form.draft == {"image_url": named(content)}
    assert [(one["part"], one["of"]) for one in uploads] == [(0, 2), (1, 2)]
    assert max(one["bytes"][0] for one in uploads) <= 4_000_000
    assert any("Adding boat.png" in words for words in progress)
    expect(form.image).not_to_contain_text("Adding")
    assert form.image.locator("img").first.evaluate("image => [image.naturalWidth, image.alt]") == [320, ""]


def test_what_cannot_be_used_is_said_and_nothing_is_lost(opened: Callable[..., Form]) -> None:
    """Too large, no picture: words beside the field, and the picture from before stays."""
    form = opened()
    problem = form.image.locator(".rbf-well-problems")
    form.image.locator("input[type=file]").set_input_files(file("boat.png", drawn()))
    expect(form.image).to_contain_text("boat.png · 320 × 180")

    form.page.evaluate(
        """() => {
          const data = new DataTransfer();
          data.items.add(new File([new Uint8Array(50_000_001)], 'immense.png'));
          document.querySelector('.rbf-image').dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
        }"""
    )
    expect(problem).to_have_text(
        "immense.png has 50.0 MB; the limit is 50 MB. Make it smaller. The earlier picture stays."
    )
    form.give(form.image.locator(".rbf-image"), "drop", files=[file("notes.png", b"only words")])
    expect(problem).to_contain_text("notes.png is no picture; PNG, JPEG, WebP and GIF can be sent.")
    form.image.get_by_role("button", name="Clear").click()

    expect(problem).to_be_hidden()
    assert form.draft == {}
    expect(form.image).to_contain_text("Drop or paste a picture here")


def test_pictures_and_addresses_are_pasted(opened: Callable[..., Form]) -> None:
    """From the clipboard, wherever in the field the focus is; words go where the caret is."""
    form = opened()
    box = form.image.get_by_label("URL or path")

    form.give(form.image.get_by_role("button", name="Earlier output"), "paste", files=[file("image.png", drawn(1))])
    expect(form.image).to_contain_text("image.png · 320 × 180")
    assert form.draft == {"image_url": named(drawn(1))}
    box.fill("https://example.org/by-hand.png")
    for key in ("Control+a", "Control+c", "Control+x"):
        box.press(key)
    form.image.get_by_role("button", name="Earlier output").press("Control+v")
    expect(box).to_have_value("https://example.org/by-hand.png")
    assert form.draft == {"image_url": "https://example.org/by-hand.png"}


def test_earlier_outputs_are_chosen_by_keys(opened: Callable[..., Form], tmp_path: Path) -> None:
    """The list opens and closes without a mouse; a clip gives its last frame."""
    form = opened()
    kernel = form.kernel
    shots = [drawn(number) for number in range(2)]
    clip = film(tmp_path / "clip.mp4", frames=4).path.read_bytes()
    for content in shots:
        kernel.keep(content, ".png")
    kernel.keep(clip, ".mp4")
    paths = [str(kernel.find(named(content)[7:])) for content in (*shots, clip)]
    kernel.runs = pd.DataFrame(
        {"prompt": "a boat", "status": "completed", "credits": 53, "output_video": [*[None] * 2, paths[-1]],
         "output_images": [*([path] for path in paths[:-1]), None]}
    )  # fmt: skip
    button = form.image.get_by_role("button", name="Earlier output")
    listed = form.image.get_by_role("group", name="Earlier output").get_by_role("listitem")

    button.focus()
    form.page.keyboard.press("Enter")
    expect(listed).to_have_count(3)
    first = listed.first.get_by_role("button")
    expect(first).to_have_attribute("aria-label", "last frame of a boat · 53 credits")
    expect(listed.locator("img:visible")).to_have_count(3)
    shot(form.page, "form-image-earlier")
    listed.nth(1).get_by_role("button").press("Enter")
    expect(form.image).to_contain_text("320 × 180")
    expect(button).to_have_attribute("aria-expanded", "false")
    picture = form.draft
    button.press("Enter")
    listed.first.get_by_role("button").press("Enter")

    expect(form.image).to_contain_text("last frame of a boat")
    assert picture == {"image_url": named(shots[-1])}
    assert form.draft["image_url"].startswith("sha256:")


def test_many_pictures_are_added_at_once(opened: Callable[..., Form]) -> None:
    """Files in the order of their numbers, addresses one on each line, pasted ones; what is no picture is said, the rest is there."""
    form = opened()
    files = [file(f"frame {number}.png", drawn(number)) for number in (10, 9, 1)]

    form.give(form.line.locator(".rbf-tl"), "drop", files=[*files, file("notes.txt", b"words", "text/plain")])
    expect(form.tiles).to_have_count(3)
    expect(form.line.locator(".rbf-well-problems")).to_contain_text(
        "notes.txt is no picture; PNG, JPEG, WebP and GIF can be sent."
    )
    button = form.line.get_by_role("button", name="Earlier output")
    form.give(button, "paste", text="https://example.org/one.png\n\n  https://example.org/two.png  \n")
    expect(form.tiles).to_have_count(5)
    form.give(form.line.locator(".rbf-well"), "paste", files=[file("image.png", drawn(4))])
    expect(form.tiles).to_have_count(6)

    expect(form.line).to_contain_text("6 pictures · 144 frames · 6 s")
    expect(form.tiles.last).to_have_attribute("aria-label", "picture 6 of 6, image.png, 24 frames")
    assert form.names() == ["frame 1.png", "frame 9.png", "frame 10.png", "one.png", "two.png", "image.png"]
    assert form.draft["images"] == [
        *({"url": named(drawn(number)), "frames": 24} for number in (1, 9, 10)),
        *({"url": f"https://example.org/{name}.png", "frames": 24} for name in ("one", "two")),
        {"url": named(drawn(4)), "frames": 24},
    ]


def test_no_more_pictures_than_the_model_takes(opened: Callable[..., Form]) -> None:
    """The bound is the node's own; those beyond it are named as left out."""
    form = opened()
    form.fill(images=[{"url": "https://example.org/a.png", "frames": 1}] * 11)

    form.give(form.line.locator(".rbf-well"), "paste", text="https://example.org/b.png\nhttps://example.org/c.png")

    expect(form.line.locator(".rbf-well-problems")).to_have_text("At most 12 pictures; 1 left out.")
    expect(form.tiles).to_have_count(12)
    shot(form.page, "form-timeline-troubles")
    form.tiles.first.press("Delete")
    expect(form.tiles).to_have_count(11)
    expect(form.line.locator(".rbf-well-problems")).to_be_hidden()


def centre(place: Locator) -> tuple[float, float]:
    box = place.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


# A picture of another form's timeline is dropped on a tile.
OTHERS = """tile => {
  const dataTransfer = new DataTransfer();
  dataTransfer.setData('application/x-reelbook-picture', '2');
  for (const kind of ['dragover', 'drop']) tile.dispatchEvent(new DragEvent(kind, {dataTransfer, bubbles: true, cancelable: true}));
}"""


def test_pictures_are_ordered_by_mouse_and_keys(opened: Callable[..., Form]) -> None:
    """Dragged onto another, or by Alt and an arrow; Escape puts one back, Delete removes one; what another form drags stays there."""
    form = opened()
    form.add(1, 2, 3, 4)
    mouse = form.page.mouse

    mouse.move(*centre(form.tiles.nth(0)))
    mouse.down()
    x, y = centre(form.tiles.nth(2))
    mouse.move(x + 30, y, steps=4)
    shot(form.page, "form-timeline-dragged")
    mouse.up()
    by_mouse = form.names()
    mouse.move(*centre(form.tiles.nth(0)))
    mouse.down()
    mouse.move(x + 30, y, steps=4)
    form.page.keyboard.press("Escape")
    mouse.up()
    form.tiles.nth(0).evaluate(OTHERS)
    after_escape = form.names()
    form.tiles.nth(0).focus()
    for key in ("Alt+ArrowRight", "Alt+ArrowRight", "Alt+ArrowLeft"):
        form.page.keyboard.press(key)
    by_keys = form.names()
    expect(form.tiles.nth(1)).to_be_focused()
    form.page.keyboard.press("Delete")
    expect(form.tiles.nth(1)).to_be_focused()

    assert by_mouse == after_escape == ["frame 2.png", "frame 3.png", "frame 1.png", "frame 4.png"]
    assert by_keys == ["frame 3.png", "frame 2.png", "frame 1.png", "frame 4.png"]
    assert form.names() == ["frame 3.png", "frame 1.png", "frame 4.png"]
    assert [image["url"] for image in form.draft["images"]] == [named(drawn(number)) for number in (3, 1, 4)]
    form.page.keyboard.press("End")
    expect(form.tiles.nth(2)).to_be_focused()
    form.page.get_by_role("button", name="Move earlier").click()
    assert form.names() == ["frame 3.png", "frame 4.png", "frame 1.png"]
    form.page.get_by_role("button", name="Remove this picture").click()
    expect(form.tiles).to_have_count(2)
    form.tiles.nth(1).focus()
    for _ in range(2):
        form.page.keyboard.press("Delete")
    expect(form.line.locator("input[type=file]")).to_be_focused()
    assert form.draft == {}


def test_pictures_are_held_by_frames(opened: Callable[..., Form]) -> None:
    """Their seconds follow the form's own rate; one button holds all as long."""
    form = opened()
    form.add(1, 2)
    frames = form.line.get_by_label("Hold this picture, in frames")

    frames.fill("60")
    expect(form.line).to_contain_text("frames = 2.5 s")
    form.page.evaluate("fill({...link.draft, fps: 12})")
    expect(form.line).to_contain_text("2 pictures · 84 frames · 7 s")
    frames.fill("6")
    form.line.get_by_role("button", name="Hold all pictures as long as this one").click()
    for_all = form.holds()
    frames.fill("a few")
    expect(form.tiles.nth(1)).to_have_attribute("aria-label", "picture 2 of 2, frame 2.png, no number of frames")

    assert (for_all, form.holds()) == ([6, 6], [6, "a few"])


def test_what_the_judge_says_is_marked(opened: Callable[..., Form]) -> None:
    """A problem of one picture is on its tile; one drafted in Python as a text alone is held for a second."""
    form = opened()
    form.fill(images=["https://example.org/a.png", {"url": "https://example.org/b.png", "frames": 0}, 7])

    form.page.evaluate("judge([{at: ['images', 1, 'frames'], words: '`frames` is outside 1 to 100,000'}])")
    form.tiles.nth(0).focus()
    form.page.keyboard.press("Alt+ArrowRight")

    expect(form.tiles.nth(1)).to_have_attribute(
        "aria-label", "picture 2 of 3, a.png, 24 frames, `frames` is outside 1 to 100,000"
    )
    assert form.draft["images"][:2] == [
        {"url": "https://example.org/b.png", "frames": 0},
        {"url": "https://example.org/a.png", "frames": 24},
    ]


@pytest.mark.parametrize(("width", "scheme"), [(320, "dark"), *deep((640, "light"))])
def test_everybody_can_use_it(opened: Callable[..., Form], width: int, scheme: Scheme) -> None:
    """By keys alone, with a screen reader, on a narrow page, in both themes."""
    form = opened(width=width, scheme=scheme, is_calm=True)
    form.image.locator("input[type=file]").set_input_files(file("a boat with quite a long name, and on.png", drawn()))
    form.add(1, 2, 3)
    for text in ("/nowhere/of/this/name/at/all.png", "https://example.org/pictures/boat.png"):
        form.give(form.line.locator(".rbf-well"), "paste", text=text)
    expect(form.tiles).to_have_count(5)
    form.tiles.nth(4).click()
    form.page.keyboard.press("ArrowLeft")
    expect(form.line).to_contain_text("there is no such file")
    form.image.get_by_role("button", name="Earlier output").click()
    expect(form.image).to_contain_text("No earlier outputs yet.")
    expect(form.image).to_contain_text("Sent as a PNG")
    shot(form.page, f"form-pictures-{scheme}-{width}", whole=True)

    reached = tabbed(form.page, "main")

    assert findings(form.page, "main", colours=False) == []
    assert faint(form.page, "main") == []
    assert beyond(form.page, "main") == []
    assert (reached.missed, reached.unseen) == ([], [])
