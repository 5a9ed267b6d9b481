-- old_replays: the next replays by id, with what says whether they may go; walks their key.
select replay.id, replay.state, replay.updated_at
  from holdfast_replay as replay
 where replay.id > :after
 order by replay.id
 limit :limit
