"""What a device is: its name, its memory, and whether it computes in bfloat16."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ..memory_plan import GIB


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """A device as torch describes it; a CPU has no memory of its own."""

    name: str
    free_gib: float = 0.0
    total_gib: float = 0.0
    has_bfloat16: bool = True
    cuda: str = ""


def read_device(device: str) -> DeviceFacts:
    """The facts of a device; raises what torch raises where it is not there."""
    if device == "cpu":
        return DeviceFacts("cpu")
    free, total = torch.cuda.mem_get_info(device)
    properties = torch.cuda.get_device_properties(device)
    return DeviceFacts(properties.name, free / GIB, total / GIB, properties.major >= 8, str(torch.version.cuda))
