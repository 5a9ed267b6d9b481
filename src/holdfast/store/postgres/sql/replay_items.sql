-- replay_items: a page of a replay's list.
select item.position, item.letter_id, item.state, item.retries, item.sent_at, item.note
  from holdfast.replay_item as item
 where item.replay_id = %(replay_id)s and item.position > %(after)s
 order by item.position
 limit %(limit)s
