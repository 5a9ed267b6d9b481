-- replay_insert: write a new replay, unless an earlier try did.
insert into holdfast.replay (
    id, name, asked_by, reason, created_at, updated_at, revision, state, from_start, canary,
    every_us, stop_after, last_sent_at, note, owner
)
values (
    %(id)s, %(name)s, %(asked_by)s, %(reason)s, %(created_at)s, %(updated_at)s, %(revision)s,
    %(state)s, %(from_start)s, %(canary)s, %(every_us)s, %(stop_after)s,
    %(last_sent_at)s, %(note)s, %(owner)s
)
on conflict do nothing
