-- remove_deliveries: remove these deliveries; uses their key.
delete from holdfast_delivery where id in (select value from json_each(:ids))
