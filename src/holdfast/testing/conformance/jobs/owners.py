"""What a store promises about rows of one owner: others' are as good as not there."""

from holdfast.core.delivery.delivery import DeliveryState
from holdfast.core.job.event import Failed
from holdfast.core.job.job import Job, JobState
from holdfast.store.contract import JobFilter, Store
from holdfast.store.tables.dead_letters import LetterFilter
from holdfast.store.tables.deliveries import DeliveryFilter
from holdfast.testing.conformance.dead_letters.replays import frozen
from holdfast.testing.conformance.deliveries import new_delivery
from holdfast.testing.conformance.samples import (
    LASTING_FAILURE,
    after_event,
    new_job,
    next_id,
    started,
    submitted,
)


def _dead(store: Store, owner: str) -> Job:
    return after_event(store, started(store, owner=owner), Failed(LASTING_FAILURE))


class OwnerConformance:
    """What `owner` promises, wherever it is asked for."""

    def test_jobs_are_read_for_one_owner(self, store: Store) -> None:
        (hers,) = submitted(store, owner="ada")
        (his,) = submitted(store, owner="bob")
        (nobodys,) = submitted(store)

        assert set(store.get([hers, his, nobodys])) == {hers, his, nobodys}
        assert set(store.get([hers, his, nobodys], owner="ada")) == {hers}
        assert set(store.get([hers, his, nobodys], owner="")) == {nobodys}
        assert store.get([hers], owner="ada") == store.get([hers])

    def test_a_key_finds_the_job_of_its_own_owner(self, store: Store) -> None:
        first = {owner: submitted(store, owner=owner, key="k")[0] for owner in ("ada", "bob")}

        for owner, job_id in first.items():
            (twin,) = store.insert([new_job(owner=owner, key="k")])
            assert twin is not None
            assert twin.job_id == job_id
            found = store.twins(owner=owner, pipeline="letters", key="k")
            assert [each.job_id for each in found] == [job_id]

    def test_keys_in_bulk_find_the_jobs_of_their_own_owners(self, store: Store) -> None:
        owners = ("ada", "bob", "eve")
        first = [submitted(store, owner=owner, key="k")[0] for owner in owners]

        twins = store.insert([new_job(owner=owner, key="k") for owner in owners])

        assert [twin and twin.job_id for twin in twins] == first

    def test_matching_jobs_are_counted_up_to_a_limit(self, store: Store) -> None:
        submitted(store, 3, owner="ada")
        submitted(store, 2, owner="bob")
        _dead(store, "bob")

        assert store.count(JobFilter(), at_most=100) == 6
        assert store.count(JobFilter(), at_most=4) == 4
        assert store.count(JobFilter(owner="bob"), at_most=100) == 3
        assert store.count(JobFilter(states=(JobState.FAILED,)), at_most=100) == 1
        assert store.count(JobFilter(key="none"), at_most=100) == 0

    def test_dead_letters_are_read_for_one_owner(self, store: Store) -> None:
        hers, his = _dead(store, "ada"), _dead(store, "bob")

        assert store.letters.get(his.id, owner="ada") is None
        assert store.letters.get(hers.id, owner="ada") == store.letters.get(hers.id)
        listed = store.letters.find(LetterFilter(owner="ada"), before=None, limit=9)
        assert [letter.id for letter in listed] == [hers.id]

    def test_causes_are_counted_for_one_owner(self, store: Store) -> None:
        hers = [_dead(store, "ada") for _ in range(2)]
        for _ in range(3):
            _dead(store, "bob")

        (everybodys,) = store.letters.groups(limit=9)
        (group,) = store.letters.groups(owner="ada", limit=9)
        assert (everybodys.letters, group.letters) == (5, 2)
        assert group.sample_id == hers[-1].id
        assert store.letters.groups(owner="eve", limit=9) == []

    def test_a_delivery_is_its_jobs_owners(self, store: Store) -> None:
        (job_id,) = submitted(store, owner="ada")
        hers, lost, odd, nobodys = store.deliveries.ensure(
            [
                new_delivery(job_id=job_id),
                new_delivery(job_id=next_id()),
                new_delivery(job_id="no id of a job"),
                new_delivery(),
            ]
        )
        rows = store.deliveries

        assert rows.get(hers.id, owner="ada") == hers
        assert rows.get(hers.id, owner="bob") is None
        for other in (lost, odd, nobodys):
            assert rows.get(other.id, owner="ada") is None
            assert rows.get(other.id, owner="") is None
            assert rows.get(other.id) == other
        assert rows.of_job(job_id, owner="ada") == [hers]
        assert rows.of_job(job_id, owner="bob") == []
        wanted = DeliveryFilter(states=(DeliveryState.INTENT,))
        assert rows.find(wanted._replace(owner="ada"), before=None, limit=9) == [hers]
        assert rows.find(wanted._replace(owner="bob"), before=None, limit=9) == []
        assert len(rows.find(wanted, before=None, limit=9)) == 4

    def test_replays_are_read_for_one_owner(self, store: Store) -> None:
        hers, his, everybodys = (frozen(store, owner=owner) for owner in ("ada", "bob", None))

        assert store.replays.get(hers.id, owner="ada") == hers
        assert store.replays.get(his.id, owner="ada") is None
        assert store.replays.get(everybodys.id, owner="ada") is None
        assert store.replays.latest(owner="ada", limit=9) == [hers]
        assert len(store.replays.latest(limit=9)) == 3
