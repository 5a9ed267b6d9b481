from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.values.ids import IdSequence, id_before, is_marked, job_id_at, marked
from holdfast.core.values.instant import FAR_FUTURE, Instant

NOW = Instant(1_800_000_000_123_456)
chances = st.integers(0, 2**62 - 1)


@given(st.lists(st.tuples(st.integers(0, FAR_FUTURE), chances), max_size=50))
def test_ids_strictly_rise_even_when_time_does_not(moments):
    sequence = IdSequence()

    ids = [sequence.next(now=Instant(now), chance=chance) for now, chance in moments]

    assert ids == sorted(set(ids))


@given(st.integers(0, FAR_FUTURE), chances)
def test_an_id_is_a_uuid_of_version_7_that_holds_its_time(now, chance):
    job_id = UUID(IdSequence().next(now=Instant(now), chance=chance))

    assert (job_id.version, job_id.variant) == (7, "specified in RFC 4122")
    # The very first tick of a sequence is 1, a quarter of a microsecond after the epoch.
    assert job_id.int >> 80 == now // 1000


def test_ids_of_one_microsecond_differ_in_more_than_chance():
    sequence = IdSequence()

    first, second = (sequence.next(now=NOW, chance=0) for _ in range(2))

    assert first[:18] < second[:18]
    assert first[19:] == second[19:]


def test_the_chance_is_the_tail_and_no_more_than_its_bits_are_used():
    plain = job_id_at(tick=1, chance=5)

    assert plain.endswith("-8000-000000000005")
    assert job_id_at(tick=1, chance=5 + 2**62) == plain


@given(st.integers(1, FAR_FUTURE), chances)
def test_an_id_before_an_instant_lies_between_those_made_earlier_and_those_made_then(now, chance):
    bound = id_before(Instant(now))

    assert IdSequence().next(now=Instant(now - 1), chance=2**62 - 1) < bound or now == 1
    assert bound <= IdSequence().next(now=Instant(now), chance=chance)


@given(st.integers(1, FAR_FUTURE), chances, st.text(), st.text())
def test_an_id_is_known_for_its_owners_and_for_nobody_elses(now, chance, owner, other):
    plain = IdSequence().next(now=Instant(now), chance=chance)
    job_id = marked(plain, owner)

    assert is_marked(job_id, owner)
    assert owner == other or not is_marked(job_id, other)
    assert UUID(job_id).version == 7
    assert job_id[:-8] == plain[:-8]
