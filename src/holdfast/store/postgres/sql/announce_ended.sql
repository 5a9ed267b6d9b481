-- announce_ended: wake those who wait for results; in a transaction that writes nothing.
select pg_notify('holdfast_ended', '')
