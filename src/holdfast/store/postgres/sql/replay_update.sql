-- replay_update: let a replay go on, unless somebody else did since it was read.
update holdfast.replay
   set revision = revision + 1,
       state = %(state)s,
       last_sent_at = %(last_sent_at)s,
       note = %(note)s,
       updated_at = %(updated_at)s
 where id = %(id)s and revision = %(revision)s
