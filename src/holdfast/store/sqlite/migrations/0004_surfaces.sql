-- For those who look on and act from outside: tokens, figures by the minute, workers told to end.

-- Only a hash of a token is kept. A token that was revoked stays, so that it is never made anew.
create table holdfast_api_token (
    id         text    not null primary key,
    name       text    not null,
    role       text    not null,
    owner      text,
    hash       text    not null,
    created_at integer not null,
    created_by text    not null,
    revoked_at integer
) strict;

create unique index holdfast_api_token_hash on holdfast_api_token (hash);

-- What workers decided, by the minute; an error class that does not apply is empty.
create table holdfast_tally (
    minute      integer not null,
    pipeline    text    not null,
    stage       text    not null,
    kind        text    not null,
    error_class text    not null,
    times       integer not null,
    duration_us integer not null,
    primary key (minute, pipeline, stage, kind, error_class)
) strict, without rowid;

alter table holdfast_worker add column drain_asked_at integer;
alter table holdfast_worker add column drain_asked_by text;

-- Whose letters a replay is about; null where it may be about everybody's.
alter table holdfast_replay add column owner text;

-- Rises with every entry, and with time, also after the latest entries were removed: who looks on
-- asks for what was entered since. Entries from before stay without.
alter table holdfast_ledger add column position integer;
