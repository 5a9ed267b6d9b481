-- old_deliveries: the next deliveries by id, with what says whether they may go; walks delivery_pkey.
with page as materialized (
    select delivery.id, delivery.revision, delivery.state, delivery.updated_at, delivery.job_id
      from holdfast.delivery
     where delivery.id > %(after)s and delivery.id < %(below)s
     order by delivery.id
     limit %(limit)s
)
select page.id, page.revision, page.state, page.updated_at,
       exists (select from holdfast.job where job.id = page.job_id::uuid)
  from page
 order by page.id
