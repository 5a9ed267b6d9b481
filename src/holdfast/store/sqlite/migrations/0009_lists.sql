-- What is looked for among very many: jobs of one owner, of a key, those that were cancelled; dead
-- letters of one owner, of one cause. Jobs without an owner and without a key are in none of these.
create index holdfast_job_owner on holdfast_job (owner, id) where owner <> '';
create index holdfast_job_named on holdfast_job (key, id) where key is not null;
create index holdfast_job_cancelled on holdfast_job (id) where state = 'cancelled';
create index holdfast_dead_letter_owner on holdfast_dead_letter (owner, id) where owner <> '';
create index holdfast_dead_letter_cause on holdfast_dead_letter (fingerprint, id);
-- All that groups are made of, so that they are counted without a look at the letters.
create index holdfast_dead_letter_waiting on holdfast_dead_letter (
    fingerprint, state, owner, error_class, stage, pipeline, first_failure_at, last_failure_at,
    deaths, retryable, previous_class, id
) where state <> 'resolved';
