"""The weights of one model, as a table of `models.toml` with the engine `diffusers` describes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictInt,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError

from reelbook.errors import ReelbookError

from ..lanes import DASK

TEXT_TO_VIDEO, IMAGE_TO_VIDEO = MODELS = (
    "svc/text-to-video-13b-distilled",
    "svc/video-gen/v2.1/master/image-to-video",
)
"""The models that weights can run."""

_COMMIT = re.compile(r"[0-9a-f]{40}")
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
_DEVICE = re.compile(r"cpu|cuda:\d{1,2}")
_CLUSTER = re.compile(rf"{DASK}(tcp|tls)://[A-Za-z0-9.\-\[\]:]+:\d{{1,5}}(/cpu)?")


class BadWeights(ReelbookError):
    """Weights that cannot be used: a sentence for whoever runs the service, with the file and the next step."""

    error_type = "engine_error"


class LoRAError(Exception):
    """A LoRA that cannot be used."""

    error_type = "lora_load_error"


def check_source(repository: str, revision: str) -> None:
    """Raise `BadWeights` unless they name a commit of a repository."""
    if not _REPOSITORY.fullmatch(repository):
        raise BadWeights(f'A repository is "organisation/name", and not {repository[:100]!r}.')
    if not _COMMIT.fullmatch(revision):
        raise BadWeights(
            f"The revision of {repository} is a commit, 40 hex digits, and not {revision[:60]!r}. A branch or "
            "tag can change under the same name: open Files and versions of the repository, then History, and copy the "
            "commit."
        )


def _beside(path: Path, info: ValidationInfo) -> Path:
    """A path of the file, which begins at the file's own folder."""
    return path if info.context is None else Path(info.context["folder"], path.expanduser()).absolute()


def _check_devices(devices: tuple[str, ...]) -> tuple[str, ...]:
    is_cluster = len(devices) == 1 and _CLUSTER.fullmatch(devices[0])
    if not devices or not (is_cluster or all(_DEVICE.fullmatch(device) for device in devices)):
        raise PydanticCustomError(
            "device",
            'write "cuda:0" for the first GPU, "cpu", a list of such names with one worker for each, or '
            '"dask:tcp://HOST:PORT", the scheduler of a Dask cluster',
        )
    if len(set(devices)) < len(devices):
        raise PydanticCustomError("device", "name each device once")
    return devices


LocalPath = Annotated[Path, AfterValidator(_beside)]
Devices = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda value: value if isinstance(value, (list, tuple)) else (str(value),)),
    AfterValidator(_check_devices),
]
Guidance = Annotated[float, Field(ge=0, le=100)]


class ConfigTable(BaseModel):
    """A table of the file, with all of its keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, arbitrary_types_allowed=True)

    def changed(self, **values: Any) -> Self:
        """The same with other values for some keys."""
        return self.model_copy(update=values)


class LoRAFolders(ConfigTable):
    """`[loras]`: where a request's LoRAs may be."""

    folders: tuple[LocalPath, ...] = ()


class SafetyCheck(ConfigTable):
    """`[safety]`: an image classifier that checks the pictures of each clip."""

    folder: LocalPath
    label: str = "nsfw"
    threshold: float = Field(0.8, ge=0, le=1)
    """The probability of the label from which on a picture is refused."""


class _Weights(ConfigTable):
    """What both families have. The defaults are those that the tests cover."""

    engine: Literal["diffusers"] = "diffusers"
    endpoint_id: str
    folder: LocalPath
    """The folder of the weights, in the layout of a diffusers pipeline."""
    repository: str = ""
    """Where `reelbook weights fetch` gets the folder from; nothing else reads it."""
    revision: str = ""
    """The commit of that repository."""
    accept_license: str = ""
    """The words of the licences, with commas or spaces between, entered by the owner after reading them."""
    devices: Devices = Field(("cuda:0",), alias="device")
    """The devices that have a copy each; or one alone, the workers of a cluster."""
    dtype: Literal["bfloat16", "float16", "float32"] = "bfloat16"
    storage: Literal["", "float8_e4m3fn"] = ""
    """`float8_e4m3fn` stores the transformer in 8 bits, and computes in `dtype`."""
    text_encoder: Literal["stay", "park", "cpu"] = "stay"
    """Whether the text encoder stays on the device, is parked on the CPU after each prompt, or runs on the CPU."""
    guidance: tuple[Guidance, Guidance] = (1.0, 1.0)
    """The guidance at `cfg_scale` 0 and 1."""
    steps: StrictInt = Field(8, ge=1, le=200)
    """Steps of models whose input has no field for them."""
    safety: SafetyCheck | None = None

    @model_validator(mode="after")
    def _check_sources(self) -> Self:
        for repository, revision, _ in self.sources:
            check_source(repository, revision)
        return self

    @property
    def sources(self) -> list[tuple[str, str, Path]]:
        """Each repository that `reelbook weights fetch` gets, with its commit and the folder that it fills."""
        return [(self.repository, self.revision, self.folder)] if self.repository else []

    @property
    def accepted_licenses(self) -> frozenset[str]:
        """The words of the licences that the owner has accepted.

        >>> sorted(WanWeights(endpoint_id=IMAGE_TO_VIDEO, folder="wan", accept_license="mit, apache-2.0").accepted_licenses)
        ['apache-2.0', 'mit']
        """
        return frozenset(self.accept_license.replace(",", " ").split())


class LtxWeights(_Weights):
    """LTX-Video, which makes a small clip first and refines it at twice its size."""

    family: Literal["ltx"] = "ltx"
    upsampler: LocalPath | None = None
    """The folder of the latent upsampler: that of a pipeline, or of the bare model."""
    upsampler_repository: str = ""
    upsampler_revision: str = ""
    downscale: float = Field(2 / 3, ge=0.25, le=1)
    """Size of the first pass, relative to the clip."""
    window_frames: StrictInt = Field(257, ge=33, le=1441)
    """Frames that are denoised together; longer clips are made in several windows."""
    loras: LoRAFolders = LoRAFolders()

    @property
    def sources(self) -> list[tuple[str, str, Path]]:
        """Those of the pipeline and of the upsampler."""
        if self.upsampler is None or not self.upsampler_repository:
            return super().sources
        return [*super().sources, (self.upsampler_repository, self.upsampler_revision, self.upsampler)]


class WanWeights(_Weights):
    """Wan 2.2 TI2V, for image to video."""

    family: Literal["wan"] = "wan"


Weights: TypeAlias = LtxWeights | WanWeights
FAMILIES: Mapping[str, type[Weights]] = {"ltx": LtxWeights, "wan": WanWeights}


def folders_of(row: Weights) -> list[Path]:
    """The folders that `reelbook weights fetch` fills: that of the pipeline, and for LTX that of its upsampler."""
    upsampler = row.upsampler if isinstance(row, LtxWeights) else None
    return [row.folder] if upsampler is None else [row.folder, upsampler]
