-- erase_found: how much belongs to these jobs and deliveries; uses the keys of the tables.
select (select count(*) from holdfast.checkpoint
         where job_id in (select value::uuid from jsonb_array_elements_text(%(jobs)s::jsonb))),
       (select count(*) from holdfast.ledger
         where job_id in (select value::uuid from jsonb_array_elements_text(%(jobs)s::jsonb))),
       (select count(*) from holdfast.dead_letter
         where id in (select value from jsonb_array_elements_text(%(jobs)s::jsonb))),
       (select count(*) from holdfast.delivery_attempt
         where delivery_id in (select value from jsonb_array_elements_text(%(deliveries)s::jsonb)))
