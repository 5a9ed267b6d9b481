-- What reaches the outside: deliveries to recipients, messages for a broker, and what came back.

-- The duty to tell one recipient once. The message is frozen when the row is made.
create table holdfast_delivery (
    id              text    not null primary key,
    subject         text    not null,
    recipient       text    not null,
    version         integer not null,
    job_id          text,
    stage           text,
    required        integer not null,
    provider        text    not null,
    token           text    not null,
    message         text    not null,
    created_at      integer not null,
    state           text    not null default 'intent',
    revision        integer not null default 0,
    run_at          integer not null,
    holder          text,
    lease_until     integer,
    attempts        integer not null default 0,
    lookups         integer not null default 0,
    began_at        integer,
    notification_id text,
    notified_at     integer,
    error_class     text,
    error           text,
    checked_at      integer,
    job_told        integer not null default 0,
    updated_at      integer not null
) strict;

create unique index holdfast_delivery_key on holdfast_delivery (subject, recipient, version);
create index holdfast_delivery_due on holdfast_delivery (provider, run_at, id)
    where state in ('intent', 'sending');
create index holdfast_delivery_leased on holdfast_delivery (provider, lease_until, id)
    where holder is not null;
create index holdfast_delivery_job on holdfast_delivery (job_id) where job_id is not null;
create index holdfast_delivery_untold on holdfast_delivery (job_id)
    where job_told = 0 and job_id is not null and state in ('sent', 'failed');
create index holdfast_delivery_unchecked on holdfast_delivery (provider, notified_at, id)
    where state = 'sent' and checked_at is null;
create index holdfast_delivery_unknown on holdfast_delivery (provider, id) where state = 'unknown';

-- Messages of one aggregate are published in the order of their positions.
create table holdfast_outbox (
    position        integer not null primary key autoincrement,
    id              text    not null,
    aggregate_id    text    not null,
    message_type    text    not null,
    payload         text    not null,
    trace           text,
    status          text    not null default 'pending',
    created_at      integer not null,
    processed_at    integer,
    retry_count     integer not null default 0,
    error_message   text,
    run_at          integer not null,
    holder          text,
    lease_until     integer
) strict;

create unique index holdfast_outbox_id on holdfast_outbox (id);
create index holdfast_outbox_pending on holdfast_outbox (run_at, position)
    where status = 'pending';
create index holdfast_outbox_aggregate on holdfast_outbox (aggregate_id, position)
    where status = 'pending';
create index holdfast_outbox_published on holdfast_outbox (processed_at, position)
    where status = 'published';
create index holdfast_outbox_failed on holdfast_outbox (position) where status = 'failed';

-- What a consumer has handled; a message that comes again changes nothing.
create table holdfast_inbox (
    consumer        text    not null,
    message_id      text    not null,
    received_at     integer not null,
    primary key (consumer, message_id)
) strict;

create index holdfast_inbox_received on holdfast_inbox (received_at);

-- Keys that this database's programs share, such as the one that signs callback tokens.
create table holdfast_secret (
    name            text    not null primary key,
    value           text    not null,
    created_at      integer not null
) strict;
