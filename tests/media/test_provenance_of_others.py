"""Pictures of other tools: prompt, seed and model as far as they say."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from reelbook.errors import ReelbookError
from reelbook.media.metadata.provenance import read
from tests.media.making import grain

SETTINGS = "a paper boat, rain\nNegative prompt: blur\nSteps: 20, Sampler: Euler a, Seed: 965400086, Model: tiny-xl"


def written(kind: str, path: Path) -> Path:
    """A picture with settings where picture tools write them."""
    if kind in ("tEXt", "iTXt"):
        info = PngInfo()
        (info.add_text if kind == "tEXt" else info.add_itxt)("parameters", SETTINGS)
        grain().save(path, "png", pnginfo=info)
    elif kind == "comment":
        grain().save(path, "jpeg", comment=SETTINGS.encode())
    else:
        exif = Image.Exif()
        exif.get_ifd(0x8769)[0x9286] = b"UNICODE\0" + SETTINGS.encode("utf-16-be")
        grain().save(path, kind, exif=exif)
    return path


@pytest.mark.parametrize("kind", ["tEXt", "iTXt", "comment", "jpeg", "webp"])
def test_settings_of_other_tools_are_read(kind: str, tmp_path: Path) -> None:
    """The same object, labelled as what it is, with the values as they are called there and no typed input."""
    told = read(written(kind, tmp_path / "picture"))

    assert (told.origin, told.model, told.seed, told.input) == ("another tool", "tiny-xl", 965400086, None)
    assert told.values["prompt"] == "a paper boat, rain"
    assert (told.values["negative_prompt"], told.values["steps"]) == ("blur", "20")
    assert SETTINGS in told.raw.values()


def test_a_comment_of_a_person_is_no_provenance(tmp_path: Path) -> None:
    """What somebody wrote about a photograph does not say how it was made by a model."""
    grain().save(tmp_path / "a.jpg", comment=b"My boat: summer 2026, on the lake")

    with pytest.raises(ReelbookError, match="carries no provenance"):
        read(tmp_path / "a.jpg")


def test_settings_that_one_of_ours_left_are_ours(tmp_path: Path) -> None:
    """Where a program kept only this text of an engine of ours, the engine is still named."""
    info = PngInfo()
    info.add_text("parameters", "a boat\nSeed: 7, Model: svc/text-to-video-13b-distilled, Software: reelbook sketch 1")
    grain().save(tmp_path / "a.png", pnginfo=info)

    told = read(tmp_path / "a.png")

    assert (told.origin, told.model, told.seed) == ("reelbook", "svc/text-to-video-13b-distilled", 7)
    assert (told.engine, told.values["prompt"]) == ("reelbook sketch 1", "a boat")
