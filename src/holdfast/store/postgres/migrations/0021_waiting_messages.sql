-- concurrently
-- The messages of an aggregate that wait. A statement that asks for what is neither published nor
-- failed can be answered by this index alone: asked for what is pending, a server that expects few
-- of them reads all that wait, once for each message that a relay is about to lease.

-- One that was broken off is of no use, and in the way.
drop index concurrently if exists holdfast.outbox_waiting;

create index concurrently outbox_waiting on holdfast.outbox (aggregate_id, position)
    where status not in ('published', 'failed');

drop index concurrently if exists holdfast.outbox_aggregate;
