"""What is kept beside jobs goes in its time: records of actions, replays, plans."""

from holdfast.core.dead_letter.replay import ReplayState
from holdfast.core.job.plan import Plan, StagePlan
from holdfast.core.values.instant import Instant
from holdfast.core.values.retention import DAY_S, PLAN_S
from holdfast.core.values.retry import Retry
from holdfast.store.contract import Store
from holdfast.testing.conformance.retention.samples import (
    AUDIT_KEEP_S,
    KEEP_S,
    entry_about,
    id_made_now,
    purged,
    replays,
)
from holdfast.testing.conformance.samples import NOW, PLAN, after, entries, next_id, submitted


class RecordPurgeConformance:
    """What `retention.purge` promises about what jobs leave behind."""

    def test_the_record_of_actions_goes_in_its_time(self, store: Store) -> None:
        subject = next_id()
        upstream = store.upstreams.get(subject)
        young = entry_about(subject)._replace(at=after(50))
        assert store.upstreams.save(upstream, now=NOW, audit=[entry_about(subject), young])

        purged(store, now=Instant(after(AUDIT_KEEP_S) - 1))
        assert len(store.audit.latest(subject_kind="purging", subject=subject)) == 2
        purged(store, now=after(AUDIT_KEEP_S))
        assert entries(store, subject_kind="purging", subject=subject) == [young]

    def test_a_replay_that_ended_goes_with_its_list(self, store: Store) -> None:
        ended, under_way = replays(store, ReplayState.STOPPED, ReplayState.RUNNING)

        assert "replays" not in purged(store, now=Instant(after(KEEP_S) - 1))
        assert purged(store, now=after(KEEP_S), limit=2)["replays"] == 1
        assert store.replays.get(ended) is None
        assert store.replays.items(ended, after=0, limit=10) == []
        assert store.replays.get(under_way) is not None
        assert len(store.replays.items(under_way, after=0, limit=10)) == 5

    def test_a_plan_that_no_job_uses_and_nobody_asks_for_goes(self, store: Store) -> None:
        store.save_plan(PLAN, now=NOW)
        used, unused, asked_for = (
            Plan("letters", (StagePlan(name, Retry()),)) for name in ("used", "unused", "asked")
        )
        for plan in (used, unused, asked_for):
            store.save_plan(plan, now=NOW)
        for _ in range(5):
            submitted(store, id=id_made_now())
        submitted(store, id=id_made_now(), plan=used.digest, stage="used")
        store.save_plan(asked_for, now=after(2 * DAY_S))

        assert "plans" not in purged(store, now=Instant(after(PLAN_S) - 1), limit=2)
        assert purged(store, now=after(PLAN_S), limit=2) == {"plans": 1}
        found = {
            plan: store.load_plan("letters", plan.digest) is not None
            for plan in (PLAN, used, unused, asked_for)
        }
        assert found == {PLAN: True, used: True, unused: False, asked_for: True}

    def test_a_plan_asked_for_again_within_a_day_is_not_written_again(self, store: Store) -> None:
        unused = Plan("letters", (StagePlan("unused", Retry()),))
        store.save_plan(unused, now=NOW)
        store.save_plan(unused, now=after(DAY_S - 1))

        assert purged(store, now=after(PLAN_S))["plans"] == 1
