"""A plan's table has one row per run, in columns whose types do not depend on what is in them."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings

from reelbook.models.described import describe
from reelbook.models.text_to_video import TextToVideo
from reelbook.sweeps.plan import sweep
from reelbook.sweeps.tables import get_columns
from tests.models.described_inputs import with_fields
from tests.support import examples
from tests.sweeps.axes import AXES, BOAT

TYPES = sweep(BOAT, num_frames=[49]).frame.dtypes.astype(str).to_dict()


@settings(max_examples=examples(10, 40))
@given(axes=AXES)
def test_the_table_agrees_with_the_plan_row_by_row(axes: dict[str, list[Any]]) -> None:
    """Every field of a possible run, its take, its price and its problem."""
    plan = sweep(BOAT, **axes)

    frame = plan.frame

    assert list(frame.index) == [row.number for row in plan]
    assert list(frame.columns) == [*TextToVideo.model_fields, "take", "credits", "credits_due", "problem"]
    for record, row in zip(frame.astype(object).where(frame.notna(), None).to_dict("records"), plan, strict=True):
        assert (record["credits"], record["problem"], record["take"]) == (row.credits, row.problem, row.take)
        if row.input is not None:
            assert sweep(BOAT, [{name: record[name] for name in TextToVideo.model_fields}])[0].input == row.input


def test_types_follow_from_the_model() -> None:
    """Nullable whole numbers, categories with all choices, floats, text; the same for one run and for impossible ones."""
    odd = sweep(BOAT, num_frames=["many", 5], resolution=["480p", "1080p"]).frame
    none = sweep(BOAT, seed=[1]).where(lambda run: False).frame

    assert {name: TYPES[name] for name in ("seed", "num_frames", "resolution", "temporal_adain_factor", "credits")} == {
        "seed": "Int64",
        "num_frames": "Int64",
        "resolution": "category",
        "temporal_adain_factor": "float64",
        "credits": "Int64",
    }
    assert odd.dtypes.astype(str).to_dict() == none.dtypes.astype(str).to_dict() == TYPES
    assert odd["num_frames"].isna().tolist() == [True, True, False, False]
    assert odd["resolution"].tolist() == ["480p", "1080p"] * 2
    assert list(none["resolution"].cat.categories) == ["480p", "720p"]


def test_a_name_that_the_table_needs_gets_a_prefix() -> None:
    """Fields become `input_…`, labels `label_…`; nothing is overwritten."""
    model = describe(with_fields({name: {"type": "integer"} for name in ("status", "input_status", "credits")}))

    frame = sweep(model(status=1, input_status=2, credits=3), [{"credits": 4}]).frame

    assert list(get_columns(model)) == ["status", "input_status", "credits"]
    assert frame.filter(like="status").iloc[0].tolist() == [1, 2]
    assert (frame["input_credits"][0], len(set(frame.columns))) == (4, len(frame.columns))
