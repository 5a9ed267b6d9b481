-- close_letter: close the dead letters of jobs that were sent back and then refused; uses dead_letter_pkey.
update holdfast.dead_letter as letter
   set state = 'resolved',
       revision = letter.revision + 1,
       updated_at = closed.at,
       resolved_at = closed.at,
       note = closed.note
  from unnest(%(job_id)s::text[], %(at)s::bigint[], %(note)s::text[]) as closed (job_id, at, note)
 where letter.id = any(array[closed.job_id])
