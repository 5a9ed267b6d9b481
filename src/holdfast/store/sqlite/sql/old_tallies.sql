-- old_tallies: how many counters are of minutes long gone; uses the key of minute.
select count(*) from holdfast_tally where minute <= :until
