-- old_deliveries_locked: those of these deliveries that have not moved since, locked; uses delivery_pkey.
-- What somebody else has locked is left out: it can go another time.
select delivery.id
  from holdfast.delivery
  join json_to_recordset(%(rows)s::json) as old (id text, revision integer)
    on delivery.id = old.id and delivery.revision = old.revision
   for update of delivery skip locked
