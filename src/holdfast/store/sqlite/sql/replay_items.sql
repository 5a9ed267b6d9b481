-- replay_items: a page of a replay's list.
select item.position, item.letter_id, item.state, item.retries, item.sent_at, item.note
  from holdfast_replay_item as item
 where item.replay_id = :replay_id and item.position > :after
 order by item.position
 limit :limit
