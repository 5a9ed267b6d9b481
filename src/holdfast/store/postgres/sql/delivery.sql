-- delivery: one delivery.
select @delivery_columns@
  from holdfast.delivery
 where delivery.id = %(id)s
   and (%(owner)s::text is null or exists (
         select from holdfast.job
          where job.id = case when delivery.job_id ~ '^[0-9a-f-]{36}$'
                              then delivery.job_id::uuid end
            and job.owner = %(owner)s
       ))
