"""The pools of Celery's workers: those that run jobs, and those that must not."""

import os
from types import SimpleNamespace

import pytest
from celery import Celery
from celery.concurrency.prefork import TaskPool as Prefork
from celery.concurrency.solo import TaskPool as Solo
from celery.concurrency.thread import TaskPool as Threads
from celery.signals import celeryd_init

from holdfast import Holdfast
from holdfast.bridges.celery.bridge import CeleryBridge
from holdfast.bridges.celery.pool import Closing, options_for
from tests.bridges.broker import own


@pytest.mark.parametrize("pool", ["threads", Threads, "celery.concurrency.thread:TaskPool"])
def test_a_pool_of_threads_runs_as_many_jobs_at_a_time_as_tasks(pool):
    assert options_for(pool, 8).concurrency == 8


@pytest.mark.parametrize("pool", ["prefork", Prefork, "solo", Solo, "processes"])
def test_a_process_of_any_other_pool_runs_one(pool):
    assert options_for(pool, 8).concurrency == 1


def test_a_concurrency_that_celery_does_not_know_yet_is_one():
    assert options_for("threads", "auto").concurrency == 1


@pytest.fixture
def bridge() -> CeleryBridge:
    jobs = Holdfast("sqlite://:memory:")
    return jobs.celery(Celery("shop"), exchange=own("shop"))


def start(bridge: CeleryBridge, **options) -> None:
    celery = bridge._celery
    celeryd_init.send(
        "a@b", instance=SimpleNamespace(app=celery), conf=celery.conf, options=options
    )


@pytest.mark.parametrize("pool", ["gevent", "eventlet"])
def test_a_worker_of_greenlets_does_not_start_on_queues_of_jobs(bridge: CeleryBridge, pool):
    queue = f"{bridge.exchange}.default"

    with pytest.raises(SystemExit, match=f"{pool}.*--pool threads"):
        start(bridge, pool=pool, queues=[queue])
    with pytest.raises(SystemExit, match=pool):
        start(bridge, pool=f"celery.concurrency.{pool}:TaskPool", queues=f"celery,{queue}")
    bridge._celery.conf.worker_pool = pool
    with pytest.raises(SystemExit, match=pool):
        start(bridge, queues=[queue])
    bridge._celery.conf.task_queues = [bridge.queue()]
    with pytest.raises(SystemExit, match=pool):
        start(bridge)


def test_a_worker_of_greenlets_that_consumes_other_queues_is_left_alone(bridge: CeleryBridge):
    start(bridge, pool="gevent", queues=["celery"])
    start(bridge, pool="gevent")


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_what_was_forked_sees_that_the_program_is_told_to_stop():
    closing = Closing()
    asked, said = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.read(asked[0], 1)
        os.write(said[1], b"1" if closing else b"0")
        os._exit(0)

    assert not closing
    closing.begin(sig="SIGTERM", how="Warm")
    os.write(asked[1], b"?")

    assert os.read(said[0], 1) == b"1"
    os.waitpid(child, 0)
    for end in (*asked, *said):
        os.close(end)
