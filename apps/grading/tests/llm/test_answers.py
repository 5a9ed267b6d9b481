"""From answers to evidence: every instance of the schema is accepted, nothing else is."""

import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.grading.tests.llm.conftest import TASK
from apps.grading.tests.llm.grading_llm_server import EVIDENCE, completion
from apps.grading.tests.scoring.grading_texts import graded
from grading.calls import RawAnswer
from grading.llm import MalformedAnswer, evidence_of
from grading.llm.schema import evidence_schema
from grading.rules import evidence_by_rules
from grading.scoring.evidence import Evidence

_text = st.text(max_size=12) | st.sampled_from(["x" * 1_000, "\ud83d\x00\u202e"])


def _instances(schema):
    """Instances of a schema of the few words that ours uses."""
    if "enum" in schema:
        values = st.sampled_from(schema["enum"])
        # An integer may be written as 3.0.
        return values | values.map(float) if schema["type"] == "integer" else values
    kind = schema["type"]
    if isinstance(kind, list):
        return st.one_of([_instances({**schema, "type": each}) for each in kind])
    if kind == "object":
        assert set(schema["required"]) == set(schema["properties"])
        assert schema["additionalProperties"] is False
        return st.fixed_dictionaries(
            {name: _instances(each) for name, each in schema["properties"].items()}
        )
    if kind == "array":
        items = _instances(schema["items"])
        return st.lists(items, max_size=2) | items.map(lambda item: [item] * 150)
    return {"string": _text, "boolean": st.booleans(), "null": st.none()}[kind]


instances = _instances(evidence_schema())


def raw(text, provider="rules"):
    return RawAnswer(text, provider, {})


@given(instances)
def test_every_instance_of_the_schema_is_accepted(document):
    jsonschema.validate(document, evidence_schema())
    found = evidence_of(raw(json.dumps(document)))

    assert [each.level for each in found.levels] == [
        int(each["level"]) for each in document["levels"][:10]
    ]
    assert len(found.errors) == min(len(document["errors"]), 100)
    result = graded("Tourism is good.", found)
    assert result.model_dump_json()


def test_what_is_longer_than_evidence_may_be_is_cut_and_needs_no_repair():
    line = "x" * 1_000
    error = {"quote": line, "kind": "other", "message": line, "suggestion": line}
    document = {**EVIDENCE, "errors": [error] * 150, "strengths": [line] * 50}
    jsonschema.validate(document, evidence_schema())
    found = evidence_of(raw(json.dumps(document)))

    assert (len(found.errors), len(found.strengths)) == (100, 10)
    assert len(found.errors[0].quote) == 400


def test_evidence_of_the_rules_is_an_instance_of_the_schema():
    jsonschema.validate(json.loads(evidence_by_rules(TASK).model_dump_json()), evidence_schema())


def test_the_schema_and_the_model_have_the_same_fields():
    for name, schema in evidence_schema()["properties"].items():
        assert name in Evidence.model_fields
        if schema["type"] == "array" and schema["items"]["type"] == "object":
            found = Evidence.model_json_schema()["properties"][name]["items"]["$ref"]
            model = Evidence.model_json_schema()["$defs"][found.rpartition("/")[2]]
            assert set(schema["items"]["properties"]) == set(model["properties"])
    assert set(evidence_schema()["properties"]) == set(Evidence.model_fields)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(EVIDENCE),
        f"  {json.dumps(EVIDENCE)}\n",
        f"```json\n{json.dumps(EVIDENCE, indent=2)}\n```",
        f"```\n{json.dumps(EVIDENCE)}\n```",
        f"<think>First {{ I look.</think>\n{json.dumps(EVIDENCE)}",
        json.dumps({**EVIDENCE, "score": 10, "overallScore": "10"}),
        json.dumps({"levels": EVIDENCE["levels"]}),
    ],
    ids=["plain", "blanks", "fence", "bare fence", "thoughts", "more keys", "fewer keys"],
)
def test_harmless_differences_cost_no_repair(text):
    assert evidence_of(raw(text)).levels[0].level == 3
    assert evidence_of(raw(json.dumps(completion(text)), "openai:m")).levels[0].level == 3


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "3",
        '"text"',
        "{}",
        '{"levels": {}}',
        '{"levels": [1]}',
        '{"levels": [{"criterion": "grammar", "level": 6}]}',
        '{"levels": [{"criterion": "grammar", "level": 2.5}]}',
        '{"levels": [{"criterion": "grammar", "level": NaN}]}',
        '{"levels": [], "errors": "none"}',
        f"Here it is: {json.dumps(EVIDENCE)}",
        f"{json.dumps(EVIDENCE)} {json.dumps(EVIDENCE)}",
        '{"levels": [' + "[" * 100_000,
        '{"levels": [{"criterion": "grammar", "level": ' + "9" * 5_000 + "}]}",
    ],
    ids=lambda text: ascii(text[:24]),
)
def test_an_answer_that_is_no_evidence_is_malformed_and_not_quoted(text):
    with pytest.raises(MalformedAnswer) as raised:
        evidence_of(raw(text))

    assert raised.value.why == str(raised.value)
    assert "Here" not in raised.value.why
    assert len(raised.value.why) < 200
