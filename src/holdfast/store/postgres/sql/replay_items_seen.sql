-- replay_items_seen: letters of a replay in one state, with their letters and jobs as they are now.
select item.position, item.letter_id, item.state, item.retries, item.sent_at, item.note,
       letter.state, job.state, job.retries
  from holdfast.replay_item as item
  left join holdfast.dead_letter as letter on letter.id = item.letter_id
  left join holdfast.job as job on job.id = item.letter_id::uuid
 where item.replay_id = %(replay_id)s and item.state = %(state)s and item.position > %(after)s
 order by item.position
 limit %(limit)s
