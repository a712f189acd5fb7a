"""Folders of weights and of LoRAs: what must be in them, checked in a few milliseconds and without torch."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from reelbook.util.printable import format_line

from ..lanes import DASK
from .config import BadWeights, LoRAError, LoRAFolders, LtxWeights, Weights, folders_of

PACKAGES = ("torch", "diffusers", "transformers", "accelerate", "peft", "safetensors", "sentencepiece")
"""The packages of the extra `weights`, which are looked for and not imported."""

RECORD_NAME = "reelbook-weights.json"
"""What `reelbook weights fetch` writes into a folder: repository, revision, licence, and the sha256 of each file."""

PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")
WEIGHT_STEMS = ("diffusion_pytorch_model", "model")

MAX_HEADER_BYTES = 100_000_000
"""The limit of the safetensors library itself."""
SAMPLES, SAMPLE_BYTES = 16, 4096
MAX_NAMED = 10
"""LoRAs that a sentence lists at most."""

_FETCH = "Fetch the weights: reelbook weights fetch"


PARTS: Mapping[str, Mapping[str, str]] = {
    "ltx": {
        "transformer": "diffusers.LTXVideoTransformer3DModel",
        "vae": "diffusers.AutoencoderKLLTXVideo",
        "text_encoder": "transformers.T5EncoderModel",
        "tokenizer": "transformers.T5Tokenizer",
    },
    "wan": {
        "transformer": "diffusers.WanTransformer3DModel",
        "vae": "diffusers.AutoencoderKLWan",
        "text_encoder": "transformers.UMT5EncoderModel",
        "tokenizer": "transformers.T5Tokenizer",
        "scheduler": "diffusers.UniPCMultistepScheduler",
    },
}
"""The parts that each family is loaded from, with their classes. The scheduler of LTX is made here, whatever its folder says."""
CONFIGS = {"tokenizer": "tokenizer_config.json", "scheduler": "scheduler_config.json"}
"""The configuration of parts without weights; that of the others is `config.json`."""


def check_usable(rows: Collection[Weights]) -> None:
    """Raise `BadWeights` unless the extra is installed, the folders are complete and their licences accepted."""
    clusters = [row for row in rows if row.devices[0].startswith(DASK)]
    # The machines of a cluster have torch and its friends; this one needs to reach them only.
    needed = (*(PACKAGES if len(clusters) < len(rows) else ()), *(("distributed",) if clusters else ()))
    if missing := [name for name in needed if importlib.util.find_spec(name) is None]:
        extra = "cluster" if missing[0] == "distributed" else "weights"
        raise BadWeights(
            f'Models with engine = "diffusers" need {missing[0]}, which is not installed. Install the extra: '
            f"pip install 'reelbook[{extra}]'"
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
    """Raise `BadWeights` unless every folder of the row is complete; no tensor is read."""
    _check_pipeline(row)
    if isinstance(row, LtxWeights):
        if row.upsampler is None:
            raise BadWeights(
                f"{row.endpoint_id}: the family ltx needs `upsampler`, the folder of its latent upsampler."
            )
        _check_model(upsampler_folder(row.upsampler), "LTXLatentUpsamplerModel")
    if row.safety is not None:
        labels = [str(label) for label in _check_model(row.safety.folder).get("id2label", {}).values()]
        if row.safety.label not in labels:
            some = ", ".join(labels) or "none"
            raise BadWeights(f"{_label(row.safety.folder)} has no label {row.safety.label!r}. Its labels: {some}.")


def upsampler_folder(path: Path) -> Path:
    """The folder of the upsampler model itself, in that of a pipeline or the same."""
    inner = path / "latent_upsampler"
    return inner if inner.is_dir() else path


def weights_identity(row: Weights) -> str:
    """A short name of exactly these weights: the same files give the same one on every machine.

    It covers the sha256s that fetch recorded, and the header and samples of each file: headers alone are the same for
    every finetune of a model, and a record does not notice that a file was replaced later.
    """
    digest = hashlib.sha256()
    for root in folders_of(row):
        recorded = read_record(root).get("files", {})
        for folder in [root / name for name in PARTS[row.family]] if root == row.folder else [upsampler_folder(root)]:
            files = [path for path in folder.iterdir() if path.suffix in (".safetensors", ".json", ".model")]
            for path in sorted(files):
                # Without the folder of the upsampler: both of its layouts are the same weights.
                name = f"{folder.name if root == row.folder else 'upsampler'}/{path.name}"
                digest.update(f"{name}\n{recorded.get(path.relative_to(root).as_posix(), '')}".encode())
                for sample in _file_samples(path):
                    digest.update(sample)
    return digest.hexdigest()[:12]


def read_header(path: Path) -> dict[str, Any]:
    """The table of contents of a safetensors file, tensor by name, checked against the length of the file."""
    if not path.is_file():
        raise BadWeights(f"{_label(path.parent)} has no {path.name}. {_FETCH}.")
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        text = file.read(length) if 2 <= length <= MAX_HEADER_BYTES else b""
    try:
        table: dict[str, Any] = json.loads(text)
        table.pop("__metadata__", None)
        expected = 8 + length + max((int(entry["data_offsets"][1]) for entry in table.values()), default=0)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise BadWeights(f"{path.name} is not a whole safetensors file. {_FETCH}.") from None
    if expected != size:
        raise BadWeights(f"{path.name} is {size:,} bytes and should be {expected:,}. {_FETCH}.")
    return table


def _file_samples(path: Path) -> Iterator[bytes]:
    """The length of a file, its header if it has one, and some of its bytes from the start to the very end."""
    size = path.stat().st_size
    yield size.to_bytes(8, "little")
    with path.open("rb") as file:
        if path.suffix == ".safetensors":
            yield file.read(8 + int.from_bytes(file.read(8), "little"))
        for number in range(SAMPLES):
            file.seek(max(0, size - SAMPLE_BYTES) * number // (SAMPLES - 1))
            yield file.read(SAMPLE_BYTES)


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
    shown, some = format_line(path)[:80], ", ".join(name.rpartition("/")[2] for name in inside[:MAX_NAMED])
    if inside:
        raise LoRAError(f"Say which LoRA of {shown!r} is meant by `weight_name`: {some}.")
    names = sorted({name.partition("/")[0] for name in files})
    more = " …" if len(names) > MAX_NAMED else ""
    some = f"Those here are: {', '.join(names[:MAX_NAMED])}{more}." if names else "There are none."
    raise LoRAError(
        f"There is no LoRA {shown!r} here. Only .safetensors files in this service's LoRA folders are read, and never "
        f"an address or another path. {some}"
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


def _check_pipeline(row: Weights) -> None:
    folder = row.folder
    if not folder.is_dir():
        raise BadWeights(f"{row.endpoint_id}: there is no folder {folder}. {_FETCH}.")
    index = _read_json(folder / "model_index.json")
    if row.family == "wan" and (_class_in(index, "transformer_2") or not index.get("expand_timesteps")):
        # Their other pipelines have two transformers, or read the picture in another way.
        raise BadWeights(
            f"{row.endpoint_id}: {folder.name}/ is not Wan 2.2 TI2V, the one kind of the family wan that runs here."
        )
    for name, wanted in PARTS[row.family].items():
        # The fast tokenizer reads the same files as the slow one.
        named = _class_in(index, name).removesuffix("Fast")
        if named != wanted:
            raise BadWeights(
                f"{row.endpoint_id}: model_index.json in {folder.name}/ names {named or 'nothing'} as the {name}; the family "
                f"{row.family} needs {wanted}. Correct `family` or `folder` of this model."
            )
        if name in CONFIGS:
            _read_json(folder / name / CONFIGS[name])
        else:
            _check_model(folder / name, wanted.rpartition(".")[2])
    if not any((folder / "tokenizer" / name).is_file() for name in ("spiece.model", "tokenizer.json")):
        raise BadWeights(f"{_label(folder / 'tokenizer')} has neither spiece.model nor tokenizer.json. {_FETCH}.")


def _check_model(folder: Path, wanted: str = "") -> dict[str, Any]:
    """The configuration of a model of this class, whose files are whole and have no pickle among them."""
    config = _read_json(folder / "config.json")
    # The libraries take any class's configuration for their own, and go on with default values.
    named = config.get("_class_name") or next(iter(config.get("architectures") or ()), wanted)
    if wanted and named != wanted:
        raise BadWeights(f"config.json in {_label(folder)} is that of {named}; this model needs {wanted}.")
    if pickles := sorted(path.name for path in folder.iterdir() if path.suffix.lower() in PICKLES):
        raise BadWeights(
            f"{_label(folder)} has {pickles[0]}, a pickle, which can run any program; nothing here opens it. Remove it, and "
            "take a repository or revision with .safetensors files."
        )
    for path in _weight_files(folder):
        read_header(path)
    return config


def _weight_files(folder: Path) -> list[Path]:
    """The safetensors files of one part."""
    for stem in WEIGHT_STEMS:
        index, single = folder / f"{stem}.safetensors.index.json", folder / f"{stem}.safetensors"
        if index.is_file():
            return [folder / str(name) for name in sorted(set(_read_json(index).get("weight_map", {}).values()))]
        if single.is_file():
            return [single]
    raise BadWeights(f"{_label(folder)} has no .safetensors file. {_FETCH}.")


def _class_in(index: Mapping[str, Any], part: str) -> str:
    """The class of a part with its library; empty for a part that there is not."""
    return ".".join(name for name in index.get(part) or () if isinstance(name, str))


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
