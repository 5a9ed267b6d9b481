-- secret: one shared key.
select value from holdfast.secret where name = %(name)s
