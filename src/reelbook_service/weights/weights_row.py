"""One model's weights, as a table of `models.toml` with the engine `diffusers` describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, Self

Family = Literal["ltx", "wan"]
TextEncoderPlace = Literal["stay", "park", "cpu"]


class BadWeights(Exception):
    """Weights that cannot be used: a sentence for whoever runs the service, with the file and the next step."""


class LoRAError(Exception):
    """A LoRA that cannot be used; ends the run with `lora_load_error`."""


@dataclass(frozen=True, slots=True)
class WeightsRow:
    """The weights of one model, and how they are run. The defaults are those that the tests cover."""

    endpoint_id: str
    family: Family
    folder: Path
    """The folder of the weights, in the layout of a diffusers pipeline."""
    upsampler: Path | None = None
    """The folder of the latent upsampler: that of a pipeline, or of the bare model."""
    repository: str = ""
    """Where `reelbook weights fetch` gets the folder from; nothing else reads it."""
    revision: str = ""
    """The commit of that repository."""
    upsampler_repository: str = ""
    upsampler_revision: str = ""
    accept_license: str = ""
    """The words of the licences, with commas or spaces between, entered by the owner after reading them."""
    devices: tuple[str, ...] = ("cuda:0",)
    """The devices that have a copy each: `cuda:0`, or `cpu`; or one alone, the workers of a cluster: `dask:tcp://HOST:PORT`."""
    dtype: str = "bfloat16"
    storage: str = ""
    """`float8_e4m3fn` stores the transformer in 8 bits, and computes in `dtype`."""
    text_encoder: TextEncoderPlace = "stay"
    """Whether the text encoder stays on the device, is parked on the CPU after each prompt, or runs on the CPU."""
    guidance: tuple[float, float] = (1.0, 1.0)
    """The guidance at `cfg_scale` 0 and 1."""
    steps: int = 8
    """Steps of models whose input has no field for them."""
    downscale: float = 2 / 3
    """Size of the first pass, relative to the clip."""
    window_frames: int = 257
    overlap_frames: int = 24
    decode_latents: int = 8
    """Latent frames that are decoded together."""
    lora_folders: tuple[Path, ...] = ()
    max_lora_mib: int = 2048
    detailer: Path | None = None
    """An in-context LoRA for the detail pass."""
    expand_folder: Path | None = None
    """A causal language model that lengthens prompts; without it, the rule of the sketch engine does."""
    check_folder: Path | None = None
    """An image classifier that checks the finished clip."""
    check_label: str = "nsfw"
    check_threshold: float = 0.8

    @property
    def accepted_licenses(self) -> frozenset[str]:
        """The words of the licences that the owner has accepted.

        >>> sorted(WeightsRow("svc/image-to-video", "wan", Path("wan"), accept_license="mit, apache-2.0").accepted_licenses)
        ['apache-2.0', 'mit']
        """
        return frozenset(self.accept_license.replace(",", " ").split())

    def to_json(self) -> dict[str, Any]:
        """The row for the pipe to a worker.

        >>> row = WeightsRow("svc/image-to-video", "wan", Path("weights/wan"), devices=("cpu",))
        >>> WeightsRow.from_json(row.to_json()) == row
        True
        """
        return {item.name: _plain(getattr(self, item.name)) for item in fields(self)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The row from the pipe."""
        paths = {name: Path(values[name]) for name in _PATHS if values[name] is not None}
        lists = {name: tuple(values[name]) for name in ("devices", "guidance")}
        return cls(**{**values, **paths, **lists, "lora_folders": tuple(Path(one) for one in values["lora_folders"])})


_PATHS = ("folder", "upsampler", "detailer", "expand_folder", "check_folder")


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
