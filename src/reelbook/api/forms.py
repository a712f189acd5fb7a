"""`rb.form` and `rb.studio`: widgets for the inputs of a model, with the current client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..current import session
from ..errors import ReelbookError
from ..models.base import Input
from ..models.catalog import CATALOG

if TYPE_CHECKING:
    import pandas as pd

    from ..runs.run import Run
    from ..widgets.forms.form import Form
    from ..widgets.studio import Studio


def form(model: type[Input] | Input | str | Run | pd.Series[Any] | pd.DataFrame) -> Form:
    """A form for a model, given as its input class, an initial input, or the id of a model that the service describes.

    Given a run, or a row of a table of runs such as `table.loc[[7]]`, the form starts with the input of that run.

    Nothing is sent until you press Run; the button shows the price.

    Example::

        form = rb.form(boat)
        form.edit("seed", 11)
        form.value, form.code
    """
    from ..widgets.forms.form import Form

    kind, value = _find_model(model)
    return Form(kind, session=session, value=value)


def studio(model: type[Input] | Input | str | Run | pd.Series[Any] | pd.DataFrame | None = None) -> Studio:
    """Everything in one cell: choose a model, fill in its form, run it, sweep it, see results and costs.

    It starts with text to video, or with the model or input that you give.

    Example::

        studio = rb.studio(boat)
    """
    from ..widgets.studio import Studio

    kind, value = _find_model(CATALOG[0].input if model is None else model)
    return Studio(kind, session=session, value=value)


def _find_model(given: Any) -> tuple[type[Input], Input | None]:
    """The input class of a model, and the input to begin with: that of a run or a row, if one is given."""
    if isinstance(given, str):
        return session.model(given), None
    if isinstance(given, type) and issubclass(given, Input) and given.endpoint_id:
        return given, None
    if not isinstance(given, (Input, type)):
        from .which_run import find_input  # Here, because it brings pandas along.

        given = find_input(given, "rb.form")
    if isinstance(given, Input):
        return type(given), given
    raise ReelbookError(
        f"A form is made for a model: rb.form(rb.TextToVideo), rb.form(some_inputs), rb.form('the/model-id') or rb.form(run), not for {given!r:.100}."
    )
