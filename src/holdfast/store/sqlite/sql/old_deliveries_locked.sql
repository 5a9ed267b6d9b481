-- old_deliveries_locked: those of these deliveries that have not moved since; uses their key.
select id
  from holdfast_delivery
 where (id, revision) in (
        select value ->> 'id', value ->> 'revision' from json_each(:rows)
       )
