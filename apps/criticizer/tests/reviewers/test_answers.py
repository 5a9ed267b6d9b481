"""What is taken for an answer, and what is not."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.criticizer.tests.llm_server import critique, finding
from criticizer.critique import MAX_FINDINGS, Critique
from criticizer.reviewers.answers import MAX_ANSWER_LENGTH, SCHEMA, critique_in
from criticizer.reviewers.errors import MalformedAnswer


@pytest.mark.parametrize(
    "around",
    ["{}", "  {}\n", "```json\n{}\n```", "```\n{}\n```", "\n```json \r\n{}\n  ```\n"],
)
def test_json_is_taken_with_a_fence_around_it_or_without(around):
    found = critique_in(around.format(critique(finding())))

    assert found.findings[0].file == "rope.py"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "planted",
        "null",
        "[]",
        "7",
        "{",
        f"Here it is: {critique()}",
        f"{critique()} planted",
        f"{critique()}{critique()}",
        f"```json\n{critique()}\n``` planted",
        '{"summary": "planted"}',
        '{"summary": "", "findings": []}',
        '{"summary": 7, "findings": []}',
        '{"summary": "x", "findings": {}}',
        '{"summary": "x", "findings": [], "planted": 1}',
        '{"summary": "x", "summary": "y", "findings": []}',
        '{"summary": "x", "findings": [NaN]}',
        '{"summary": "\\ud800", "findings": []}',
        critique(finding(line="2")),
        critique(finding(line=0)),
        critique(finding(line=2.0)),
        critique(finding(line=True)),
        critique(finding(severity="planted")),
        critique(finding(message="")),
        critique({"file": "rope.py", "line": 2, "severity": "info", "message": "x"}),
        critique(*[finding()] * (MAX_FINDINGS + 1)),
        critique(summary="x" * 8_001),
        "[" * 100_000,
        critique(summary="x" * (MAX_ANSWER_LENGTH + 1)),
    ],
    ids=lambda text: text[:40],
)
def test_anything_else_is_malformed_and_not_quoted(text):
    with pytest.raises(MalformedAnswer) as raised:
        critique_in(text)

    assert "planted" not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__ or raised.value.__context__ is None


def test_what_terminals_obey_is_taken_out():
    found = critique_in(critique(finding(message="red \x1b[31m\x00"), summary="a\tb\nc\x07"))

    assert found.summary == "a\tb\nc\N{REPLACEMENT CHARACTER}"
    assert "\x1b" not in found.findings[0].message


@given(st.text(max_size=200))
def test_whatever_is_answered_is_a_critique_or_malformed(text):
    with suppress(MalformedAnswer):
        assert critique_in(text)


def test_the_schema_asks_for_what_is_validated():
    made = Critique.model_json_schema()["$defs"]["Finding"]["properties"]

    assert set(SCHEMA["properties"]) == set(Critique.model_fields)
    assert set(SCHEMA["properties"]["findings"]["items"]["properties"]) == set(made)
    assert set(SCHEMA["properties"]["findings"]["items"]["required"]) == set(made)
    assert json.dumps(SCHEMA)
