"""Mails that become rows within Notion's limits, and what the parts of that take."""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bench.collabiq.history import fill
from bench.collabiq.mails import mail, thread
from bench.collabiq.notion import WatchedNotion
from bench.database import Database, Place
from bench.figure import Count, Delay, tail_of
from bench.measure import Conditions, Measure, Measured
from bench.process import Failed
from bench.server import up
from collabiq.mail import clean, parse_mail
from collabiq.match import company_index
from collabiq.samples import Sample
from collabiq.samples.sample import Expected
from collabiq.secrets import InfisicalSettings, InfisicalSource, SecretProvider
from collabiq.settings.config import REQUIRED_SECRETS
from collabiq.stand_ins.infisical import CLIENT_ID, CLIENT_SECRET
from collabiq.stand_ins.world import PROJECT_ID, ServedWorld, StandInWorld

MAILS, QUICK_MAILS = 200, 30
FINISHED, QUICK_FINISHED = 10_000, 1_000
FAILING, QUICK_FAILING = 20, 6
ARRIVING, QUICK_ARRIVING = 40, 8
STARTS, QUICK_STARTS = 5, 2
POLL_S = 0.5
IDLE_S = 0.3
MEGABYTE = 1_000_000
COMPANIES = 5_000
WINDOW_S = 60.0
LIMIT_S = 240.0
REFUSED = "a doomed pilot"
MINUTE_S = 60.0


def mails(conditions: Conditions) -> Iterator[Measured]:
    yield from parts(conditions)
    place = conditions.places.get("postgresql")
    if place is None:
        return
    count = QUICK_MAILS if conditions.quick else MAILS
    with place.fresh() as database:
        empty = _pace(database, count)
    with place.fresh() as database:
        finished = QUICK_FINISHED if conditions.quick else FINISHED
        filled = _pace(database, count, finished=finished)
    for name, (pace, notion) in (("collabiq-mails", empty), ("collabiq-mails-later", filled)):
        yield Measured(f"{name}-a-minute", Count(pace), count)
        yield Measured(f"{name}-refused", Count(notion.too_many), len(notion.called_s))
    most = max(empty[1].most_within(WINDOW_S), filled[1].most_within(WINDOW_S))
    yield Measured("collabiq-calls-in-a-minute", Count(most), count)
    yield Measured("collabiq-after-ten-thousand", Count(filled[0] / empty[0]), count)
    with place.fresh() as database:
        failing = QUICK_FAILING if conditions.quick else FAILING
        yield Measured("collabiq-after-a-failure", tail_of(_waits_ns(database, failing)), failing)
    yield from idle(conditions, place)


def idle(conditions: Conditions, place: Place) -> Iterator[Measured]:
    """What a single mail waits for, and what Infisical adds to a whole start."""
    arriving = QUICK_ARRIVING if conditions.quick else ARRIVING
    with place.fresh() as database:
        yield Measured("collabiq-arrival", tail_of(_arrivals_ns(database, arriving)), arriving)
    starts = QUICK_STARTS if conditions.quick else STARTS
    with place.fresh() as database:
        yield Measured("collabiq-start", _in_ms(_start_s(database, starts)), starts)


def parts(conditions: Conditions) -> Iterator[Measured]:
    """What needs no database: cleaning, matching, and fetching the secrets."""
    repeats = 3 if conditions.quick else 9
    large, quarter = thread(MEGABYTE), thread(MEGABYTE // 4)
    large_s, quarter_s = (
        _best_s(lambda raw=raw: _cleaned(raw), repeats) for raw in (large, quarter)
    )
    yield Measured("collabiq-clean", _in_ms(large_s), repeats)
    yield Measured("collabiq-clean-growth", Count(large_s / quarter_s / 4), repeats)
    names = company_index((str(n), f"회사 {n * 7_919 % 100_003} Labs") for n in range(COMPANIES))
    match_s = _best_s(lambda: names.match("회사 31676 Labz"), repeats)
    yield Measured("collabiq-match", _in_ms(match_s), repeats)
    yield Measured("collabiq-secrets", _in_ms(_secrets_s(repeats)), repeats)


def _pace(database: Database, count: int, *, finished: int = 0) -> tuple[float, WatchedNotion]:
    """Mails a minute from the first row to the last; they are in the mailbox before."""
    with _world(rate_per_s=3.0) as (served, notion), up("collabiq", database.url, _set(served)):
        if finished:
            _deliver(served, range(1))
            _wait(notion, 1)
            fill(database.url, finished)
            database.settle()
            notion.made_s.clear()
        _deliver(served, range(1, count + 1))
        _wait(notion, count)
    return (count - 1) / (notion.made_s[-1] - notion.made_s[0]) * MINUTE_S, notion


def _waits_ns(database: Database, count: int) -> list[int]:
    """From each row that was refused for good to the next one that was made."""
    with _world(rate_per_s=None, refused_word=REFUSED) as (served, notion):
        variables = _set(served) | {"NOTION_RATE_LIMIT_PER_SEC": "100"}
        with up("collabiq", database.url, variables):
            _deliver(served, range(1))
            _wait(notion, 1)
            for number in range(1, count + 1):
                served.world.deliver([_sample(2 * number, what=REFUSED)])
                served.world.deliver([_sample(2 * number + 1)])
            _wait(notion, count + 1)
            _until(lambda: len(notion.refused_s) >= count, "a row was not refused")
    waits = []
    for at_s in notion.refused_s:
        later = [made_s for made_s in notion.made_s if made_s >= at_s]
        waits += [round((later[0] - at_s) * 1e9)] if later else []
    if not waits:
        raise Failed("every row was made before the first was refused")
    return waits


def _arrivals_ns(database: Database, count: int) -> list[int]:
    """From each mail that arrives while nothing else happens to its row."""
    waits = []
    with _world(rate_per_s=3.0) as (served, notion), up("collabiq", database.url, _set(served)):
        _deliver(served, range(1))
        _wait(notion, 1)
        for number in range(1, count + 1):
            # At another moment of the poller's interval each time.
            time.sleep(IDLE_S + number % 7 * POLL_S / 7)
            began_s = time.monotonic()
            _deliver(served, range(number, number + 1))
            _wait(notion, number + 1)
            waits.append(round((notion.made_s[-1] - began_s) * 1e9))
    return waits


def _start_s(database: Database, count: int) -> float:
    """How much longer a whole start takes with Infisical; the shortest of some, in turns."""
    taken: dict[str, list[float]] = {"0": [], "1": []}
    with ServedWorld(StandInWorld(notion_rate_per_s=None)) as served:
        for _ in range(count + 1):
            for enabled, found in taken.items():
                variables = _set(served) | {"INFISICAL_ENABLED": enabled}
                began_s = time.monotonic()
                with up("collabiq", database.url, variables):
                    found.append(time.monotonic() - began_s)
    # The first start makes the tables.
    return min(taken["1"][1:]) - min(taken["0"][1:])


@contextmanager
def _world(
    *, rate_per_s: float | None, refused_word: str | None = None
) -> Iterator[tuple[ServedWorld, WatchedNotion]]:
    with ServedWorld(StandInWorld(notion_rate_per_s=rate_per_s)) as served:
        notion = WatchedNotion(served.world.notion, refused_word=refused_word)
        served.servings["notion"].stand_in = notion
        yield served, notion


def _set(served: ServedWorld) -> dict[str, str]:
    return served.variables() | {
        "INFISICAL_ENABLED": "0",
        "LLM_ORDER": "offline",
        "POLL_INTERVAL_MS": str(round(POLL_S * 1_000)),
    }


def _sample(number: int, **given: str) -> Sample:
    return Sample(f"bench-{number}", mail(number, **given), Expected())


def _deliver(served: ServedWorld, numbers: range) -> None:
    served.world.deliver([_sample(number) for number in numbers])


def _wait(notion: WatchedNotion, count: int) -> None:
    _until(lambda: len(notion.made_s) >= count, f"{count} rows were not made")


def _until(done: Callable[[], bool], otherwise: str) -> None:
    until_s = time.monotonic() + LIMIT_S
    while not done():
        if time.monotonic() > until_s:
            raise Failed(f"{otherwise} within {LIMIT_S:g} s")
        time.sleep(0.02)


def _cleaned(raw: bytes) -> None:
    read = parse_mail(raw)
    clean(read.text, subject=read.subject)


def _secrets_s(repeats: int) -> float:
    """How much longer the secrets take that a start needs when Infisical has them."""
    with ServedWorld() as served:
        given = served.variables()

        def from_infisical() -> None:
            source = InfisicalSource(
                InfisicalSettings(
                    project_id=PROJECT_ID,
                    client_id=CLIENT_ID,
                    client_secret=CLIENT_SECRET,
                    host=served.urls["infisical"],
                )
            )
            provider = SecretProvider(source=source, environment={}, clock=time.monotonic)
            provider.require(REQUIRED_SECRETS)
            source.close()

        def from_environment() -> None:
            provider = SecretProvider(source=None, environment=given, clock=time.monotonic)
            provider.require(REQUIRED_SECRETS)

        clock = time.perf_counter
        with_it = _best_s(from_infisical, repeats, clock=clock)
        return with_it - _best_s(from_environment, repeats, clock=clock)


def _best_s(
    work: Callable[[], object], repeats: int, *, clock: Callable[[], float] = time.process_time
) -> float:
    """The shortest of some turns, of this process's own time unless others are waited for."""
    found = []
    gc.disable()
    try:
        for _ in range(repeats):
            began_s = clock()
            work()
            found.append(clock() - began_s)
    finally:
        gc.enable()
    return min(found)


def _in_ms(seconds: float) -> Delay:
    return Delay(seconds * 1e3, seconds * 1e3)


MEASURE = Measure("collabiq", mails)
