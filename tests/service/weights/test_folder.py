"""Folders of weights and of LoRAs, with files written by hand: no torch."""

from __future__ import annotations

import json
import re
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reelbook_service.weights.config import BadWeights, LoRAError, LoRAFolders, LtxWeights, WanWeights
from reelbook_service.weights.folder import (
    PARTS,
    RECORD_NAME,
    check_weights,
    find_lora,
    weights_identity,
)

LTX, WAN, UPSAMPLER = "ltx-small", "wan-small", "ltx-upsampler"
BYTES = 200_000
"""Bytes of each file: enough that samples do not cover it."""


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def write_model(folder: Path, kind: str) -> None:
    """Write the configuration of a class, and a file whose bytes are no weights: they are not read here."""
    write_json(folder / "config.json", {"architectures": [kind]} if "T5" in kind else {"_class_name": kind})
    (folder / "model.safetensors").write_bytes(bytes(BYTES))


def write_pipeline(folder: Path, family: str) -> None:
    """Write a complete folder of a family."""
    for name, kind in PARTS[family].items():
        write_model(folder / name, kind)
    write_json(folder / "model_index.json", {"transformer_2": [None, None], "expand_timesteps": True})


@pytest.fixture
def row(tmp_path: Path) -> LtxWeights:
    """A complete row of LTX, with its upsampler in the folder of a pipeline."""
    write_pipeline(tmp_path / LTX, "ltx")
    write_model(tmp_path / UPSAMPLER / "latent_upsampler", "LTXLatentUpsamplerModel")
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


def become_wan(folder: Path) -> None:
    shutil.rmtree(folder)
    write_pipeline(folder, "wan")


FETCH = ".*reelbook weights fetch"
VAE = "vae/model.safetensors"
DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no folder": (shutil.rmtree, "there is no folder" + FETCH),
    "a part missing": (lambda at: shutil.rmtree(at / "vae"), f"{LTX}/vae has no config.json" + FETCH),
    "no weights": (lambda at: (at / VAE).unlink(), f"{LTX}/vae has no .safetensors file" + FETCH),
    "no words": (lambda at: shutil.rmtree(at / "tokenizer"), "has no folder tokenizer" + FETCH),
    "a damaged configuration": (lambda at: (at / "vae/config.json").write_text("{"), "config.json in .* is damaged"),
    "only a pickle": (
        lambda at: (at / VAE).rename((at / VAE).with_suffix(".bin")),
        "has model.bin, a pickle.* with .safetensors files",
    ),
    "a pickle beside the weights": (
        lambda at: (at / "text_encoder" / "pytorch_model.bin").write_bytes(b"\x80\x04."),
        "has pytorch_model.bin, a pickle.*Remove it",
    ),
    "another family": (become_wan, "is that of WanTransformer3DModel; .*Correct `family` or `folder`"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_folder_is_refused_with_the_next_step(row: LtxWeights, damage: str) -> None:
    """Before anything is loaded or bound, with the file in the sentence."""
    change, words = DAMAGES[damage]

    change(row.folder)

    assert re.search(words, sentence_of(row))


def test_other_bytes_are_other_weights(row: LtxWeights) -> None:
    """A finetune has files of the same size; they are sampled, to the very last byte."""
    before = weights_identity(row)
    (row.folder / VAE).write_bytes(b"\x02" * BYTES)
    finetuned = weights_identity(row)
    (row.folder / VAE).write_bytes(b"\x02" * (BYTES - 1) + b"\x03")

    assert len({before, finetuned, weights_identity(row)}) == 3
    assert len(before) == 12


def test_the_identity_reads_what_fetch_recorded(row: LtxWeights, tmp_path: Path) -> None:
    """A bit that no sample covers differs in the recorded sha256; the date of the record does not matter."""
    bare = row.changed(upsampler=tmp_path / UPSAMPLER / "latent_upsampler")

    def recorded(root: Path, name: str, **changes: str) -> str:
        write_json(root / RECORD_NAME, {"date": "2026-01-01", "files": {name: "ab" * 32}, **changes})
        return weights_identity(bare)

    for root, name in ((row.folder, VAE), (bare.upsampler, "model.safetensors")):
        assert root is not None
        first = recorded(root, name)
        assert first == recorded(root, name, date="2026-02-02")
        write_json(root / RECORD_NAME, {"files": {name: "cd" * 32}})
        assert first != weights_identity(bare)


# LoRA files: found inside their folders only.


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a LoRA, a folder of two, and links."""
    (tmp_path / "loras" / "pair").mkdir(parents=True)
    (tmp_path / "loras" / "of" / "last" / "week").mkdir(parents=True)
    for name in ("secret", "loras/paper", "loras/pair/one", "loras/pair/two", "loras/of/last/week/ink"):
        (tmp_path / f"{name}.safetensors").write_bytes(name.encode())
    (tmp_path / "loras" / "near.safetensors").symlink_to("paper.safetensors")
    (tmp_path / "loras" / "out.safetensors").symlink_to(tmp_path / "secret.safetensors")
    (tmp_path / "loras" / "out-folder").symlink_to(tmp_path)
    (tmp_path / "loras" / "circle").symlink_to("circle")
    return tmp_path / "loras"


def find(path: str, weight_name: str | None = None, **settings: Any) -> Path:
    """The file of a name in some folders."""
    return find_lora(LoRAFolders(**settings), path, weight_name)


def test_names_inside_the_folders_are_found(folder: Path, tmp_path: Path) -> None:
    """With and without the ending, in any of the folders, through a link that stays inside."""
    empty = tmp_path / "empty"
    empty.mkdir()
    found = [
        find(path, name, folders=(empty, folder))
        for path, name in [
            ("paper", None),
            ("paper.safetensors", "ignored"),
            ("near", None),
            ("pair", "two"),
            ("pair/two", None),
            ("of/last/week/ink", None),
            ("of/last/week", "ink"),
        ]
    ]

    assert [path.name for path in found] == ["paper.safetensors"] * 3 + ["two.safetensors"] * 2 + [
        "ink.safetensors"
    ] * 2


OUTSIDE = (
    "out", "out-folder", "out-folder/secret", "circle", "a/" * 3000, "../secret", "/etc/passwd", "~/x", "file:///x", "a\\b", "", ".",
    "a\0b", "é" * 150, "\ud800",
)  # fmt: skip


@pytest.mark.parametrize("weight_name", [None, "two"])
def test_nothing_outside_is_found(folder: Path, weight_name: str | None) -> None:
    """Whatever the request names, and whatever the links lead to; the sentence names nothing from there."""
    for path in OUTSIDE:
        with pytest.raises(LoRAError) as refused:
            find(path, weight_name, folders=(folder,))
        assert "secret" not in str(refused.value).replace(repr(path), "")
