-- What is kept of a job's key when the job is removed, so that the same key makes no second job.
create table holdfast.kept_key (
    owner       text    not null collate "C",
    pipeline    text    not null collate "C",
    key         text    not null collate "C",
    version     integer not null,
    job_id      uuid    not null,
    fingerprint text,
    state       text    not null collate "C",
    created_at  bigint  not null,
    finished_at bigint,
    removed_at  bigint  not null,
    memo        text,
    primary key (owner, pipeline, key, version)
);

create index kept_key_removed on holdfast.kept_key (removed_at);
