"""Checks of folders of weights, with files written by hand: no torch."""

from __future__ import annotations

import json
import re
import shutil
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reelbook_service.weights.config import BadWeights, LtxWeights, SafetyCheck, WanWeights
from reelbook_service.weights.folder import (
    CONFIGS,
    PARTS,
    RECORD_NAME,
    check_weights,
    upsampler_folder,
    weights_identity,
)

LTX, WAN, UPSAMPLER = "ltx-small", "wan-small", "ltx-upsampler"
SHARD = "diffusion_pytorch_model-00002-of-00002.safetensors"
BYTES = 200_000
"""Bytes of each tensor: enough that samples do not cover a file."""


def write_tensors(path: Path, *names: str, fill: int = 1) -> None:
    """Write a safetensors file: the length of its header, the header, the data."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table = {
        name: {"dtype": "U8", "shape": [BYTES], "data_offsets": [number * BYTES, (number + 1) * BYTES]}
        for number, name in enumerate(names)
    }
    header = json.dumps({"__metadata__": {"format": "pt"}, **table}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes([fill]) * (BYTES * len(names)))


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def write_pipeline(folder: Path, family: str) -> None:
    """Write a complete folder of a family; the transformer in two shards."""
    for name, class_name in PARTS[family].items():
        library, _, short = class_name.partition(".")
        config = {"_class_name": short} if library == "diffusers" else {"architectures": [short]}
        write_json(folder / name / CONFIGS.get(name, "config.json"), config)
        if name == "transformer":
            first = SHARD.replace("00002-of", "00001-of")
            write_tensors(folder / name / first, "a")
            write_tensors(folder / name / SHARD, "b", "c")
            index = {"weight_map": {"a": first, "b": SHARD, "c": SHARD}}
            write_json(folder / name / "diffusion_pytorch_model.safetensors.index.json", index)
        elif name not in CONFIGS:
            stem = "diffusion_pytorch_model" if library == "diffusers" else "model"
            write_tensors(folder / name / f"{stem}.safetensors", "a")
    (folder / "tokenizer" / "spiece.model").write_bytes(b"words")
    classes = {name: class_name.split(".") for name, class_name in PARTS[family].items()}
    write_json(
        folder / "model_index.json",
        {"_class_name": "Pipeline", "image_encoder": [None, None], "expand_timesteps": True, **classes},
    )


@pytest.fixture
def row(tmp_path: Path) -> LtxWeights:
    """A complete row of LTX, with its upsampler in the folder of a pipeline."""
    write_pipeline(tmp_path / LTX, "ltx")
    write_json(tmp_path / UPSAMPLER / "latent_upsampler" / "config.json", {"_class_name": "LTXLatentUpsamplerModel"})
    write_tensors(tmp_path / UPSAMPLER / "latent_upsampler" / "diffusion_pytorch_model.safetensors", "a")
    return LtxWeights(
        endpoint_id="svc/text-to-video-13b-distilled", folder=tmp_path / LTX, upsampler=tmp_path / UPSAMPLER
    )


def sentence_of(row: LtxWeights) -> str:
    with pytest.raises(BadWeights) as caught:
        check_weights(row)
    return str(caught.value)


def test_complete_folders_pass_in_milliseconds_without_torch(row: LtxWeights, tmp_path: Path) -> None:
    """Both families; the service checks them before it binds."""
    write_pipeline(tmp_path / WAN, "wan")

    check_weights(WanWeights(endpoint_id="svc/video-gen/v2.1/master/image-to-video", folder=tmp_path / WAN))
    check_weights(row)
    began = time.process_time()
    check_weights(row)

    assert time.process_time() - began < 0.05  # Measured: 2 ms.
    assert "torch" not in sys.modules


def test_both_layouts_of_the_upsampler_are_accepted(row: LtxWeights, tmp_path: Path) -> None:
    """A pipeline's folder, and the bare model; they are the same weights."""
    shutil.copytree(tmp_path / UPSAMPLER / "latent_upsampler", tmp_path / "bare")
    bare = row.changed(upsampler=tmp_path / "bare")

    check_weights(bare)

    assert upsampler_folder(tmp_path / "bare") == tmp_path / "bare"
    assert upsampler_folder(tmp_path / UPSAMPLER).name == "latent_upsampler"
    assert weights_identity(bare) == weights_identity(row)


def cut(path: Path, count: int) -> None:
    path.write_bytes(path.read_bytes()[:count])


def edit(path: Path, change: Callable[[dict[str, object]], object]) -> None:
    value = json.loads(path.read_text(encoding="utf-8"))
    change(value)
    write_json(path, value)


def become_wan(folder: Path) -> None:
    shutil.rmtree(folder)
    write_pipeline(folder, "wan")


FETCH = ".*reelbook weights fetch"
VAE = "vae/diffusion_pytorch_model.safetensors"
DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no folder": (shutil.rmtree, "there is no folder" + FETCH),
    "no table of parts": (lambda at: (at / "model_index.json").unlink(), "has no model_index.json" + FETCH),
    "a part missing": (lambda at: shutil.rmtree(at / "vae"), f"{LTX}/vae has no config.json" + FETCH),
    "a shard missing": (lambda at: (at / "transformer" / SHARD).unlink(), f"{LTX}/transformer has no {SHARD}" + FETCH),
    "a shard cut short": (lambda at: cut(at / "transformer" / SHARD, -9), "and should be" + FETCH),
    "a page as weights": (
        lambda at: (at / VAE).write_text("<!doctype html>" * 9),
        "not a whole safetensors file" + FETCH,
    ),
    "only a pickle": (
        lambda at: (at / VAE).rename((at / VAE).with_suffix(".bin")),
        "has diffusion_pytorch_model.bin, a pickle.* with .safetensors files",
    ),
    "a pickle beside the weights": (
        lambda at: (at / "text_encoder" / "pytorch_model.bin").write_bytes(b"\x80\x04."),
        "has pytorch_model.bin, a pickle.*Remove it",
    ),
    "another family": (
        become_wan,
        "names diffusers.WanTransformer3DModel as the transformer.*Correct `family` or `folder`",
    ),
    "a foreign class": (
        lambda at: edit(at / "model_index.json", lambda index: index.update(vae=["evil", "AutoencoderKLLTXVideo"])),
        "names evil.AutoencoderKLLTXVideo as the vae.*needs diffusers.AutoencoderKLLTXVideo",
    ),
    "no words": (lambda at: (at / "tokenizer" / "spiece.model").unlink(), "neither spiece.model nor" + FETCH),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_folder_is_refused_with_the_next_step(row: LtxWeights, damage: str) -> None:
    """Before anything is loaded or bound, with the file in the sentence."""
    change, words = DAMAGES[damage]

    change(row.folder)

    assert re.search(words, sentence_of(row))


def test_the_other_folders_of_a_row_are_checked_too(row: LtxWeights, tmp_path: Path) -> None:
    """The upsampler of LTX."""
    assert "needs `upsampler`" in sentence_of(row.changed(upsampler=None))
    assert "has no config.json" in sentence_of(row.changed(upsampler=tmp_path / "nowhere"))
    assert "is that of AutoencoderKLLTXVideo" in sentence_of(row.changed(upsampler=row.folder / "vae"))


def test_a_check_of_pictures_must_know_its_label(row: LtxWeights, tmp_path: Path) -> None:
    """With another label it would let every clip pass."""
    folder = tmp_path / "check"
    assert "has no config.json" in sentence_of(row.changed(safety=SafetyCheck(folder=folder)))
    write_json(folder / "config.json", {"architectures": ["Anything"], "id2label": {"0": "normal", "1": "nsfw"}})
    write_tensors(folder / "model.safetensors", "a")

    check_weights(row.changed(safety=SafetyCheck(folder=folder)))
    sentence = sentence_of(row.changed(safety=SafetyCheck(folder=folder, label="gore")))

    assert "check has no label 'gore'. Its labels: normal, nsfw." in sentence


def test_other_bytes_are_other_weights(row: LtxWeights) -> None:
    """A finetune has the same table of contents; its tensors are sampled, to the very last byte."""
    before = weights_identity(row)
    write_tensors(row.folder / "vae" / "diffusion_pytorch_model.safetensors", "a", fill=2)
    finetuned = weights_identity(row)
    with (row.folder / "vae" / "diffusion_pytorch_model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x03")

    assert len({before, finetuned, weights_identity(row)}) == 3
    assert len(before) == 12


def test_the_identity_reads_what_fetch_recorded(row: LtxWeights) -> None:
    """A bit that no sample covers differs in the recorded sha256; the date of the record does not matter."""
    record = {
        "repository": "someone/ltx",
        "date": "2026-01-01",
        "files": {"vae/diffusion_pytorch_model.safetensors": "ab" * 32},
    }
    write_json(row.folder / RECORD_NAME, record)
    recorded = weights_identity(row)
    write_json(row.folder / RECORD_NAME, {**record, "date": "2026-02-02"})
    same = weights_identity(row)
    write_json(row.folder / RECORD_NAME, {**record, "files": {"vae/diffusion_pytorch_model.safetensors": "cd" * 32}})

    assert recorded == same != weights_identity(row)
