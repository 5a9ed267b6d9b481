"""Who may submit and who may retry, as it is declared and as it is stored."""

import json

import pytest

from holdfast.core.job.access import OPEN, Access, RetryBy, SubmitBy

CLOSED = Access(SubmitBy.SYSTEM, "POST /api/parcels", RetryBy.WORKFLOW, refuses_retries=True)


@pytest.mark.parametrize(
    ("rule", "allowed"),
    [
        (RetryBy.OWNER, {RetryBy.OWNER, RetryBy.OPERATOR, RetryBy.WORKFLOW}),
        (RetryBy.OPERATOR, {RetryBy.OPERATOR, RetryBy.WORKFLOW}),
        (RetryBy.WORKFLOW, {RetryBy.WORKFLOW}),
    ],
)
def test_each_rule_allows_its_own_way_and_the_stricter_ones(rule, allowed):
    access = Access(retry_by=rule)

    assert {asker for asker in RetryBy if access.lets_retry(asker)} == allowed


@pytest.mark.parametrize("access", [OPEN, CLOSED, Access(retry_by=RetryBy.OPERATOR)])
def test_the_rules_survive_being_stored(access):
    assert Access.from_document(json.loads(json.dumps(access.to_document()))) == access
