import dataclasses
import json

import pytest

from holdfast.core.job.access import Access, RetryBy, SubmitBy
from holdfast.core.job.plan import MAX_SNOOZES, Plan, StagePlan
from holdfast.core.values.retry import Retry

RETRY = Retry(attempts=3, base=5, jitter="added", spread=5)


def a_plan(**changes) -> Plan:
    stages = (
        StagePlan("fetch", RETRY),
        StagePlan("llm", Retry(), timeout_us=30_000_000, upstream="gateway", max_snoozes=7),
        StagePlan("notify", Retry(attempts=1)),
    )
    return Plan(**{"pipeline": "review", "stages": stages, "deadline_us": 60, **changes})


def test_stages_follow_in_the_order_of_their_declaration():
    plan = a_plan()

    assert plan.first.name == "fetch"
    assert plan.after("fetch").name == "llm"
    assert plan.after("llm").name == "notify"
    assert plan.after("notify") is None
    assert plan.stage("llm").upstream == "gateway"
    assert plan.stage("gone") is None


def test_a_plan_survives_being_stored():
    plan = a_plan()

    again = Plan.from_document(json.loads(json.dumps(plan.to_document())))

    assert again == plan
    assert again.digest == plan.digest


@pytest.mark.parametrize(
    "changes",
    [
        {"pipeline": "other"},
        {"deadline_us": None},
        {"access": Access(retry_by=RetryBy.WORKFLOW)},
        {"access": Access(submit_by=SubmitBy.SYSTEM, submit_at="/upload")},
        {"access": Access(refuses_retries=True)},
        {"stages": a_plan().stages[:2]},
        {"stages": tuple(reversed(a_plan().stages))},
        {"stages": (*a_plan().stages[:2], StagePlan("notify", Retry(attempts=2)))},
        {"stages": (*a_plan().stages[:2], StagePlan("tell", Retry(attempts=1)))},
    ],
)
def test_plans_that_decide_differently_have_different_digests(changes):
    assert a_plan(**changes).digest != a_plan().digest


@pytest.mark.parametrize(
    "field", [field.name for field in dataclasses.fields(StagePlan) if field.name != "name"]
)
def test_every_policy_of_a_stage_counts_for_the_digest(field):
    other = {"retry": RETRY, "timeout_us": 1, "upstream": "mail", "max_snoozes": MAX_SNOOZES - 1}
    other["progress_extends_us"] = 1
    stage = StagePlan("one", Retry())

    changed = dataclasses.replace(stage, **{field: other[field]})

    assert Plan("p", (stage,)).digest != Plan("p", (changed,)).digest


def test_the_digest_of_a_plan_is_the_same_in_every_process():
    assert Plan("p", (StagePlan("one", Retry()),)).digest == "ebd6e58280b7bf58"


def test_rules_about_access_survive_being_stored():
    plan = a_plan(access=Access(SubmitBy.SYSTEM, "/upload", RetryBy.WORKFLOW, refuses_retries=True))

    again = Plan.from_document(json.loads(json.dumps(plan.to_document())))

    assert again == plan
    assert again.digest == plan.digest


def test_a_plan_without_rules_is_stored_as_before_there_were_any():
    assert "access" not in a_plan().to_document()
    assert Plan.from_document(a_plan().to_document()).access == Access()
