"""Pushes of Pub/Sub, real and forged."""

import pytest

from collabiq.notifications import NotificationRefused, Notifications, TooManyNotifications

KEY = "shared-secret-of-the-topic"


class Pushed:
    def __init__(self, secret: str | None = KEY, max_per_minute: int = 3) -> None:
        self.polls = 0
        self.now_s = 0.0
        self.notifications = Notifications(
            secret=lambda: secret,
            on_push=self._poll,
            max_per_minute=max_per_minute,
            clock=lambda: self.now_s,
        )

    def _poll(self) -> None:
        self.polls += 1


@pytest.mark.parametrize(
    "given",
    [{"authorization": f"Bearer {KEY}"}, {"token": KEY}, {"authorization": f"bearer {KEY}"}],
)
def test_a_push_with_the_secret_makes_a_poll(given):
    pushed = Pushed()

    pushed.notifications.take(**given)

    assert pushed.polls == 1


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"token": ""},
        {"token": "shared-secret-of-the-topik"},
        {"authorization": KEY},
        {"authorization": f"Basic {KEY}"},
        {"authorization": "Bearer \ud800"},
        {"authorization": "Bearer eyJhbGciOiJub25lIn0.e30."},
    ],
)
def test_a_forged_push_makes_none(given):
    pushed = Pushed()

    with pytest.raises(NotificationRefused) as refused:
        pushed.notifications.take(**given)

    assert pushed.polls == 0
    assert refused.value.status == 401
    assert KEY not in refused.value.message


@pytest.mark.parametrize("secret", [None, ""])
def test_without_a_secret_nothing_is_taken(secret):
    with pytest.raises(NotificationRefused):
        Pushed(secret).notifications.take(token="", authorization="Bearer ")


def test_more_pushes_than_anybody_needs_are_refused_until_a_minute_has_passed():
    pushed = Pushed()
    for _ in range(3):
        pushed.notifications.take(token=KEY)

    with pytest.raises(TooManyNotifications):
        pushed.notifications.take(token=KEY)
    pushed.now_s = 60.0
    pushed.notifications.take(token=KEY)

    assert pushed.polls == 4


def test_forged_pushes_use_up_nothing_of_the_limit():
    pushed = Pushed(max_per_minute=1)
    for _ in range(5):
        with pytest.raises(NotificationRefused):
            pushed.notifications.take(token="wrong")

    pushed.notifications.take(token=KEY)

    assert pushed.polls == 1
