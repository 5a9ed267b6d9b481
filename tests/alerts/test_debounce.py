"""One alert is enough: which are told, and which are only counted."""

from holdfast.alerts.alert import Alert, AlertKind, AlertLevel
from holdfast.alerts.debounce import MAX_KEYS, Debounce
from holdfast.core.values.instant import Instant

WINDOW = 60


def alert(subject: str = "p", variant: str = "", message: str = "m") -> Alert:
    kind, level = AlertKind.CRITICAL_FAILURE, AlertLevel.CRITICAL
    return Alert(kind, level, subject, message, Instant(0), {}, variant)


def test_the_first_of_its_kind_is_told_and_others_are_told_apart():
    debounce = Debounce(WINDOW)

    assert debounce.admit(alert("a"), Instant(0)) is not None
    assert debounce.admit(alert("a"), Instant(1)) is None
    assert debounce.admit(alert("b"), Instant(1)) is not None
    assert debounce.admit(alert("a", "other"), Instant(1)) is not None


def test_those_that_were_counted_are_told_with_the_last_of_them():
    debounce = Debounce(WINDOW)
    debounce.admit(alert(message="first"), Instant(0))
    debounce.admit(alert(message="second"), Instant(1))
    debounce.admit(alert(message="third"), Instant(2))

    assert debounce.due(Instant(59)) == []
    [summary] = debounce.due(Instant(60))
    assert (summary.message, summary.more) == ("third", 1)
    assert debounce.due(Instant(61)) == []
    assert debounce.due(Instant(121)) == []


def test_one_that_others_told_is_counted_for_the_next_time():
    debounce = Debounce(WINDOW)
    admitted = debounce.admit(alert(), Instant(0))
    debounce.take_back(admitted)

    [summary] = debounce.due(Instant(60))
    assert summary.more == 0


def test_after_a_quiet_while_the_next_is_told_at_once():
    debounce = Debounce(WINDOW)
    debounce.admit(alert(), Instant(0))
    debounce.due(Instant(60))

    assert debounce.admit(alert(), Instant(61)) == alert()


def test_what_is_remembered_has_an_end():
    debounce = Debounce(WINDOW)
    for number in range(MAX_KEYS + 10):
        assert debounce.admit(alert(f"p{number}"), Instant(number)) is not None

    assert len(debounce._told) == MAX_KEYS
