-- replay_items_mark: change the state of letters in a replay's list that are still in another.
update holdfast.replay_item
   set state = %(state)s, sent_at = coalesce(%(sent_at)s, sent_at), note = %(note)s
 where replay_id = %(replay_id)s
   and state = %(from_state)s
   and position in (select value::integer from jsonb_array_elements_text(%(positions)s::jsonb))
