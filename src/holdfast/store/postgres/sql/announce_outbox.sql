-- announce_outbox: wake the relays that listen; in a transaction that writes nothing.
select pg_notify('holdfast_outbox', '')
