"""What files say of their own making, read back with other people's tools."""

from __future__ import annotations

import hashlib
import io
import json
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from reelbook_service.engines.write_provenance import WrittenProvenance

INPUT = {
    "prompt": "a paper boat, “größer” than 船",
    "num_frames": 121,
    "loras": [{"path": "watercolour", "scale": 1.5}],
}
SIGN = WrittenProvenance("svc/text-to-video-13b-distilled", INPUT, 7, "sketch", "1")
ALGORITHMIC = "http://cv.iptc.org/newscodes/digitalsourcetype/algorithmicMedia"


def saved(kind: str, sign: WrittenProvenance = SIGN) -> Image.Image:
    """A picture that was saved with its provenance and opened again."""
    data = io.BytesIO()
    Image.new("RGB", (8, 8), "teal").save(data, kind, **sign.save_options(kind))
    picture = Image.open(io.BytesIO(data.getvalue()))
    picture.load()
    return picture


def test_a_png_tells_its_parameters() -> None:
    """The prompt and its settings stand where picture tools look for them, the whole record beside them."""
    text: dict[Any, Any] = saved("png").info

    assert text["parameters"].splitlines()[0] == INPUT["prompt"]
    assert "Seed: 7" in text["parameters"]
    assert json.loads(text["generation"]) == {
        "endpointId": "svc/text-to-video-13b-distilled",
        "input": INPUT,
        "seed": 7,
        "engine": "sketch",
        "engineVersion": "1",
    }


@pytest.mark.parametrize("kind", ["png", "jpeg", "webp"])
def test_every_picture_says_that_an_algorithm_made_it(kind: str) -> None:
    """The XMP packet is sound XML and names the kind of source, so that nobody takes the picture for a photograph."""
    info = saved(kind).info
    packet = info.get("XML:com.adobe.xmp") or info["xmp"]

    root = ElementTree.fromstring(packet if isinstance(packet, str) else packet.decode())

    (description,) = root.iter("{http://www.w3.org/1999/02/22-rdf-syntax-ns#}Description")
    assert description.get("{http://iptc.org/std/Iptc4xmpExt/2008-02-29/}DigitalSourceType") == ALGORITHMIC
    assert description.get("{http://ns.adobe.com/xap/1.0/}CreatorTool") == "reelbook sketch 1"


def test_a_picture_inside_the_input_is_told_by_its_hash() -> None:
    """A data URI would put the source picture into its own result; its hash says which one it was."""
    uri = "data:image/png;base64," + "A" * 10_000
    sign = WrittenProvenance("svc/smart-resize", {"image_url": uri, "target_sizes": ["8x8"]}, 1, "recompose", "1")

    told = json.loads(sign.as_json())["input"]["image_url"]

    assert told == f"data:image/png;base64,sha256={hashlib.sha256(bytes(7500)).hexdigest()}"


@given(st.text(max_size=60))
def test_any_prompt_can_be_saved(prompt: str) -> None:
    """No prompt keeps a result from being written, in any of the three formats."""
    sign = WrittenProvenance("svc/a-model", {"prompt": prompt}, 1, "sketch", "1")

    for kind in ("png", "jpeg", "webp"):
        assert saved(kind, sign).size == (8, 8)
