-- What an owner has under way, which limits count with every submission: how many jobs wait of
-- others, and how many of theirs have ended, must not matter. Jobs without an owner are not in it.
create index holdfast_job_owner_active on holdfast_job (owner, pipeline)
    where owner <> '' and state in ('queued', 'processing', 'waiting');
