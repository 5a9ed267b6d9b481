"""The breakers of the services in the words of the records."""

from dataclasses import replace

from collabiq.failures.circuits import Circuits
from collabiq.failures.fallback import keep_circuit
from holdfast import CircuitOpen, GiveUp, Guard
from holdfast.presets import FIVE_IN_A_ROW, THREE_IN_A_ROW
from holdfast.testing import run_inline


def circuit(world, name: str = "notion"):
    found = {each["service_name"]: each for each in Circuits(world.engine).list()["circuits"]}
    return found[name]


def fail(world, times: int) -> None:
    """Have Notion fail in that many calls in a row, each of a mail of its own."""
    world.failing["notion_write"] = ConnectionResetError("broken")
    for number in range(times):
        key = f"m{number}-{world.engine.clock.now()}"
        job = world.engine.submit("email", {"email_id": key}, key=key)
        run_inline(world.engine, until=job, advance=True)


def test_all_four_are_listed_closed_with_their_numbers(world):
    found = Circuits(world.engine).list()["circuits"]

    assert [each["service_name"] for each in found] == ["gmail", "gemini", "notion", "infisical"]
    assert {each["state"] for each in found} == {"CLOSED"}
    numbers = [
        (each["failure_threshold"], each["success_threshold"], each["timeout"]) for each in found
    ]
    assert numbers == [(5, 2, 60.0)] * 3 + [(3, 2, 30.0)]


def test_failures_in_a_row_are_counted_and_open_it(world):
    # Two attempts each.
    fail(world, 2)
    before = circuit(world)
    fail(world, 1)
    after = circuit(world)

    assert (before["state"], before["failure_count"]) == ("CLOSED", 4)
    assert (after["state"], after["failure_count"]) == ("OPEN", 5)
    assert after["open_timestamp"] is not None
    assert after["last_failure_time"] is not None


def test_it_is_half_open_after_its_time_and_closed_by_two_successes(world):
    fail(world, 3)
    world.engine.clock.advance(60)
    assert circuit(world)["state"] == "HALF_OPEN"
    world.failing.clear()

    world.mail("aaa")
    once = circuit(world)
    world.mail("bbb")

    assert (once["state"], once["success_count"]) == ("HALF_OPEN", 1)
    assert (circuit(world)["state"], circuit(world)["failure_count"]) == ("CLOSED", 0)


def test_one_failure_of_a_trial_opens_it_again(world):
    fail(world, 3)
    world.engine.clock.advance(60)

    world.mail("aaa")

    assert circuit(world)["state"] == "OPEN"


def test_the_breaker_of_infisical_is_this_process_own(world):
    guard = Guard("infisical", breaker=THREE_IN_A_ROW)

    def broken() -> None:
        raise ConnectionResetError("no")

    for _ in range(3):
        try:
            guard.call(broken)
        except (GiveUp, ConnectionResetError):
            continue
    found = Circuits(world.engine, infisical=guard).list()["circuits"][3]

    assert (found["state"], found["timeout"]) == ("OPEN", 30.0)


def test_the_breaker_before_gemini_is_shown_where_rules_take_its_place(world):
    """It is of the process that calls; another one shows what the last call has made of it."""
    guard = Guard("gemini", breaker=replace(FIVE_IN_A_ROW, cooldown=60))

    def broken() -> None:
        raise ConnectionResetError("no")

    def call(work) -> None:
        try:
            guard.call(work)
        except CircuitOpen:
            keep_circuit(world.engine, guard, called=False)
        except ConnectionResetError:
            keep_circuit(world.engine, guard, called=True)
        else:
            keep_circuit(world.engine, guard, called=True)

    def shown() -> tuple[str, int]:
        found = Circuits(world.engine, fallback_cooldown_s=60.0).state_of("gemini")
        return found.state.value, found.failure_count

    seen = [shown()]
    for _ in range(7):
        call(broken)
        seen.append(shown())
    world.engine.clock.advance(60)
    seen.append(shown())
    guard.reset()
    call(lambda: None)
    seen.append(shown())

    closed, opened = ("CLOSED", 0), ("OPEN", 5)
    assert seen == [closed] * 5 + [opened] * 3 + [("HALF_OPEN", 5), closed]
    assert Circuits(world.engine).state_of("gemini").state.value == "CLOSED"
