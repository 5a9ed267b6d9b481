-- delivery_attempts: what came of the sends and lookups of deliveries, oldest first; uses the key.
select logged.delivery_id, logged.revision, logged.at, logged.attempt, logged.outcome,
       logged.error_class, logged.http_status, logged.notification_id, logged.holder, logged.message
  from holdfast.delivery_attempt as logged
 where logged.delivery_id in (select value from json_array_elements_text(%(ids)s::json))
 order by logged.delivery_id, logged.revision
