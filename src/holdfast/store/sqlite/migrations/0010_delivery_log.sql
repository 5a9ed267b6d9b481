-- What came of each send and lookup of a delivery; the rows go with the delivery.
create table holdfast_delivery_attempt (
    delivery_id     text    not null,
    revision        integer not null,
    at              integer not null,
    attempt         integer not null,
    outcome         text    not null,
    error_class     text,
    http_status     integer,
    notification_id text,
    holder          text,
    message         text,
    primary key (delivery_id, revision)
) strict, without rowid;

-- When the outcome of an open send became a question.
alter table holdfast_delivery add column doubted_at integer;
