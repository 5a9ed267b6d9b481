-- find_active: jobs in one state that is not an end, newest first; uses the index of that state.
-- Those that ended may be very many, and lie above: job_pkey would lead through them all. `offset`
-- keeps the order away from the choice of the index.
select @job_columns@
  from holdfast.job
 where id in (
    select active.id
      from (
        select id
          from holdfast.job
         where state = any(%(states)s::text[])
           and (%(before)s::uuid is null or id < %(before)s::uuid)
           and (%(pipeline)s::text is null or pipeline = %(pipeline)s)
           and (%(stage)s::text is null or stage = %(stage)s)
           and (%(queue)s::text is null or queue = %(queue)s)
           and (%(owner)s::text is null or owner = %(owner)s)
           and (%(created_since)s::bigint is null or created_at >= %(created_since)s)
           and (%(created_until)s::bigint is null or created_at < %(created_until)s)
        offset 0
      ) as active
     order by active.id desc
     limit %(limit)s
   )
 order by job.id desc
