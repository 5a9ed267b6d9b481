-- insert_one: store one new job unless its key is taken or it is stored already.
-- The key of a job that was removed is taken as well; uses the keys of the tables.
insert into holdfast_job (
    id, pipeline, plan, queue, priority, owner, key, version, rerun_of, payload, fingerprint,
    trace, created_at, stage, run_at, deadline_at, updated_at
)
select ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?13
 where ?7 is null
    or ?9 is not null
    or not exists (
        select 1
          from holdfast_kept_key
         where owner = ?6 and pipeline = ?2 and key = ?7 and version >= ?17
       )
on conflict do nothing
