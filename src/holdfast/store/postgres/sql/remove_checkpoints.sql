-- remove_checkpoints: remove the checkpoints of these jobs; uses the key of the table.
delete from holdfast.checkpoint
 where job_id in (select value::uuid from jsonb_array_elements_text(%(ids)s::jsonb))
