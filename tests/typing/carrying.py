"""Deliveries, messages, tables of one's own: what some programs import."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_type

from holdfast import Holdfast, HoldfastError, JobContext, Pipeline
from holdfast.answers import AnswerReceipt, GivenAnswer, Progress
from holdfast.classify import CallbackFailure
from holdfast.deliveries import Notify, Recipient
from holdfast.messaging import Decided, Message, OutboxFilter, Received
from holdfast.retention import Erasure
from holdfast.transactions import Transaction


def announce(decided: Decided) -> Sequence[Message]:
    assert_type(decided.job_id, str)
    return [Message("page.changed", {"id": decided.job_id})]


pages = Pipeline("pages", on_decision=announce)


@pages.stage
def tell(job: JobContext) -> Notify:
    return Notify(subject=job.id, recipients=[Recipient("ada@example.test"), "bob@example.test"])


def handle(received: Received) -> None:
    assert_type(received.id, str)


def keep(app: Holdfast) -> None:
    with app.transaction() as rows:
        assert_type(rows, Transaction)
    app.outbox.find(OutboxFilter())
    assert_type(app.erase("ada", by="bob"), Erasure)
    app.answer("token", CallbackFailure("GONE", "it is gone"))
    app.answer("token", Progress("half", percent=50))


def receive(app: Holdfast) -> None:
    assert_type(
        app.receive_answers([GivenAnswer("token", {})]), list[AnswerReceipt | HoldfastError]
    )


Notify(subject="page")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
Notify(subject="page", recipients=[5])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
Message({"id": 1}, "page.changed")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Progress(50)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
