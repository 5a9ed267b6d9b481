-- remove_jobs: remove these jobs; uses the key of the table.
delete from holdfast_job where id in (select value from json_each(:ids))
