"""LoRA files: found inside their folders only, and read once; no torch."""

from __future__ import annotations

from pathlib import Path

import pytest

from reelbook_service.weights.config import LoRAError
from reelbook_service.weights.lora_files import file_state, find_lora, read_lora


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a LoRA, a folder of two, and links."""
    (tmp_path / "loras" / "pair").mkdir(parents=True)
    for name in ("secret", "loras/paper", "loras/pair/one", "loras/pair/two"):
        (tmp_path / f"{name}.safetensors").write_bytes(name.encode())
    (tmp_path / "loras" / "near.safetensors").symlink_to("paper.safetensors")
    (tmp_path / "loras" / "out.safetensors").symlink_to(tmp_path / "secret.safetensors")
    (tmp_path / "loras" / "out-folder").symlink_to(tmp_path)
    (tmp_path / "loras" / "circle").symlink_to("circle")
    return tmp_path / "loras"


def test_names_inside_the_folders_are_found(folder: Path, tmp_path: Path) -> None:
    """With and without the ending, in any of the folders, through a link that stays inside."""
    empty = tmp_path / "empty"
    empty.mkdir()
    found = [
        find_lora([empty, folder], path, name)
        for path, name in [
            ("paper", None),
            ("paper.safetensors", "ignored"),
            ("near", None),
            ("pair", "two"),
            ("pair/two", None),
        ]
    ]

    assert [path.name for path in found] == ["paper.safetensors"] * 3 + ["two.safetensors"] * 2


@pytest.mark.parametrize(
    "path",
    [
        "out",
        "out-folder",
        "out-folder/secret",
        "circle",
        "a/" * 3000,
        "../secret",
        "/etc/passwd",
        "~/x",
        "file:///x",
        "a\\b",
        "",
        ".",
        "a\0b",
        "é" * 150,
        "\ud800",
    ],
)
def test_nothing_outside_is_found(folder: Path, path: str) -> None:
    """Whatever the request names, and whatever the links lead to; the sentence names nothing from there."""
    for weight_name in (None, "two"):
        with pytest.raises(LoRAError) as refused:
            find_lora([folder], path, weight_name)
        assert "secret" not in str(refused.value).replace(repr(path), "")


def test_sentences_name_what_there_is(folder: Path) -> None:
    """So that the next request can be right."""
    with pytest.raises(LoRAError, match=r"There is no LoRA 'boat' here\. There are: near, .*paper\."):
        find_lora([folder], "boat", None)
    with pytest.raises(LoRAError, match=r"Say which by `weight_name`: one, two\."):
        find_lora([folder], "pair", None)
    with pytest.raises(LoRAError, match=r"has no LoRA 'three'\. It has: one, two\."):
        find_lora([folder], "pair", "three")
    with pytest.raises(LoRAError, match="This service has no LoRAs"):
        find_lora([], "paper", None)


def test_a_file_is_read_within_its_limit_and_not_through_a_link(folder: Path) -> None:
    """A link that took the place of the file since it was found is not followed."""
    path = find_lora([folder], "paper", None)
    before = file_state(path)

    assert read_lora(path, 1) == b"loras/paper"
    with pytest.raises(LoRAError, match="takes LoRAs of 0 MiB at most"):
        read_lora(path, 0)

    path.unlink()
    path.symlink_to(folder.parent / "secret.safetensors")
    with pytest.raises(LoRAError, match=r"paper\.safetensors could not be read"):
        read_lora(path, 1)
    assert file_state(path) != before
    path.unlink()
    assert file_state(path) == ()
