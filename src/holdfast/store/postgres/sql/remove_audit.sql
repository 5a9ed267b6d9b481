-- remove_audit: remove these entries of the record of actions; uses its key.
delete from holdfast.audit
 where id in (select value::bigint from jsonb_array_elements_text(%(ids)s::jsonb))
