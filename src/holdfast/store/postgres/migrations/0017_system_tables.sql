-- Which migrations of the tables of systems were applied; each system counts its own from 1.
create table holdfast.system_migration (
    system     text    not null,
    version    integer not null,
    name       text    not null,
    checksum   text    not null,
    applied_at bigint  not null,
    primary key (system, version)
);
