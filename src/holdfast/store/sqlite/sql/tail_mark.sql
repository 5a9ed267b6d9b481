-- tail_mark: what can be seen now: the last entry of the ledger, the last job, the record's last.
select '',
       coalesce((
           select position
             from holdfast_ledger
            where position is not null
            order by position desc
            limit 1
       ), 0),
       coalesce((select max(rowid) from holdfast_job), 0),
       coalesce((select max(id) from holdfast_audit), 0)
