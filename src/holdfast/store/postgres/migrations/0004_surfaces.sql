-- For those who look on and act from outside: tokens, figures by the minute, workers told to end.

-- Only a hash of a token is kept. A token that was revoked stays, so that it is never made anew.
create table holdfast.api_token (
    id         text   primary key collate "C",
    name       text   not null,
    role       text   not null collate "C",
    owner      text   collate "C",
    hash       text   not null collate "C",
    created_at bigint not null,
    created_by text   not null,
    revoked_at bigint
);

create unique index api_token_hash on holdfast.api_token (hash);

-- What workers decided, by the minute; an error class that does not apply is empty.
create table holdfast.tally (
    minute      bigint not null,
    pipeline    text   not null collate "C",
    stage       text   not null collate "C",
    kind        text   not null collate "C",
    error_class text   not null collate "C",
    times       bigint not null,
    duration_us bigint not null,
    primary key (minute, pipeline, stage, kind, error_class)
);

alter table holdfast.worker add column drain_asked_at bigint;
alter table holdfast.worker add column drain_asked_by text;

-- Whose letters a replay is about; null where it may be about everybody's.
alter table holdfast.replay add column owner text collate "C";

-- Which transaction wrote a row, so that somebody who looks on can ask for what was committed since:
-- times and ids are given before the commit, and commits come in another order. Rows from before
-- stay without.
alter table holdfast.job add column xact bigint;
alter table holdfast.job alter column xact set default pg_current_xact_id()::text::bigint;
alter table holdfast.ledger add column xact bigint;
alter table holdfast.ledger alter column xact set default pg_current_xact_id()::text::bigint;
alter table holdfast.audit add column xact bigint;
alter table holdfast.audit alter column xact set default pg_current_xact_id()::text::bigint;
