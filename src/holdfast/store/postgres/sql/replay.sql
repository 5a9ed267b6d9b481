-- replay: one replay.
select replay.id, replay.name, replay.asked_by, replay.reason, replay.created_at,
       replay.updated_at, replay.revision, replay.state, replay.from_start, replay.canary,
       replay.every_us, replay.stop_after, replay.last_sent_at, replay.note,
       replay.owner
  from holdfast.replay as replay
 where replay.id = %(id)s
   and (%(owner)s::text is null or replay.owner = %(owner)s)
