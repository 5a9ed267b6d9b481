"""Handles of messages that need no broker: once for each message, and replies."""

from collections.abc import Callable, Iterator

import pytest

from holdfast import Holdfast, JobState, Pipeline, Wait
from holdfast.errors import GiveUp, InvalidValue
from holdfast.messaging import Handle, Received
from holdfast.testing import run_inline

asking = Pipeline("asking")


@asking.stage
def ask(job):
    job.publish("question", {"callback_token": job.callback_token()})
    return Wait(timeout=60)


@pytest.fixture
def app(database_url: str) -> Iterator[Holdfast]:
    with Holdfast(database_url, pipelines=[asking]) as made:
        with made.store.transaction() as connection:
            connection.execute("create table effect (id text)")
        yield made


def effects(app: Holdfast) -> list[str]:
    with app.store.transaction() as connection:
        return [row[0] for row in connection.execute("select id from effect").fetchall()]


def noting(fails: Callable[[], bool] = lambda: False) -> Callable[[Received, object], None]:
    def handler(message, connection):
        connection.execute(f"insert into effect values ('{message.id}')")
        if fails():
            raise TimeoutError("the ledger does not answer")

    return handler


def test_a_handler_has_its_effect_once_however_often_a_message_comes(app: Holdfast):
    handle: Handle = app.handle_once(noting(), name="billing")
    message = Received("m-1", "note", None, 1)

    for _ in range(3):
        handle(message)
    handle(message._replace(id="m-2"))

    assert effects(app) == ["m-1", "m-2"]


def test_handlers_of_two_names_have_their_effect_each(app: Holdfast):
    message = Received("m-1", "note", None, 1)

    app.handle_once(noting(), name="billing")(message)
    app.handle_once(noting(), name="mailing")(message)

    assert effects(app) == ["m-1", "m-1"]


def test_a_handler_that_raises_leaves_neither_effect_nor_note(app: Holdfast):
    failures = iter([True, False])
    handle = app.handle_once(noting(lambda: next(failures)), name="billing")
    message = Received("m-1", "note", None, 1)

    with pytest.raises(TimeoutError):
        handle(message)
    assert effects(app) == []
    handle(message)

    assert effects(app) == ["m-1"]


def test_a_name_under_which_nothing_can_be_noted_is_refused(app: Holdfast):
    with pytest.raises(InvalidValue, match="name"):
        app.handle_once(noting(), name="")


def test_a_reply_answers_the_stage_whose_token_it_carries(app: Holdfast):
    job = app.submit(asking)
    run_inline(app)
    (question,) = app.outbox.find()
    token = question.payload.split('"')[3]
    handle = app.handle_replies()

    for _ in range(2):
        handle(Received("r-1", "reply", None, {"callback_token": token, "result": 42}))
    run_inline(app)

    assert (job.get().state, job.get().result) == (JobState.COMPLETE, 42)
    with pytest.raises(GiveUp, match="no callback token"):
        handle(Received("r-2", "reply", None, {"result": 42}))
