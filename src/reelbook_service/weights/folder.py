"""Folders of weights and of LoRAs: what must be in them, checked in a few milliseconds and without torch."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from reelbook.util.printable import format_line

from ..lanes import DASK
from .config import BadWeights, LoRAError, LoRAFolders, LtxWeights, Weights, folders_of

PACKAGES = ("torch", "diffusers", "transformers", "accelerate", "peft", "safetensors", "sentencepiece")
"""The packages of the extra `weights`, which are looked for and not imported."""

RECORD_NAME = "reelbook-weights.json"
"""What `reelbook weights fetch` writes into a folder: repository, revision, licence, and the sha256 of each file."""

PARTS: Mapping[str, Mapping[str, str]] = {
    "ltx": {
        "transformer": "LTXVideoTransformer3DModel",
        "vae": "AutoencoderKLLTXVideo",
        "text_encoder": "T5EncoderModel",
        "tokenizer": "",
    },
    "wan": {
        "transformer": "WanTransformer3DModel",
        "vae": "AutoencoderKLWan",
        "text_encoder": "UMT5EncoderModel",
        "tokenizer": "",
        "scheduler": "",
    },
}
"""The folders that each family is loaded from, with the class of their weights. The scheduler of LTX is made here."""

PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")
SAMPLES, SAMPLE_BYTES = 32, 4096
MAX_NAMED = 10
"""LoRAs that a sentence lists at most."""
INSTALL = "From a checkout of Reelbook: pip install '.[{}]'"
"""How to install an extra."""
_FETCH = "Fetch the weights: reelbook weights fetch models.toml"


def check_usable(rows: Collection[Weights]) -> None:
    """Raise `BadWeights` unless the extra is installed, the folders are complete and their licences accepted."""
    clusters = [row for row in rows if row.devices[0].startswith(DASK)]
    # The machines of a cluster have torch and its friends; this one needs to reach them only.
    needed = (*(PACKAGES if len(clusters) < len(rows) else ()), *(("distributed",) if clusters else ()))
    if missing := [name for name in needed if importlib.util.find_spec(name) is None]:
        extra = "cluster" if missing[0] == "distributed" else "weights"
        raise BadWeights(
            f'Models with engine = "diffusers" need {missing[0]}, which is not installed. {INSTALL.format(extra)}'
        )
    for row in rows:
        check_weights(row)
        check_license(row)


def check_license(row: Weights) -> None:
    """Raise `BadWeights` if a folder was fetched with a licence that the row does not accept."""
    for folder in folders_of(row):
        word = read_record(folder).get("license")
        if word and str(word) not in row.accepted_licenses:
            raise BadWeights(
                f'{row.endpoint_id}: the weights in {folder} came with the licence "{word}". Read it, and if you accept it '
                f'write accept_license = "{word}" under this model.'
            )


def check_weights(row: Weights) -> None:
    """Raise `BadWeights` unless the folders of the row have the parts of its family, by their configurations."""
    if not row.folder.is_dir():
        raise BadWeights(f"{row.endpoint_id}: there is no folder {row.folder}. {_FETCH}.")
    for name, kind in PARTS[row.family].items():
        if kind:
            _check_model(row.folder / name, kind)
        elif not (row.folder / name).is_dir():
            raise BadWeights(f"{row.folder.name} has no folder {name}. {_FETCH}.")
    if isinstance(row, LtxWeights):
        if row.upsampler is None:
            raise BadWeights(
                f"{row.endpoint_id}: the family ltx needs `upsampler`, the folder of its latent upsampler."
            )
        _check_model(upsampler_folder(row.upsampler), "LTXLatentUpsamplerModel")
    else:
        index = _read_json(row.folder / "model_index.json")
        if any(index.get("transformer_2") or ()) or not index.get("expand_timesteps"):
            # Their other pipelines have two transformers, or read the picture in another way.
            raise BadWeights(
                f"{row.endpoint_id}: {row.folder.name}/ is not Wan 2.2 TI2V, the one kind of the family wan that runs here."
            )
    if row.safety is not None:
        labels = [str(label) for label in _check_model(row.safety.folder).get("id2label", {}).values()]
        if row.safety.label not in labels:
            some = ", ".join(labels) or "none"
            raise BadWeights(f"{_label(row.safety.folder)} has no label {row.safety.label!r}. Its labels: {some}.")


def _check_model(folder: Path, wanted: str = "") -> dict[str, Any]:
    """The configuration of a model of this class, which has safetensors and no pickle."""
    config = _read_json(folder / "config.json")
    # The libraries take any class's configuration for their own, and go on with default values.
    named = config.get("_class_name") or next(iter(config.get("architectures") or ()), wanted)
    if wanted and named != wanted:
        raise BadWeights(
            f"config.json in {_label(folder)} is that of {named}; this model needs {wanted}. Correct `family` or `folder`."
        )
    names = sorted(path.name for path in folder.iterdir())
    if pickles := [name for name in names if name.lower().endswith(PICKLES)]:
        raise BadWeights(
            f"{_label(folder)} has {pickles[0]}, a pickle, which can run any program; nothing here opens it. Remove it, and "
            "take a repository or revision with .safetensors files."
        )
    if not any(name.endswith(".safetensors") for name in names):
        raise BadWeights(f"{_label(folder)} has no .safetensors file. {_FETCH}.")
    return config


def upsampler_folder(path: Path) -> Path:
    """The folder of the upsampler model itself, in that of a pipeline or the same."""
    inner = path / "latent_upsampler"
    return inner if inner.is_dir() else path


def weights_identity(row: Weights) -> str:
    """A short name of exactly these weights: the same files give the same one on every machine.

    It covers the hashes that fetch recorded, and samples of each file from the start to the very end: a record does not
    notice that a file was replaced later.
    """
    digest = hashlib.sha256()
    folders = [(row.folder, row.folder / name) for name in PARTS[row.family]]
    folders += [(root, upsampler_folder(root)) for root in folders_of(row)[1:]]
    for number, (root, folder) in enumerate(folders):
        recorded = read_record(root).get("files", {})
        for path in sorted(folder.iterdir()):
            if path.suffix not in (".safetensors", ".json", ".model") or path.name == RECORD_NAME:
                continue
            size = path.stat().st_size
            # The part by its number: both layouts of an upsampler are the same weights.
            facts = number, path.name, size, recorded.get(path.relative_to(root).as_posix())
            digest.update(json.dumps(facts).encode())
            with path.open("rb") as file:
                for sample in range(SAMPLES):
                    file.seek(max(0, size - SAMPLE_BYTES) * sample // (SAMPLES - 1))
                    digest.update(file.read(SAMPLE_BYTES))
    return digest.hexdigest()[:12]


def find_lora(settings: LoRAFolders, path: str, weight_name: str | None) -> Path:
    """The file that a request's `path` names, of all that are in the folders: no other path or address is ever opened."""
    files: dict[str, Path] = {}
    for folder in reversed(settings.folders):  # The first folder counts.
        for file in folder.rglob("*.safetensors"):
            # What a link leads to counts.
            target = file.resolve() if file.is_file() else folder
            if target.suffix == file.suffix and target.is_relative_to(folder.resolve()):
                files[file.relative_to(folder).as_posix().removesuffix(file.suffix)] = target
    inside = sorted(name for name in files if name.rpartition("/")[0] == path)
    only = inside if weight_name is None and len(inside) == 1 else [f"{path}/{weight_name or ''}"]
    for name in (path, *only):
        if file_there := files.get(name.removesuffix(".safetensors")):
            return file_there
    named = inside or sorted(files)
    some = ", ".join(named[:MAX_NAMED]) + (" …" if len(named) > MAX_NAMED else "") if named else "none"
    raise LoRAError(
        f"There is no LoRA {format_line(path)[:80]!r} here, or it is a folder of several. Only .safetensors files in this "
        f"service's LoRA folders are read, and never an address or another path. Those here are: {some}."
    )


def find_damaged(folder: Path, digests: Mapping[str, str]) -> list[str]:
    """The files that are not there with their hash as the hub states it: sha256 of large files, that of git for small ones."""
    return sorted(name for name, digest in digests.items() if not _has_hash(folder / name, digest))


def _has_hash(path: Path, digest: str) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        if len(digest) == 64:
            return hashlib.file_digest(file, "sha256").hexdigest() == digest
        content = file.read()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest() == digest


def read_record(folder: Path) -> dict[str, Any]:
    """What fetch recorded in a folder; empty where the folder came another way."""
    path = folder / RECORD_NAME
    return _read_json(path) if path.is_file() else {}


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise BadWeights(f"{_label(path.parent)} has no {path.name}. {_FETCH}.")
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise BadWeights(f"{path.name} in {_label(path.parent)} is damaged. Remove it, and fetch it again.")
    return value


def _label(folder: Path) -> str:
    """The folder with the one that holds it: `ltx-13b/vae`."""
    return f"{folder.parent.name}/{folder.name}"
