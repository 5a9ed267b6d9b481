-- erase_found: how much belongs to these jobs and deliveries; uses the keys of the tables.
select (select count(*) from holdfast_checkpoint where job_id in (select value from json_each(:jobs))),
       (select count(*) from holdfast_ledger where job_id in (select value from json_each(:jobs))),
       (select count(*) from holdfast_dead_letter where id in (select value from json_each(:jobs))),
       (select count(*) from holdfast_delivery_attempt
         where delivery_id in (select value from json_each(:deliveries)))
