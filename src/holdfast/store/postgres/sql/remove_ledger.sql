-- remove_ledger: remove the history of these jobs; uses the key of the table.
delete from holdfast.ledger
 where job_id in (select value::uuid from jsonb_array_elements_text(%(ids)s::jsonb))
