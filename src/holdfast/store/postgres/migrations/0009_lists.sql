-- concurrently
-- What is looked for among very many: jobs of one owner, of a key, those that were cancelled; dead
-- letters of one owner, of one cause. Jobs without an owner and without a key are in none of these.

-- One that was broken off is of no use, and in the way.
drop index concurrently if exists holdfast.job_owner;

create index concurrently job_owner on holdfast.job (owner, id) where owner <> '';

drop index concurrently if exists holdfast.job_named;

-- Of an expression, so that it is never taken for the index that keys are unique by.
create index concurrently job_named on holdfast.job ((key || ''), id) where key is not null;

drop index concurrently if exists holdfast.job_cancelled;

create index concurrently job_cancelled on holdfast.job (id) where state = 'cancelled';

drop index concurrently if exists holdfast.dead_letter_owner;

create index concurrently dead_letter_owner on holdfast.dead_letter (owner, id) where owner <> '';

drop index concurrently if exists holdfast.dead_letter_cause;

create index concurrently dead_letter_cause on holdfast.dead_letter (fingerprint, id);

drop index concurrently if exists holdfast.dead_letter_waiting;

-- All that groups are made of, so that they are counted without a look at the letters.
create index concurrently dead_letter_waiting on holdfast.dead_letter (
    fingerprint, state, owner, error_class, stage, pipeline, first_failure_at, last_failure_at,
    deaths, retryable, previous_class, id
) where state <> 'resolved';
