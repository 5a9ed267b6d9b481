-- concurrently
-- What an owner has under way, which limits count with every submission: how many jobs wait of
-- others, and how many of theirs have ended, must not matter. Jobs without an owner are not in it.

-- One that was broken off is of no use, and in the way.
drop index concurrently if exists holdfast.job_owner_active;

create index concurrently job_owner_active on holdfast.job (owner, pipeline)
    where owner <> '' and state in ('queued', 'processing', 'waiting');
