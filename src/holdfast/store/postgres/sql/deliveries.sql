-- deliveries: deliveries that match a filter, newest first; walks delivery_pkey.
select @delivery_columns@
  from holdfast.delivery
 where (%(before)s::text is null or delivery.id < %(before)s)
   and (%(states)s::text is null or delivery.state = any(string_to_array(%(states)s, ',')))
   and (%(provider)s::text is null or delivery.provider = %(provider)s)
   and (%(subject)s::text is null or delivery.subject = %(subject)s)
   and (%(recipient)s::text is null or delivery.recipient = %(recipient)s)
   and (%(version)s::integer is null or delivery.version = %(version)s)
   and (%(job_id)s::text is null or delivery.job_id = %(job_id)s)
   and (%(error_class)s::text is null or delivery.error_class = %(error_class)s)
   and (%(created_since)s::bigint is null or delivery.created_at >= %(created_since)s)
   and (%(created_until)s::bigint is null or delivery.created_at < %(created_until)s)
   and (%(owner)s::text is null or exists (
         select from holdfast.job
          where job.id = case when delivery.job_id ~ '^[0-9a-f-]{36}$'
                              then delivery.job_id::uuid end
            and job.owner = %(owner)s
       ))
 order by delivery.id desc
 limit %(limit)s
