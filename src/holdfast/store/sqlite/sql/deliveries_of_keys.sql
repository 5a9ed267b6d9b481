-- deliveries_of_keys: the deliveries of subjects, recipients and versions; uses the key of them.
select @delivery_columns@
  from json_each(:rows) as wanted
  join holdfast_delivery as delivery
    on delivery.subject = wanted.value ->> 'subject'
   and delivery.recipient = wanted.value ->> 'recipient'
   and delivery.version = wanted.value ->> 'version'
