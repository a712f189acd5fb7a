"""The door to forms: widgets for the inputs of a model, with a client behind them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..client import Client, latest_client
from ..errors import ReelbookError
from ..models.base import Input
from ..models.catalog import CATALOG
from ..models.pricing import Estimate, estimate
from ..util.name_hints import with_usage
from .runs import default_client

if TYPE_CHECKING:
    import pandas as pd

    from ..runs.run import Run
    from ..sweeps.plan.plan import Plan
    from ..widgets.forms.controls import Controls
    from ..widgets.forms.form import Form
    from ..widgets.studio.studio import Studio


class _Shop:
    """What forms get from here."""

    def client_told(self) -> str:
        """The service in a few words; empty where nobody is connected."""
        from ..widgets.forms.shop import EMBEDDED

        client = latest_client()
        return "" if client is None else EMBEDDED if client.is_embedded else client.base_url

    def is_connected(self) -> bool:
        """Nothing is connected only to show a form."""
        return latest_client() is not None

    def estimate(self, request: Input) -> Estimate:
        """From the latest client, else from the catalog."""
        client = latest_client()
        return estimate(request) if client is None else client.estimate(request)

    def start(self, request: Input, take: int | None = None) -> Run:
        """With the latest client, else a new one."""
        return default_client().start_watched(request, take=take)

    def shelf_find(self, sha256: str) -> Path | None:
        """In the library of the latest client."""
        client = latest_client()
        return None if client is None else client.shelf.find(sha256)

    def shelf_keep(self, content: bytes, suffix: str) -> None:
        """In the library of the latest client."""
        client = latest_client()
        if client is not None:
            client.shelf.keep(content, suffix)

    def library_frame(self) -> pd.DataFrame:
        """Of the latest client's library, else of the usual one."""
        from .library import library

        return library().frame

    def plan(self, request: Input, axes: Mapping[str, Sequence[Any]]) -> Plan:
        """With a client behind it, so that it knows what the library has and can be run."""
        from .sweeps import sweep

        return sweep(request, **axes)

    def model(self, endpoint_id: str) -> type[Input]:
        """As the catalog has it, else as the service describes it."""
        return _input_class(endpoint_id)

    def account(self) -> Mapping[str, Any]:
        """Of the latest client; nobody is connected for it, not even where one was closed at this moment."""
        return _require_client().account()

    def features(self) -> frozenset[str]:
        """Of the latest client."""
        return _require_client().features()

    def service_to_come(self) -> str:
        """The host alone: an address may have a name and a password in it."""
        host = urlsplit(os.getenv("REELBOOK_URL") or "").hostname
        return host or "the embedded service on this machine, at no cost"


@with_usage("rb.form(rb.TextToVideo)")
def form(model: type[Input] | Input | str | Run | pd.Series[Any] | pd.DataFrame) -> Form:
    """A form for a model: its input class, inputs to begin with, or the id of any model that the service describes.

    A run, or a row of a table of runs such as `table.loc[[7]]`, opens with what was asked there.

    Nothing is sent before somebody presses Run; what that costs stands on the button.
    """
    from ..widgets.forms.form import Form

    model = _initial_value(model)
    value = model if isinstance(model, Input) else None
    return Form(type(value) if value is not None else _input_class(model), shop=_Shop(), value=value)


@with_usage("rb.controls(rb.TextToVideo)")
def controls(model: type[Input] | Input | str | Run | pd.Series[Any] | pd.DataFrame) -> Controls:
    """The fields of a model as plain ipywidgets, to be laid out as one likes: `rb.controls(rb.TextToVideo)["seed"]`."""
    from ..widgets.forms.controls import Controls

    model = _initial_value(model)
    value = model if isinstance(model, Input) else None
    return Controls(type(value) if value is not None else _input_class(model), shop=_Shop(), value=value)


def studio(model: type[Input] | Input | str | Run | pd.Series[Any] | pd.DataFrame | None = None) -> Studio:
    """The whole toolkit in one cell: choose a model, fill its form, run it, sweep it, look at what came of it, see what it cost.

    It begins with text-to-video, or with the model or inputs that it is given.
    """
    from ..widgets.studio.studio import Studio

    model = _initial_value(model)
    value = model if isinstance(model, Input) else None
    kind = type(value) if value is not None else CATALOG[0].input if model is None else _input_class(model)
    return Studio(kind, shop=_Shop(), value=value)


def _initial_value(model: Any) -> Any:
    """What to begin with; of a run or a row its input."""
    if model is None or isinstance(model, (str, type, Input)):
        return model
    from .run_arguments import find_input

    return find_input(model, "rb.form")


def _require_client() -> Client:
    client = latest_client()
    if client is None:
        raise ReelbookError("Nobody is connected. The first run connects, and so does rb.connect().")
    return client


def _input_class(model: Any) -> type[Input]:
    if isinstance(model, str):
        known = next((row.input for row in CATALOG if model in (row.id, row.input.__name__)), None)
        return known or default_client().model(model)
    if isinstance(model, type) and issubclass(model, Input) and model.endpoint_id:
        return model
    raise ReelbookError(
        f"A form is made for a model: rb.form(rb.TextToVideo), rb.form(some_inputs), rb.form('the/model-id') or rb.form(run), not for {model!r:.100}."
    )
