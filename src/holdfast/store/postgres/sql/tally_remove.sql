-- tally_remove: remove counters of minutes long gone; uses the key of minute.
delete from holdfast.tally
 where (minute, pipeline, stage, kind, error_class) in (
        select minute, pipeline, stage, kind, error_class
          from holdfast.tally
         where minute <= %(until)s
         order by minute
         limit %(limit)s
           for update skip locked
       )
