-- remove_checkpoints: remove the checkpoints of these jobs; uses the key of the table.
delete from holdfast_checkpoint where job_id in (select value from json_each(:ids))
