-- remove_delivery_attempts: remove the logs of these deliveries; uses the key of the table.
delete from holdfast.delivery_attempt
 where delivery_id in (select value from json_array_elements_text(%(ids)s::json))
