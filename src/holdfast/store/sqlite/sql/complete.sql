-- complete: write a plain completion, the commonest decision, with fewer columns.
update holdfast_job
   set state = 'complete',
       holder = null,
       lease_until = null,
       finished_at = ?,
       updated_at = ?,
       result = ?,
       revision = revision + 1
 where id = ? and revision = ?
