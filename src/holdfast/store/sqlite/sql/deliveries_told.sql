-- deliveries_told: note that a job was looked at since these deliveries of it ended as they did.
update holdfast_delivery
   set job_told = 1
 where job_id = :job_id
   and job_told = 0
   and state in ('sent', 'failed', 'unknown')
   and (id, revision) in (
    select seen.value ->> 'id', seen.value ->> 'revision' from json_each(:rows) as seen
   )
