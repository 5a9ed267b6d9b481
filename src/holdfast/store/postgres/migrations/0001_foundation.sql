-- The first schema: jobs, plans, checkpoints, the ledger, queues, workers.
-- Instants are whole microseconds since the epoch; documents are JSON text, checked at the edge.

create table holdfast.plan (
    pipeline   text   not null,
    digest     text   not null,
    body       text   not null,
    created_at bigint not null,
    primary key (pipeline, digest)
);

-- No check constraints here: PostgreSQL reads them anew for every statement, a third of the cost
-- of storing one job. `holdfast verify` looks for rows whose columns do not agree.
create table holdfast.job (
    id            uuid     primary key,
    pipeline      text     not null collate "C",
    plan          text     not null collate "C",
    queue         text     not null collate "C",
    priority      smallint not null,
    owner         text     not null collate "C",
    key           text     collate "C",
    version       integer  not null,
    rerun_of      uuid,
    payload       text     not null,
    fingerprint   text     collate "C",
    trace         text,
    created_at    bigint   not null,
    state         text     not null collate "C" default 'queued',
    stage         text     not null collate "C",
    run           integer  not null default 1,
    attempt       integer  not null default 0,
    token         integer  not null default 0,
    revision      integer  not null default 0,
    run_at        bigint   not null,
    deadline_at   bigint,
    holder        text     collate "C",
    lease_until   bigint,
    started_at    bigint,
    attempt_at    bigint,
    finished_at   bigint,
    updated_at    bigint   not null,
    snoozes       integer  not null default 0,
    interruptions integer  not null default 0,
    retries       integer  not null default 0,
    result        text,
    error         text,
    error_class   text     collate "C",
    late_result   text
) with (
    fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.05
);

create index job_due on holdfast.job (queue, pipeline, stage, priority, run_at, id)
    where state = 'queued';
create index job_leased on holdfast.job (lease_until, id) where state = 'processing';
create index job_waiting on holdfast.job (run_at, id) where state = 'waiting';
create index job_deadline on holdfast.job (deadline_at, id)
    where deadline_at is not null and state in ('queued', 'processing', 'waiting');
create index job_failed on holdfast.job (id) where state = 'failed';
create unique index job_key on holdfast.job (owner, pipeline, key)
    where key is not null and rerun_of is null;
create unique index job_rerun on holdfast.job (rerun_of, version) where rerun_of is not null;

create table holdfast.checkpoint (
    job_id     uuid    not null,
    run        integer not null,
    stage      text    not null collate "C",
    result     text    not null,
    created_at bigint  not null,
    primary key (job_id, run, stage)
);

create table holdfast.ledger (
    job_id      uuid     not null,
    revision    integer  not null,
    kind        text     not null collate "C",
    at          bigint   not null,
    state       text     not null collate "C",
    stage       text     not null collate "C",
    attempt     integer  not null,
    holder      text     collate "C",
    started_at  bigint,
    error_class text     collate "C",
    http_status smallint,
    detail      text,
    primary key (job_id, revision)
);

create table holdfast.queue (
    name      text   primary key collate "C",
    paused_at bigint not null,
    paused_by text   not null
);

create table holdfast.worker (
    id          text    primary key collate "C",
    host        text    not null,
    pid         integer not null,
    started_at  bigint  not null,
    seen_at     bigint  not null,
    queues      text    not null,
    concurrency integer not null,
    state       text    not null
);
