-- What calls an upstream takes, for those with a rate: read and written by `holdfast.core.rate`, and
-- guarded by a revision of its own, so that breakers and rates do not stand in each other's way.
alter table holdfast.upstream add column bucket text;
alter table holdfast.upstream add column bucket_revision bigint not null default 0;
