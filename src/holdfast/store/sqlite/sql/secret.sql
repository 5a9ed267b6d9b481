-- secret: one shared key.
select value from holdfast_secret where name = :name
