-- twins: every job of a key, the lowest version first; uses job_key, then job_rerun.
with first as (
    select id
      from holdfast.job
     where owner = %(owner)s and pipeline = %(pipeline)s and key = %(key)s and rerun_of is null
)
select id::text, version, fingerprint, state
  from holdfast.job
 where id = (select id from first) or rerun_of = (select id from first)
 order by version
