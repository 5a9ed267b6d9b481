import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from apps.grading.tests.acceptance.fleet import Fleet, Model
from apps.grading.tests.brokered import broker_config, main_running
from apps.grading.tests.running import Embedded, wait_for
from holdfast import JobFilter

pytestmark = pytest.mark.timeout(400)
LIMIT_S = 150.0
"""Programs take long to start where many tests run at once."""


class Deployed(NamedTuple):
    main: Embedded
    fleet: Fleet
    model: Model


@pytest.fixture
def deployed(
    postgres_url: str, amqp_url: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Deployed]:
    runner = getattr(request, "param", "celery")
    config = broker_config(amqp_url, tmp_path, runner=runner, lease_s=3.0)
    model = Model()
    with ExitStack() as opened:
        url = opened.enter_context(model.serving())
        main = opened.enter_context(main_running(postgres_url, config))
        fleet = opened.enter_context(Fleet(config, postgres_url, url, tmp_path))
        yield Deployed(main, fleet, model)


@pytest.mark.slow
def test_a_celery_worker_killed_in_a_call_is_replaced_and_there_is_one_result(deployed: Deployed):
    main, fleet, model = deployed
    fleet.service()
    first = fleet.worker()
    model.open.clear()
    submission_id = main.submit()
    wait_for(lambda: model.waiting, limit_s=LIMIT_S, what="the first call")
    first.kill()
    model.open.set()
    fleet.worker()
    view = main.ended(submission_id, limit_s=LIMIT_S)
    [job] = main.app.jobs(JobFilter(pipeline="grade"))
    ledger = model.stand_in.ledger()

    assert view.status == "COMPLETED"
    assert view.result["grader"].startswith("openai:")
    assert ledger["charges"] == 1
    assert ledger["calls"] <= 2
    assert len(ledger["callsByKey"]) == 1
    assert job.state == "complete"


@pytest.mark.slow
def test_a_worker_that_was_stopped_past_its_lease_changes_nothing(deployed: Deployed):
    main, fleet, model = deployed
    fleet.service()
    first = fleet.worker()
    model.open.clear()
    submission_id = main.submit()
    wait_for(lambda: model.waiting, limit_s=LIMIT_S, what="the first call")
    first.send(signal.SIGSTOP)
    model.open.set()
    fleet.worker()
    view = main.ended(submission_id, limit_s=LIMIT_S)
    first.send(signal.SIGCONT)
    wait_for(lambda: not main.app.outbox.standing().pending, what="an empty outbox")
    history = [each.event for each in main.app.history(submission_id)]

    assert view.status == "COMPLETED"
    assert history.count("completed") == 1
    assert model.stand_in.ledger()["charges"] == 1


@pytest.mark.parametrize("deployed", ["worker"], indirect=True)
def test_a_grading_service_killed_in_a_call_is_replaced_and_there_is_one_result(
    deployed: Deployed,
):
    main, fleet, model = deployed
    first = fleet.service()
    model.open.clear()
    submission_id = main.submit()
    wait_for(lambda: model.waiting, limit_s=LIMIT_S, what="the first call")
    first.kill()
    model.open.set()
    fleet.service()
    view = main.ended(submission_id, limit_s=LIMIT_S)

    assert view.status == "COMPLETED"
    assert model.stand_in.ledger()["charges"] == 1


def slow(point: str) -> object:
    return pytest.param("worker", point, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("deployed", "point"),
    [
        # The answer is in the journal, and the stage is not done.
        ("worker", "run.after=kill"),
        # The stage is done, and nobody has gone on.
        slow("apply.after=kill"),
        # The broker has a callback, and the outbox does not know.
        slow("publish.after=kill:3"),
        # The request has had its effect, and the broker does not know.
        slow("settle.before=kill"),
    ],
    indirect=["deployed"],
)
def test_a_grader_killed_after_the_answer_is_replaced_and_the_model_not_called_again(
    deployed: Deployed, point: str
):
    main, fleet, model = deployed
    first = fleet.service(HOLDFAST_FAILPOINTS=point)
    submission_id = main.submit()
    wait_for(lambda: not first.is_alive, limit_s=LIMIT_S, what="the grader is killed")
    fleet.service()
    view = main.ended(submission_id, limit_s=LIMIT_S)
    history = [each.event for each in main.app.history(submission_id)]
    ledger = model.stand_in.ledger()

    assert view.status == "COMPLETED"
    assert history.count("completed") == 1
    assert (ledger["calls"], ledger["charges"]) == (1, 1)
