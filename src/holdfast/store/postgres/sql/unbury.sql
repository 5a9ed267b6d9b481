-- unbury: note that jobs which had failed were sent back; uses dead_letter_pkey.
update holdfast.dead_letter as letter
   set state = 'replayed',
       revision = letter.revision + 1,
       updated_at = back.at,
       replayed_at = back.at,
       resolved_at = null
  from unnest(%(job_id)s::text[], %(at)s::bigint[]) as back (job_id, at)
 where letter.id = any(array[back.job_id])
