"""The judge of JSON values says what the reference validator says, and says why."""

from __future__ import annotations

from collections import Counter
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reelbook.models.described.frozen_json import freeze
from reelbook.models.described.schema_judge import accepts, problems
from tests.support import examples

NUMBERS = [
    0,
    1,
    2,
    3,
    -1,
    1.0,
    0.5,
    0.05,
    0.15,
    0.35,
    0.15000000000000002,
    7,
    10.0,
    1e300,
    2**53 + 1,
    9007199254740992.0,
]
TEXTS = ["", "a", "b", "ab", "abc", "1", "a1", "10x20", "é", "😀", "a\n", " ", "\u00a0"]
PATTERNS = ["^a", "b$", r"^\d+$", "^[1-9][0-9]{0,4}x[1-9][0-9]{0,4}$", r"^\w+$", r"\s", "(?<first>a)b", "^.$", r"[^\d]"]
NAMES = ["a", "b", "c", "a1"]
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]

COUNTS = st.integers(0, 3)
SCALARS = st.sampled_from([None, True, False, *NUMBERS, *TEXTS])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=8,
)
FLAT: dict[str, st.SearchStrategy[Any]] = {
    "type": st.sampled_from(TYPES) | st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True),
    "enum": st.lists(VALUES, min_size=1, max_size=4),
    "const": VALUES,
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), st.sampled_from(NUMBERS)),
    "multipleOf": st.sampled_from([1, 2, 0.5, 0.05, 0.1, 3, 1e-8]),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), COUNTS),
    "pattern": st.sampled_from(PATTERNS),
    "uniqueItems": st.booleans(),
    "format": st.just("email"),
    "title": st.just("A title"),
}


def _some(keywords: dict[str, st.SearchStrategy[Any]], most: int) -> st.SearchStrategy[dict[str, Any]]:
    """Rules with a few of these keywords."""
    chosen = st.lists(st.sampled_from(sorted(keywords)), min_size=1, max_size=most, unique=True)
    return chosen.flatmap(lambda words: st.fixed_dictionaries({word: keywords[word] for word in words}))


def _with(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Rules that have rules inside."""
    some, named = st.lists(inner, min_size=1, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    names = st.lists(st.sampled_from(NAMES), max_size=2, unique=True)
    lists = {"items": inner, "prefixItems": some, "contains": inner, "minContains": COUNTS, "maxContains": COUNTS}
    rest: dict[str, st.SearchStrategy[Any]] = {
        word: st.just(False) | inner for word in ("unevaluatedItems", "unevaluatedProperties")
    }
    objects = {
        "properties": named,
        "required": names,
        "additionalProperties": inner,
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b", r"\d"]), inner, max_size=2),
        "propertyNames": st.sampled_from([{"maxLength": 1}, {"pattern": "^a"}, {"enum": ["a", "b"]}]),
        "dependentRequired": st.dictionaries(st.sampled_from(NAMES), names, max_size=1),
        "dependentSchemas": st.dictionaries(st.sampled_from(NAMES), inner, max_size=1),
    }
    whole = {"allOf": some, "anyOf": some, "oneOf": some, "not": inner, "if": inner, "then": inner, "else": inner}
    every = _some({**FLAT, **lists, **objects, **whole, **rest}, 5)
    return _some({**objects, **rest}, 4) | _some({**lists, **whole}, 3) | _some({**lists, **rest}, 3) | every


NAMED = st.sampled_from([{"$ref": "#/$defs/Leaf"}, {"$ref": "#/$defs/Tree"}])
RULES = st.recursive(st.booleans() | _some(FLAT, 3) | NAMED, _with, max_leaves=6)
TREE = {"type": ["object", "array", "integer"], "items": {"$ref": "#/$defs/Tree"}, "maximum": 3}
TREE_AGAIN, LEAF = {"$ref": "#/$defs/Tree"}, {"type": "integer"}


def judged(value: Any, rule: Any, defs: Any = None) -> list[str]:
    """What is wrong with a value, in words."""
    return [problem.message for problem in problems(freeze(value)[0], rule, defs or {})]


def test_a_value_is_accepted_exactly_when_the_reference_accepts_it() -> None:
    """Whatever the rule and the value, this judge and the reference agree, and both yes and no occur often."""
    verdicts: Counter[bool] = Counter()

    @settings(max_examples=examples(40, 250), deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(rule=RULES, leaf=_some(FLAT, 2), values=st.lists(VALUES, min_size=6, max_size=6))
    def agree(rule: Any, leaf: Any, values: list[Any]) -> None:
        defs = {"Leaf": leaf, "Tree": TREE}
        reference = jsonschema_rs.Draft202012Validator({"allOf": [rule], "$defs": defs})
        for value in values:
            expected = reference.is_valid(value)
            verdicts[expected] += 1
            assert accepts(freeze(value)[0], rule, defs) is expected
            assert (judged(value, rule, defs) == []) is expected

    agree()

    assert min(verdicts[True], verdicts[False]) > 0.1 * verdicts.total()


@pytest.mark.parametrize(
    ("value", "step", "expected"),
    [
        (0.15, 0.05, True),
        (0.35, 0.05, True),
        (0.15000000000000002, 0.05, False),
        (0.07, 0.05, False),
        (2**53 + 1, 3, True),
        (1e300, 0.1, True),
        (10**400, 0.01, True),
        (49.0, 7, True),
    ],
)
def test_multiples_count_in_decimal(value: float, step: float, expected: bool) -> None:
    """A number is a multiple as it is written, not as its binary digits are."""
    rule = {"multipleOf": step}

    assert accepts(value, rule, {}) is expected
    assert jsonschema_rs.Draft202012Validator(rule).is_valid(value) is expected


def test_a_pattern_that_cannot_be_read_refuses_nothing() -> None:
    """It is for the service to say what it means by it."""
    assert accepts("anything", {"pattern": "(("}, {})
    assert not accepts("anything", {"pattern": "^b"}, {})


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_means_what_it_means_in_javascript(pattern: str) -> None:
    """Where Python's own reading differs: the end of a text, digits and letters of other scripts, spaces."""
    rule = {"pattern": pattern}
    reference = jsonschema_rs.Draft202012Validator(rule)
    texts = [*TEXTS, "٣", "10x20\n", "a b", "_"]

    assert [accepts(text, rule, {}) for text in texts] == [reference.is_valid(text) for text in texts]


def test_equal_is_what_json_calls_equal() -> None:
    """1 and 1.0 are, 1 and true are not, at any depth."""
    values: list[Any] = [0, 0.0, False, 1, 1.0, True, None, "1", [1], [1.0], [True], {"a": 1}, {"a": True}, [], {}]

    for one in values:
        reference = jsonschema_rs.Draft202012Validator({"const": one})
        assert [accepts(freeze(other)[0], {"const": one}, {}) for other in values] == list(
            map(reference.is_valid, values)
        )


@pytest.mark.timeout(5)
def test_rules_that_share_parts_are_judged_in_a_moment() -> None:
    """Twenty-six levels, each of which names the next one twice, are not judged sixty million times."""
    defs: dict[str, Any] = {f"L{n}": {"anyOf": [{"$ref": f"#/$defs/L{n + 1}"}] * 2} for n in range(26)}
    defs |= {f"A{n}": {"allOf": [{"$ref": f"#/$defs/A{n + 1}"}] * 2} for n in range(26)}
    defs |= {"L26": {"type": "integer"}, "A26": {"type": "integer"}}

    assert judged("x", {"$ref": "#/$defs/L0"}, defs) == ["The input needs a whole number, not 'x' (str)."]
    assert judged("x", {"$ref": "#/$defs/A0"}, defs) == ["The input needs a whole number, not 'x' (str)."]


@pytest.mark.timeout(5)
@pytest.mark.parametrize(
    "tree",
    [
        {
            "anyOf": [
                {"type": "array", "items": TREE_AGAIN, "maxItems": 3},
                {"type": "array", "items": TREE_AGAIN},
                LEAF,
            ]
        },
        {"type": ["array", "integer"], "allOf": [{"items": TREE_AGAIN}, {"items": TREE_AGAIN}]},
        {"type": ["array", "integer"], "if": {"items": TREE_AGAIN}, "else": {"items": TREE_AGAIN}},
    ],
)
def test_overlapping_parts_of_a_deep_value_are_judged_in_a_moment(tree: dict[str, Any]) -> None:
    """Where two parts say the same of what is inside, thirty levels are not judged a thousand million times."""
    good: Any = 1
    bad: Any = "x"
    for _ in range(30):
        good, bad = [good], [bad]

    assert judged(good, TREE_AGAIN, {"Tree": tree}) == []
    assert len(judged(bad, TREE_AGAIN, {"Tree": tree})) == 1


@pytest.mark.parametrize("name", ["", "1", "a/b", "~", "%41", "$ref", "type", "a b"])
def test_a_problem_names_its_field_whatever_that_is_called(name: str) -> None:
    """Also where a name looks like a number, a pointer, or nothing."""
    rule = {"properties": {name: {"anyOf": [{"type": "integer"}, {"type": "null"}]}}}

    assert [problem.loc for problem in problems(freeze({name: "x"})[0], rule, {})] == [(name,)]


@pytest.mark.parametrize(
    ("rule", "value", "sentence"),
    [
        ({"type": "integer", "minimum": 9, "maximum": 1441}, 5, "= 5 is outside 9 to 1441. The nearest allowed value is 9."),
        ({"type": "integer", "exclusiveMinimum": 0}, 0, "= 0 is outside the bounds (at least 1). The nearest allowed value is 1."),
        ({"type": "number", "exclusiveMinimum": 0}, 0, "= 0 is outside the bounds (more than 0)."),
        ({"maximum": 10, "multipleOf": 4}, 11, "= 11 is outside the bounds (at most 10). The nearest allowed value is 8."),
        ({"maximum": 2147483647}, 2**31, "= 2147483648 is outside the bounds (at most 2147483647). The nearest allowed value is 2147483647."),
        ({"multipleOf": 0.05}, 0.07, "= 0.07 is not a multiple of 0.05. The nearest allowed value is 0.05."),
        ({"type": "integer", "multipleOf": 2.5}, 7, "= 7 is not a multiple of 2.5. The nearest allowed value is 5."),
        ({"type": "integer"}, "7", "needs a whole number, not '7' (str). Did you mean 7?"),
        ({"type": "integer", "maximum": 6}, "7", "needs a whole number, not '7' (str)."),
        ({"type": "integer"}, True, "needs a whole number, not True (bool)."),
        ({"type": ["integer", "null"]}, 1.5, "needs a whole number, not 1.5 (float). Did you mean 2?"),
        ({"type": ["string", "integer"]}, [], "needs text or a whole number, not [] (list)."),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "a", "needs a whole number, not 'a' (str)."),
        ({"anyOf": [{"type": "integer", "minimum": 3}, {"type": "null"}]}, 1, "= 1 is outside the bounds (at least 3). The nearest allowed value is 3."),
        ({"anyOf": [{"type": "number"}, {"const": "source"}]}, "24", "needs a number or 'source', not '24' (str). Did you mean 24.0?"),
        ({"anyOf": [{"type": "integer"}, {"type": "string", "const": "source"}]}, "x", "needs a whole number or 'source', not 'x' (str)."),
        ({"oneOf": [{"enum": ["auto", "source"]}, {"type": "number"}, {"type": "null"}]}, [], "needs a number or one of 'auto', 'source', not [] (list)."),
        ({"anyOf": [{"type": "number", "minimum": 1}, {"const": "source"}]}, 0, "= 0 is outside the bounds (at least 1). The nearest allowed value is 1."),
        ({"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]}, "c", "= 'c' is not one of 'a', 'b'. Did you mean 'b'?"),
        ({"anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "null"}]}, 5, "needs text, not 5 (int)."),
        ({"anyOf": [{"enum": ["a"]}, {"type": "null"}]}, "b", "= 'b' has to be 'a'."),
        ({"enum": ["480p", "720p"]}, "1080p", "= '1080p' is not one of '480p', '720p'. Did you mean '720p'?"),
        ({"enum": [0.5, 1, 2]}, 3, "= 3 is not one of 0.5, 1, 2. Did you mean 2?"),
        ({"const": "circle"}, "square", "= 'square' has to be 'circle'."),
        ({"minLength": 3}, "a", "has 1 character; at least 3 are needed."),
        ({"maxLength": 3}, "abcd", "has 4 characters; at most 3 are allowed. Shorten it."),
        ({"pattern": "^#"}, "red", "= 'red' does not have the form `^#`."),
        ({"minItems": 1}, [], "needs at least 1 entry and has 0."),
        ({"maxItems": 1}, [1, 2], "needs at most 1 entry and has 2."),
        ({"minProperties": 2}, {"a": 1}, "needs at least 2 fields and has 1."),
        ({"oneOf": [{"minimum": 0}, {"maximum": 9}]}, 5, "= 5 fits 2 of the 2 forms it may have, and must fit exactly one."),
        ({"not": {"type": "string"}}, "a", "= 'a' is what the description rules out."),
        ({"contains": {"type": "string"}, "maxContains": 1}, [1], "needs 1 of a certain kind of entries and has 0."),
    ],
)  # fmt: skip
def test_a_refusal_names_value_rule_and_way_out(rule: dict[str, Any], value: Any, sentence: str) -> None:
    """Each kind of refusal has one sentence, with the nearest value that would be accepted where there is one."""
    assert judged({"x": value}, {"properties": {"x": rule}}) == [f"`x` {sentence}"]


def test_a_misspelt_field_names_the_one_that_was_meant() -> None:
    """Missing and unknown fields are told together, each with its place."""
    lora = {"properties": {"path": {}, "scale": {}}, "required": ["path"], "additionalProperties": False}

    found = judged({"loras": [{"paht": "a"}]}, {"properties": {"loras": {"items": lora}}})

    assert found == ["`loras[0].path` is required.", "There is no field `paht` of `loras[0]`. Did you mean `path`?"]


def test_of_two_forms_the_one_that_was_meant_is_explained() -> None:
    """The right constant, or a field that is only misspelt, speaks for a form."""
    circle = {"properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}}, "required": ["kind", "radius"]}
    square = {"properties": {"kind": {"const": "square"}, "side": {"type": "number"}}, "required": ["kind", "side"]}

    assert judged({"kind": "square", "radius": 1}, {"oneOf": [circle, square]}) == ["`side` is required."]
