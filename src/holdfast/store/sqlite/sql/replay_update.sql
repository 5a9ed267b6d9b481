-- replay_update: let a replay go on, unless somebody else did since it was read.
update holdfast_replay
   set revision = revision + 1,
       state = :state,
       last_sent_at = :last_sent_at,
       note = :note,
       updated_at = :updated_at
 where id = :id and revision = :revision
