"""The store's clock judges; this machine's wall clock plays no part."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.values.instant import Instant
from holdfast.runtime.kernel.clock import JUMP_US, Chance, StoreClock


class Machine:
    """Monotonic time that moves when told, and a store whose clock is off and takes time."""

    def __init__(self, *, offset_us: int, trips_us: list[int] | None = None) -> None:
        self.monotonic_us = 1_000_000
        self.offset_us = offset_us
        self.trips_us = trips_us or [0, 0, 0]
        self.reads = 0

    def monotonic_ns(self) -> int:
        return self.monotonic_us * 1000

    def read_store(self) -> Instant:
        trip_us = self.trips_us[self.reads % len(self.trips_us)]
        self.reads += 1
        self.monotonic_us += trip_us // 2
        read = Instant(self.monotonic_us + self.offset_us)
        self.monotonic_us += trip_us - trip_us // 2
        return read

    def clock(self) -> StoreClock:
        return StoreClock(self.read_store, monotonic_ns=self.monotonic_ns)

    def true_time(self) -> int:
        return self.monotonic_us + self.offset_us


@given(st.integers(0, 10**16), st.lists(st.integers(0, 500_000), min_size=3, max_size=3))
def test_it_is_off_by_no_more_than_half_the_shortest_trip(offset_us, trips_us):
    machine = Machine(offset_us=offset_us, trips_us=trips_us)

    error_us = machine.clock().now() - machine.true_time()

    assert abs(error_us) <= min(trips_us) // 2 + 1


def test_it_asks_the_store_once_and_then_tells_the_time_by_itself():
    machine = Machine(offset_us=7)
    clock = machine.clock()
    clock.now()
    machine.monotonic_us += 123_456_789

    assert clock.now() == machine.true_time()
    assert machine.reads == 3


def test_a_reading_taken_before_is_an_instant_of_the_store_as_it_was_then():
    machine = Machine(offset_us=7_000_000)
    reading_s = machine.monotonic_us / 1_000_000
    then = machine.true_time()
    machine.monotonic_us += 2_500_000

    assert machine.clock().instant_of(reading_s) == then


def test_it_follows_a_store_whose_clock_drifts():
    machine = Machine(offset_us=0)
    clock = machine.clock()
    clock.now()
    machine.offset_us += 500

    assert clock.now() == machine.true_time() - 500
    clock.learn()
    assert clock.now() == machine.true_time()
    assert clock.steady_for(10**9)


def test_a_store_whose_clock_was_set_is_unsteady_for_a_while():
    machine = Machine(offset_us=0)
    clock = machine.clock()
    clock.now()
    machine.offset_us -= JUMP_US + 1
    clock.learn()
    machine.monotonic_us += 999

    assert not clock.steady_for(1000)
    machine.monotonic_us += 1
    assert clock.steady_for(1000)


def test_rolls_lie_between_nothing_and_one_and_repeat_with_their_seed():
    rolls = [Chance(seed=5).roll() for _ in range(2)]
    unseeded = Chance()

    assert rolls[0] == rolls[1]
    assert all(0 <= unseeded.roll() < 1 for _ in range(1000))


def test_bits_are_as_many_as_asked_for_and_differ():
    chance = Chance()

    drawn = [chance.bits(62) for _ in range(1000)]

    assert len(set(drawn)) == 1000
    assert 2**60 < max(drawn) < 2**62
    assert Chance(seed=1).bits(62) == Chance(seed=1).bits(62)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_draws_other_bits():
    chance = Chance()
    chance.bits(62)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, b"%d" % chance.bits(62))
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    theirs = int(os.read(reader, 100))
    os.close(reader)

    assert theirs != chance.bits(62)
