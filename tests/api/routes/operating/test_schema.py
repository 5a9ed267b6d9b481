"""What the schema says is what the API does, for whatever somebody sends."""

from collections.abc import Iterator
from zlib import crc32

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode
from schemathesis.config import (
    ExtraDataSourcesConfig,
    FuzzingPhaseConfig,
    PhasesConfig,
    ProjectConfig,
    ProjectsConfig,
    SchemathesisConfig,
)
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import positive_data_acceptance

from tests.api.routes.operating.desk import Desk

ENDLESS = ["/api/stream", "/api/stream/all"]
BEYOND_A_SCHEMA = {"", "/filter", "/filter/state"}
"""Places of flaws that no schema can tell of: fields that exclude or need each other."""

# What the API answered before must not become part of what is sent next: runs would differ.
FORGETFUL = SchemathesisConfig(
    projects=ProjectsConfig(
        default=ProjectConfig(
            phases=PhasesConfig(
                fuzzing=FuzzingPhaseConfig(
                    extra_data_sources=ExtraDataSourcesConfig(responses=False)
                )
            )
        )
    )
)


@pytest.fixture
def schema_desk(tmp_path) -> Iterator[Desk]:
    made = Desk(f"sqlite:///{tmp_path / 'holdfast.db'}")
    made.dead(1, 2)
    made.app.publish("made", {"n": 1})
    made.delivery()
    yield made
    made.close()


def is_accepted(answer) -> bool:
    """Tell whether what fits the schema was not refused for not fitting it; cursors are opaque."""
    if answer.status_code == 400:
        return answer.json()["code"] == "invalid_cursor"
    if answer.status_code != 422 or answer.json()["code"] != "invalid_request":
        return True
    return {flaw["pointer"] for flaw in answer.json().get("errors", [])} <= BEYOND_A_SCHEMA


def is_in_sample(operation: str, mode: GenerationMode) -> bool:
    """Tell whether an operation is tried in that mode in `make test`; each is in one of the two."""
    return list(GenerationMode)[crc32(operation.encode()) % 2] is mode


@pytest.mark.timeout(180)
@pytest.mark.parametrize("examples", [1, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("mode", list(GenerationMode))
def test_every_operation_answers_as_the_schema_says(
    schema_desk: Desk, mode: GenerationMode, examples: int
):
    headers = {"Authorization": f"Bearer {schema_desk.token('schema')}"}
    schema = schemathesis.openapi.from_asgi(
        "/api/openapi.json", schema_desk.api, headers=headers, config=FORGETFUL
    ).exclude(path=ENDLESS)
    looked_at, broken = 0, []

    for found in schema.get_all_operations():
        operation = found.ok()
        if examples == 1 and not is_in_sample(operation.label, mode):
            continue

        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def answers(case: Case) -> None:
            answer = case.call_and_validate(
                headers=headers, excluded_checks=[positive_data_acceptance]
            )
            assert mode is GenerationMode.NEGATIVE or is_accepted(answer), answer.text

        try:
            answers()
        except Unsatisfiable:
            continue  # nothing that could be sent to it would be wrong
        except (Exception, FailureGroup) as error:  # noqa: BLE001 - all are told at the end
            broken.append(f"{operation.label}: {error}")
        looked_at += 1

    assert not broken, "\n\n".join(broken)
    assert looked_at > (20 if examples == 1 else 40)
