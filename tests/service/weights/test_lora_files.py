"""LoRA files: found inside their folders only; no torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reelbook_service.weights.config import LoRAError, LoRAFolders
from reelbook_service.weights.folder import find_lora


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
