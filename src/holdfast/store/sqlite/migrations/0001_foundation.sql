-- The first schema: jobs, plans, checkpoints, the ledger, queues, workers.
-- Instants are whole microseconds since the epoch; documents are JSON text, checked at the edge.

create table holdfast_plan (
    pipeline   text    not null,
    digest     text    not null,
    body       text    not null,
    created_at integer not null,
    primary key (pipeline, digest)
) strict, without rowid;

create table holdfast_job (
    id            text    not null primary key,
    pipeline      text    not null,
    plan          text    not null,
    queue         text    not null,
    priority      integer not null,
    owner         text    not null,
    key           text,
    version       integer not null,
    rerun_of      text,
    payload       text    not null,
    fingerprint   text,
    trace         text,
    created_at    integer not null,
    state         text    not null default 'queued',
    stage         text    not null,
    run           integer not null default 1,
    attempt       integer not null default 0,
    token         integer not null default 0,
    revision      integer not null default 0,
    run_at        integer not null,
    deadline_at   integer,
    holder        text,
    lease_until   integer,
    started_at    integer,
    attempt_at    integer,
    finished_at   integer,
    updated_at    integer not null,
    snoozes       integer not null default 0,
    interruptions integer not null default 0,
    retries       integer not null default 0,
    result        text,
    error         text,
    error_class   text,
    late_result   text,
    -- One expression instead of one check per promise: half the cost of every write.
    constraint job_columns_fit_state check (
        case state
            when 'complete' then
                result is not null and finished_at is not null and holder is null
                and lease_until is null and error is null and error_class is null
                and late_result is null
            when 'processing' then
                holder is not null and lease_until is not null and result is null
                and error is null and error_class is null and finished_at is null
                and late_result is null
            when 'queued' then
                holder is null and lease_until is null and result is null and error is null
                and error_class is null and finished_at is null and late_result is null
            when 'failed' then
                error is not null and error_class is not null and finished_at is not null
                and holder is null and lease_until is null and result is null
                and (late_result is null or error_class = 'TIMEOUT')
            when 'waiting' then
                holder is null and lease_until is null and result is null and error is null
                and error_class is null and finished_at is null and late_result is null
            when 'cancelled' then
                finished_at is not null and holder is null and lease_until is null
                and result is null and error is null and error_class is null
                and late_result is null
            else false
        end
    )
) strict;

create index holdfast_job_due on holdfast_job (queue, pipeline, stage, priority, run_at, id)
    where state = 'queued';
create index holdfast_job_leased on holdfast_job (lease_until, id) where state = 'processing';
create index holdfast_job_waiting on holdfast_job (run_at, id) where state = 'waiting';
create index holdfast_job_deadline on holdfast_job (deadline_at, id)
    where deadline_at is not null and state in ('queued', 'processing', 'waiting');
create index holdfast_job_failed on holdfast_job (id) where state = 'failed';
create unique index holdfast_job_key on holdfast_job (owner, pipeline, key)
    where key is not null and rerun_of is null;
create unique index holdfast_job_rerun on holdfast_job (rerun_of, version)
    where rerun_of is not null;

create table holdfast_checkpoint (
    job_id     text    not null,
    run        integer not null,
    stage      text    not null,
    result     text    not null,
    created_at integer not null,
    primary key (job_id, run, stage)
) strict;

create table holdfast_ledger (
    job_id      text    not null,
    revision    integer not null,
    kind        text    not null,
    at          integer not null,
    state       text    not null,
    stage       text    not null,
    attempt     integer not null,
    holder      text,
    started_at  integer,
    error_class text,
    http_status integer,
    detail      text,
    primary key (job_id, revision)
) strict, without rowid;

create table holdfast_queue (
    name      text    not null primary key,
    paused_at integer not null,
    paused_by text    not null
) strict, without rowid;

create table holdfast_worker (
    id          text    not null primary key,
    host        text    not null,
    pid         integer not null,
    started_at  integer not null,
    seen_at     integer not null,
    queues      text    not null,
    concurrency integer not null,
    state       text    not null
) strict, without rowid;
