-- old_tallies: how many counters are of minutes long gone; uses the key of minute.
select count(*) from holdfast.tally where minute <= %(until)s
