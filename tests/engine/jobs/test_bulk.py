"""Many submissions at once: a result for each, in order; what is refused spares the rest."""

import pytest

from holdfast import Submit
from holdfast.engine.submit.submissions import BULK
from holdfast.errors import InvalidDocument, InvalidValue, KeyConflict, VersionConflict
from holdfast.jobs import Submitted
from holdfast.testing import run_inline


def test_every_submission_has_its_result_in_order(app):
    results = app.submit_many("p", [Submit(payload={"n": n}) for n in range(5)])

    assert all(result.created and result.error is None for result in results)
    assert [app.job(result.job_id).payload["n"] for result in results] == list(range(5))


def test_jobs_run_in_the_order_of_their_submission(app, script):
    app.submit_many("p", [Submit(payload=n) for n in range(5)])
    run_inline(app)

    assert [call.args[0].payload for call in script.calls] == list(range(5))


def test_what_is_refused_leaves_the_others_alone(app):
    results = app.submit_many(
        "p",
        [
            Submit(payload=1),
            Submit(payload=float("nan")),
            Submit(priority=9),
            Submit(key="k", payload=1),
            Submit(key="k", payload=1),
            Submit(key="k", payload=2),
            Submit(rerun=True),
            Submit(key="k", payload=3, version=2, rerun=True),
            Submit(key="k", payload=3, version=2, rerun=True),
        ],
    )

    assert [type(result.error) for result in results] == [
        type(None),
        InvalidDocument,
        InvalidValue,
        type(None),
        type(None),
        KeyConflict,
        InvalidValue,
        type(None),
        VersionConflict,
    ]
    assert [result.created for result in results].count(True) == len(app.jobs())


def test_a_key_that_occurs_twice_in_one_call_names_one_job(app):
    first, second = app.submit_many("p", [Submit(key="k"), Submit(key="k")])

    assert first.job_id == second.job_id
    assert (first.created, second.created) == (True, False)


def test_more_than_one_statement_holds(app):
    results = app.submit_many("p", (Submit(payload=n) for n in range(BULK + 1)))

    assert len({result.job_id for result in results}) == BULK + 1
    assert app.queues()[0].due == BULK + 1


def test_nothing_to_submit_is_nothing(app):
    assert app.submit_many("p", []) == []


def test_a_bulk_submission_may_be_repeated(app):
    submits = [Submit(key=f"k{n}", payload=n) for n in range(10)]
    first, again = app.submit_many("p", submits), app.submit_many("p", submits)

    assert [item.job_id for item in again] == [item.job_id for item in first]
    assert not any(item.created for item in again)
    assert len(app.jobs()) == 10


@pytest.mark.parametrize("count", [1, 3])
def test_the_result_says_what_a_single_submission_would_raise(app, count):
    bad = [Submit(version=0)] * count

    assert [str(result.error) for result in app.submit_many("p", bad)] == [
        "submit: version is 0; it must be from 1 to 2147483647"
    ] * count


def test_plain_payloads_are_jobs_like_any_other(app):
    results = app.submit_many("p", [{"n": 1}, {"n": 2}, Submit({"n": 3}, key="k"), None, [4]])

    found = [app.job(result.job_id) for result in results]
    assert [each.payload for each in found] == [{"n": 1}, {"n": 2}, {"n": 3}, None, [4]]
    assert [each.job.key for each in found] == [None, None, "k", None, None]


def test_a_plain_payload_that_is_refused_spares_the_others(app):
    good, bad = app.submit_many("p", [{"n": 1}, {"n": object()}])

    assert good.created
    assert isinstance(bad.error, InvalidDocument)


@pytest.mark.parametrize(
    ("item", "shown"),
    [
        (({"n": 1}, "key"), "submits[1] is ({'n': 1}, 'key')"),
        (Submitted(None, created=False), "submits[1]"),
    ],
)
def test_what_is_no_payload_and_no_submission_is_refused_by_its_index(app, item, shown):
    with pytest.raises(InvalidValue) as caught:
        app.submit_many("p", [{"n": 1}, item])

    assert shown in str(caught.value)
    assert "a payload, or Submit(payload, key=…, …)" in str(caught.value)
    assert app.jobs() == []


@pytest.mark.parametrize("given", [{"n": 1}, "text", b"bytes", Submit({"n": 1}), 3, None])
def test_what_is_no_list_of_jobs_is_refused_as_a_whole(app, given):
    with pytest.raises(InvalidValue, match="it must be a list of jobs to make, each a payload"):
        app.submit_many("p", given)

    assert app.jobs() == []
