-- remove_audit: remove these entries of the record of actions; uses its key.
delete from holdfast_audit where id in (select value from json_each(:ids))
