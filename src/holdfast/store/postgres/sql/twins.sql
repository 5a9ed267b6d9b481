-- twins: every job of a key, the lowest version first, also those that were removed:
-- uses job_key, then job_rerun, and kept_key_pkey.
with first as (
    select id
      from holdfast.job
     where owner = %(owner)s and pipeline = %(pipeline)s and key = %(key)s and rerun_of is null
)
select id::text, version, fingerprint, state, created_at, finished_at,
       null::bigint as removed_at, null::text as memo
  from holdfast.job
 where id = (select id from first) or rerun_of = (select id from first)
 union all
select job_id::text, version, fingerprint, state, created_at, finished_at, removed_at, memo
  from holdfast.kept_key
 where owner = %(owner)s and pipeline = %(pipeline)s and key = %(key)s
 order by version, removed_at
