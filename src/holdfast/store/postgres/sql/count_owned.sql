-- count_owned: how many jobs of an owner that have not ended match a filter, up to the limit.
-- Uses job_owner_active, whose condition is repeated here. The order does not matter.
select count(*)
  from (
    select 1
      from holdfast.job
     where owner = %(owner)s
       and owner <> ''
       and state in ('queued', 'processing', 'waiting')
       and state = any(%(states)s::text[])
       and (%(pipeline)s::text is null or pipeline = %(pipeline)s)
       and (%(stage)s::text is null or stage = %(stage)s)
       and (%(queue)s::text is null or queue = %(queue)s)
       and (%(created_since)s::bigint is null or created_at >= %(created_since)s)
       and (%(created_until)s::bigint is null or created_at < %(created_until)s)
     order by owner, pipeline
     limit %(limit)s
  ) as some_of_them
