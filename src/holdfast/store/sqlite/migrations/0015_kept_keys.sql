-- What is kept of a job's key when the job is removed, so that the same key makes no second job.
create table holdfast_kept_key (
    owner       text    not null,
    pipeline    text    not null,
    key         text    not null,
    version     integer not null,
    job_id      text    not null,
    fingerprint text,
    state       text    not null,
    created_at  integer not null,
    finished_at integer,
    removed_at  integer not null,
    memo        text,
    primary key (owner, pipeline, key, version)
) strict, without rowid;

create index holdfast_kept_key_removed on holdfast_kept_key (removed_at);
