"""Threads of handlers are used again, one handler at a time, and end with their consumer."""

import threading
from contextvars import ContextVar

import pytest

from holdfast.bridges.messages.handler_threads import HandlerThreads

SOON_S = 10.0


@pytest.fixture
def threads():
    made = HandlerThreads()
    yield made
    made.close()


def ran_in(threads: HandlerThreads, look=threading.current_thread):
    """Run something, and return what it saw once its thread is free again."""
    seen, done = [], threading.Event()

    def work() -> None:
        seen.append(look())
        done.set()

    threads.run(work)
    assert done.wait(SOON_S)
    until_idle(threads, 1)
    return seen[0]


def until_idle(threads: HandlerThreads, count: int) -> None:
    pause = threading.Event()
    for _ in range(1_000):
        if len(threads._idle) >= count:
            return
        pause.wait(0.005)
    raise AssertionError("no thread is free again")


def test_one_handler_after_the_other_runs_in_the_same_thread(threads):
    assert ran_in(threads) is ran_in(threads)


def test_handlers_at_the_same_time_run_in_threads_of_their_own(threads):
    both = threading.Barrier(3)
    seen: set[threading.Thread] = set()

    def work() -> None:
        seen.add(threading.current_thread())
        both.wait(SOON_S)

    threads.run(work)
    threads.run(work)
    both.wait(SOON_S)

    assert len(seen) == 2


def test_one_that_does_not_end_holds_nobody_up(threads):
    go_on = threading.Event()
    threads.run(lambda: go_on.wait(SOON_S) and None)
    ran_in(threads)

    go_on.set()
    until_idle(threads, 2)


def test_what_a_handler_leaves_in_context_variables_is_gone(threads):
    word: ContextVar[str] = ContextVar("word", default="none")
    ran_in(threads, lambda: word.set("left"))

    assert ran_in(threads, word.get) == "none"


def test_all_end_when_the_consumer_does_those_at_work_once_they_are_done(threads):
    go_on, at_work = threading.Event(), []
    idle = ran_in(threads)
    started = threading.Event()

    def work() -> None:
        at_work.append(threading.current_thread())
        started.set()
        go_on.wait(SOON_S)

    threads.run(lambda: None)
    threads.run(work)
    started.wait(SOON_S)
    threads.close()
    go_on.set()
    for thread in (idle, *at_work):
        thread.join(SOON_S)

    assert not any(thread.is_alive() for thread in (idle, *at_work))
    assert idle.daemon
