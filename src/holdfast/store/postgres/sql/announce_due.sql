-- announce_due: wake the workers that listen.
select pg_notify('holdfast_due', '')
