-- replay_insert: write a new replay, unless an earlier try did.
insert into holdfast_replay (
    id, name, asked_by, reason, created_at, updated_at, revision, state, from_start, canary,
    every_us, stop_after, last_sent_at, note, owner
)
values (
    :id, :name, :asked_by, :reason, :created_at, :updated_at, :revision, :state,
    :from_start, :canary, :every_us, :stop_after, :last_sent_at, :note, :owner
)
on conflict do nothing
