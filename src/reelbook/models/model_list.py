"""The list of a service's models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Models(list[Mapping[str, Any]]):
    """The models of a service, each with its id and other fields that the service reports; a table in a notebook."""
