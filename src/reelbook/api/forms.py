"""`rb.form`, `rb.controls` and `rb.studio`: widgets for the inputs of a model, connected to the current client."""

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


class _FormServices:
    """The services of forms, by the current client."""

    def client_told(self) -> str:
        """The name or address of the service; empty without a client."""
        from ..widgets.forms.shop import EMBEDDED

        client = latest_client()
        return "" if client is None else EMBEDDED if client.is_embedded else client.base_url

    def is_connected(self) -> bool:
        """Whether there is a client; a form alone does not connect."""
        return latest_client() is not None

    def estimate(self, request: Input) -> Estimate:
        """The price by the latest client, else by the catalog."""
        client = latest_client()
        return estimate(request) if client is None else client.estimate(request)

    def start(self, request: Input, take: int | None = None) -> Run:
        """Start a run with the latest client, else with a new one."""
        return default_client().start_watched(request, take=take)

    def shelf_find(self, sha256: str) -> Path | None:
        """The file with this content in the library of the latest client; None if it has none."""
        client = latest_client()
        return None if client is None else client.shelf.find(sha256)

    def shelf_keep(self, content: bytes, suffix: str) -> None:
        """Store a file in the library of the latest client, if there is one."""
        client = latest_client()
        if client is not None:
            client.shelf.keep(content, suffix)

    def library_frame(self) -> pd.DataFrame:
        """The runs in the library of the latest client, else in the default one."""
        from .library import library

        return library().frame

    def plan(self, request: Input, axes: Mapping[str, Sequence[Any]]) -> Plan:
        """The plan of a sweep, which knows what the library has and can be run."""
        from .sweeps import sweep

        return sweep(request, **axes)

    def model(self, endpoint_id: str) -> type[Input]:
        """The input class of a model, from the catalog or else from the service's description."""
        return _input_class(endpoint_id)

    def account(self) -> Mapping[str, Any]:
        """The account of the latest client; never connects, not even if the client was closed meanwhile."""
        return _require_client().account()

    def features(self) -> frozenset[str]:
        """The features of the latest client's service."""
        return _require_client().features()

    def service_to_come(self) -> str:
        """The host of the service that the first run would connect to, without the credentials an address may contain."""
        host = urlsplit(os.getenv("REELBOOK_URL") or "").hostname
        return host or "the embedded service on this machine, at no cost"


@with_usage("rb.form(rb.TextToVideo)")
def form(model: type[Input] | Input | str | Run | pd.Series[Any] | pd.DataFrame) -> Form:
    """A form for a model: its input class, initial inputs, or the id of any model that the service describes.

    For a run, or a row of a table of runs such as `table.loc[[7]]`, it opens with the input of that run.

    Nothing is sent before Run is pressed; the price is on the button.
    """
    from ..widgets.forms.form import Form

    model = _initial_value(model)
    value = model if isinstance(model, Input) else None
    return Form(type(value) if value is not None else _input_class(model), shop=_FormServices(), value=value)


@with_usage("rb.controls(rb.TextToVideo)")
def controls(model: type[Input] | Input | str | Run | pd.Series[Any] | pd.DataFrame) -> Controls:
    """The fields of a model as plain ipywidgets for layouts of your own: `rb.controls(rb.TextToVideo)["seed"]`."""
    from ..widgets.forms.controls import Controls

    model = _initial_value(model)
    value = model if isinstance(model, Input) else None
    return Controls(type(value) if value is not None else _input_class(model), shop=_FormServices(), value=value)


def studio(model: type[Input] | Input | str | Run | pd.Series[Any] | pd.DataFrame | None = None) -> Studio:
    """The whole toolkit in one cell: choose a model, fill in its form, run it, sweep it, view results and costs.

    It begins with text-to-video, or with the given model or inputs.
    """
    from ..widgets.studio.studio import Studio

    model = _initial_value(model)
    value = model if isinstance(model, Input) else None
    kind = type(value) if value is not None else CATALOG[0].input if model is None else _input_class(model)
    return Studio(kind, shop=_FormServices(), value=value)


def _initial_value(model: Any) -> Any:
    """The model or inputs of a form; of a run or a row, its input."""
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
