-- count_found: how many jobs match a filter, at most the limit; walks what `find` walks.
-- The order, which does not matter, is that of the jobs that a list of them shows first.
select count(*)
  from (
    select 1
      from holdfast.job
     where (%(since_id)s::uuid is null or id >= %(since_id)s::uuid)
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
  ) as some_of_them
