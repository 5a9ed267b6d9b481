-- tally_remove: remove counters of minutes long gone; uses the key of minute.
delete from holdfast_tally
 where (minute, pipeline, stage, kind, error_class) in (
        select minute, pipeline, stage, kind, error_class
          from holdfast_tally
         where minute <= :until
         order by minute
         limit :limit
       )
