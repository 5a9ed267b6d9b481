-- tally_first: the first minute that has a counter; uses the key of minute.
select min(minute) from holdfast_tally
