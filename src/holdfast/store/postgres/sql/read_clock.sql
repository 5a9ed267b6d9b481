-- read_clock: the database's own time; not now(), which stands still within a transaction.
select (extract(epoch from clock_timestamp()) * 1000000)::bigint
