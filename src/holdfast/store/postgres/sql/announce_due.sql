-- announce_due: wake the workers that listen; in a transaction that writes nothing.
select pg_notify('holdfast_due', '')
