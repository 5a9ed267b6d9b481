-- remove_deliveries: remove these deliveries; uses delivery_pkey.
delete from holdfast.delivery
 where id in (select value from json_array_elements_text(%(ids)s::json))
