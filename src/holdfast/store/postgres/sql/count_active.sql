-- count_active: how many jobs in one state that is not an end match a filter, up to the limit.
-- Uses the index of that state. The order, which does not matter, is that of job_due: without one,
-- a few of many would be looked for in the table, from where nobody knows how far it is to them.
select count(*)
  from (
    select 1
      from holdfast.job
     where state = any(%(states)s::text[])
       and (%(pipeline)s::text is null or pipeline = %(pipeline)s)
       and (%(stage)s::text is null or stage = %(stage)s)
       and (%(queue)s::text is null or queue = %(queue)s)
       and (%(owner)s::text is null or owner = %(owner)s)
       and (%(created_since)s::bigint is null or created_at >= %(created_since)s)
       and (%(created_until)s::bigint is null or created_at < %(created_until)s)
     order by queue, pipeline, stage, priority, run_at, id
     limit %(limit)s
  ) as some_of_them
