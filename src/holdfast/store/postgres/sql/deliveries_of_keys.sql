-- deliveries_of_keys: the deliveries of subjects, recipients and versions; uses delivery_key.
select @delivery_columns@
  from json_to_recordset(%(rows)s::json) as wanted (
    subject text, recipient text, version integer
  )
  join holdfast.delivery
    on delivery.subject = wanted.subject
   and delivery.recipient = wanted.recipient
   and delivery.version = wanted.version
