-- replays: the latest replays, newest first; walks the primary key.
select replay.id, replay.name, replay.asked_by, replay.reason, replay.created_at,
       replay.updated_at, replay.revision, replay.state, replay.from_start, replay.canary,
       replay.every_us, replay.stop_after, replay.last_sent_at, replay.note,
       replay.owner
  from holdfast_replay as replay
 where (:before is null or replay.id < :before)
   and (:owner is null or replay.owner = :owner)
 order by replay.id desc
 limit :limit
