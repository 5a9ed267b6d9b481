-- deliveries_told: note that a job was looked at since these deliveries of it ended as they did.
update holdfast.delivery
   set job_told = 1
 where delivery.job_id = %(job_id)s
   and delivery.job_told = 0
   and delivery.state in ('sent', 'failed', 'unknown')
   and (delivery.id, delivery.revision) in (
    select seen.id, seen.revision
      from json_to_recordset(%(rows)s::json) as seen (id text, revision integer)
   )
