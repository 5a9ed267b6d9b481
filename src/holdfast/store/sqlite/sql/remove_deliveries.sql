-- remove_deliveries: remove deliveries that have not moved since they were read; uses their key.
delete from holdfast_delivery
 where (id, revision) in (
        select value ->> 'id', value ->> 'revision' from json_each(:rows)
       )
