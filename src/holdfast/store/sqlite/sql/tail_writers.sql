-- tail_writers: nobody that matters, as numbers are given in the order of the commits.
select null
