-- replay_counts: how many letters of a replay stand how; one snapshot, so none is missed.
select item.state, null, null, count(*)
  from holdfast_replay_item as item
 where item.replay_id = :replay_id and item.state <> 'sent'
 group by item.state
 union all
select item.state, job.state, job.retries - item.retries, count(*)
  from holdfast_replay_item as item
  left join holdfast_job as job on job.id = item.letter_id
 where item.replay_id = :replay_id and item.state = 'sent'
 group by item.state, job.state, job.retries - item.retries
