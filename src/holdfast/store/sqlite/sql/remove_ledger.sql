-- remove_ledger: remove the history of these jobs; uses the key of the table.
delete from holdfast_ledger where job_id in (select value from json_each(:ids))
