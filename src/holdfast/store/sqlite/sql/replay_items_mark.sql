-- replay_items_mark: change the state of letters in a replay's list that are still in another.
update holdfast_replay_item
   set state = :state, sent_at = coalesce(:sent_at, sent_at), note = :note
 where replay_id = :replay_id
   and state = :from_state
   and position in (select value from json_each(:positions))
