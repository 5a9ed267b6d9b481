-- remove_jobs: remove these jobs; uses the key of the table.
delete from holdfast.job
 where id in (select value::uuid from jsonb_array_elements_text(%(ids)s::jsonb))
