"""What a replay may do is asked again when it is done: whose job it is, and where it leads."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from holdfast import GiveUp, Pipeline
from holdfast.api.replay_runner import ReplayRunner
from holdfast.bridges.webhook import Webhook
from holdfast.deliveries import DeliveryState, Notify
from holdfast.testing import drain
from tests.api.routes.operating.desk import READY, Desk
from tests.store.conftest import by_hand

SECRET = "whsec_" + "c2VjcmV0" * 6


class Inner:
    """Something on this machine that nobody outside may reach; it hangs up on whoever does."""

    def __init__(self) -> None:
        self.calls = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._answer, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return self._listening.getsockname()[1]

    def _answer(self) -> None:
        with suppress(OSError):
            while True:
                caller, _ = self._listening.accept()
                self.calls += 1
                caller.close()

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)
        self._listening.close()


@pytest.fixture
def inner() -> Iterator[Inner]:
    made = Inner()
    yield made
    made.close()


@pytest.fixture
def telling(database_url: str) -> Iterator[Callable[..., Desk]]:
    """Makes a desk whose jobs tell a URL of their payload, unless they are broken."""
    made: list[Desk] = []

    def make(*, public_only: bool) -> Desk:
        desk = Desk(
            database_url,
            providers=[Webhook(SECRET, allow_http=True, public_only=public_only)],
        )
        made.append(desk)
        told = Pipeline("told")

        @told.stage
        def check(job, callback: str) -> str:
            if desk.down_for is None:
                raise GiveUp("BROKEN", "not yet")
            return callback

        @told.stage
        def tell(job, callback: str):
            return Notify(
                subject="done", recipients=[callback], message={"type": "done", "data": {}}
            )

        desk.app.add(told)
        return desk

    yield make
    for desk in made:
        desk.close()


def replayed_to_the_inside(desk: Desk, database_url: str, inner: Inner) -> DeliveryState:
    desk.down_for = None
    job = desk.app.submit("told", {"callback": "https://example.test/hook"}, key="k")
    drain(desk.app)
    desk.down_for = set()
    inside = f"http://127.0.0.1:{inner.port}/admin"
    by_hand(
        database_url,
        f"update {{job}} set payload = replace(payload, 'https://example.test/hook', '{inside}')",
    )
    operator = desk()
    operator.post(f"/api/dead-letters/{job.id}/triage", json={"cause": "data"})
    operator.post(f"/api/dead-letters/{job.id}/remediate", json={"evidence": "corrected"})
    answer = operator.post(f"/api/dead-letters/{job.id}/replay")
    assert answer.status_code == 200, answer.text
    drain(desk.app)
    (delivery,) = desk.app.deliveries.find()
    return delivery.state


def test_a_callback_that_was_turned_to_the_inside_is_not_called(telling, database_url, inner):
    desk = telling(public_only=True)

    state = replayed_to_the_inside(desk, database_url, inner)

    assert state is DeliveryState.FAILED
    assert inner.calls == 0


def test_only_the_policy_kept_it_from_being_called(telling, database_url, inner):
    desk = telling(public_only=False)

    replayed_to_the_inside(desk, database_url, inner)

    assert inner.calls > 0


def test_a_job_that_has_another_owner_by_now_is_not_sent_back(desk: Desk, database_url: str):
    desk.api.state.replays.stop()
    kept, moved = desk.dead(1, 2, owner="a")
    replay = desk("operator", "a").post(
        "/api/replays", json={"letters": {}, "canary": 0, "rate": None, **READY}
    )
    by_hand(database_url, f"update {{job}} set owner = 'b' where id = '{moved}'")

    runner = ReplayRunner(desk.app)
    for _ in range(4):
        runner.tick(desk.clock.now())
        drain(desk.app)
        desk.clock.advance(1)

    assert desk.calls == [1]
    assert desk.app.job(kept).state == "complete"
    counts = desk().get(f"/api/replays/{replay.json()['id']}").json()["counts"]
    assert (counts["succeeded"], counts["skipped"]) == (1, 1)
