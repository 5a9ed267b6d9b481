-- find: jobs that match a filter, newest first; walks job_pkey, or a narrower index by id.
select @job_columns@
  from holdfast.job
 where (%(before)s::uuid is null or id < %(before)s::uuid)
   and (%(since_id)s::uuid is null or id >= %(since_id)s::uuid)
   and (%(states)s::text[] is null or state = any(%(states)s::text[]))
   and (%(pipeline)s::text is null or pipeline = %(pipeline)s)
   and (%(stage)s::text is null or stage = %(stage)s)
   and (%(queue)s::text is null or queue = %(queue)s)
   and (%(owner)s::text is null or owner = %(owner)s)
   and (%(key)s::text is null or key || '' = %(key)s)
   and (%(error_class)s::text is null
        or (error_class = %(error_class)s and state = 'failed'))
   and (%(created_since)s::bigint is null or created_at >= %(created_since)s)
   and (%(created_until)s::bigint is null or created_at < %(created_until)s)
 order by job.id desc
 limit %(limit)s
