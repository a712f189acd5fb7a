"""One row per model, as the specification has it."""

from __future__ import annotations

from decimal import Decimal

import pytest

from reelbook.errors import UnknownModel
from reelbook.models.catalog import CATALOG, Endpoint, get_endpoint
from tests.spec import tables
from tests.spec.tables import Model


@pytest.mark.parametrize("model", tables.MODELS, ids=lambda model: model.id)
def test_a_row_says_what_the_specification_says(model: Model) -> None:
    """Category, rate card, credits and multipliers."""
    row = get_endpoint(model.id)

    assert row.id == model.id == row.input.endpoint_id
    assert (row.category, row.rate_card) == (model.category, model.rate_card)
    assert (row.base_credits, row.minimum_credits) == (model.base_credits, model.minimum_credits)
    assert dict(row.multipliers) == {name: Decimal(factor) for name, factor in model.multipliers.items()}
    assert {name for name, _ in row.multipliers} <= set(row.input.model_fields)


@pytest.mark.parametrize("row", CATALOG, ids=lambda row: row.id)
def test_what_a_row_says_of_fields_is_of_fields_that_there_are(row: Endpoint) -> None:
    """A field without effect is one of the input's, has a reason, and costs nothing."""
    without_effect = dict(row.without_effect)

    assert set(without_effect) <= set(row.input.model_fields)
    assert set(without_effect).isdisjoint(name for name, _ in row.multipliers)
    assert all(reason and not reason.endswith(".") for reason in without_effect.values())


def test_an_unknown_model_is_an_error_that_names_the_known_ones() -> None:
    """A slip of the pen gets the right name back."""
    with pytest.raises(UnknownModel, match="Did you mean 'svc/smart-resize'") as caught:
        get_endpoint("svc/smart-rezise")

    assert isinstance(caught.value, LookupError)
    assert all(row.id in str(caught.value) for row in CATALOG)
