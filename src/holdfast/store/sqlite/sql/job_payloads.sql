-- job_payloads: the payloads of these jobs; uses the key of the table.
select id, payload from holdfast_job where id in (select value from json_each(:ids))
