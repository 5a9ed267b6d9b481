-- erase_orphans: the next deliveries by id, with their job and whether that is gone; walks delivery_pkey.
with page as materialized (
    select delivery.id, delivery.job_id, delivery.state
      from holdfast.delivery
     where delivery.id > %(after)s
     order by delivery.id
     limit %(limit)s
)
select page.id, page.job_id, page.state,
       not exists (select from holdfast.job where job.id = page.job_id::uuid)
  from page
 order by page.id
